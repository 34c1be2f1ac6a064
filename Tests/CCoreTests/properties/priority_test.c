/* SPDX-License-Identifier: Apache-2.0
 *
 * Real-time priorities: no wait spins or yields for ever for a thread that it keeps off the core. Both
 * threads run on one core under SCHED_FIFO, so the lower one runs only while the higher one sleeps:
 *
 *     low, priority 1                    high, priority 2
 *       makes high wait for it
 *       starts high ------------------->   waits (must sleep)
 *       ends the wait <-----------------
 *                                          goes on
 *
 * A wait that never sleeps ends by the test's time limit. Skipped where the system refuses such scheduling.
 */
#include "support/rwlock_mode.h"
#include "support/test.h"
#include <interlock/interlock.h>
#include <sched.h>
#include <string.h>

enum { LOW = 1, HIGH = 2 };

static struct {
    ilk_rwlock lock;
    ilk_semaphore semaphore;
    ilk_mutex mutex;
    ilk_latch latch;
    ilk_barrier barrier;
    ilk_spsc *spsc;
    ilk_mpmc *mpmc;
} s;

struct wait {
    void (*before)(void); /* low */
    void (*wait)(void);   /* high */
    void (*after)(void);  /* low */
};

static const struct wait *tested;

/* `body` on the calling thread's core, at `priority`. False: the system refuses. */
static bool start_at(int priority, pthread_t *thread, void *(*body)(void *)) {
    pthread_attr_t attributes;
    const struct sched_param parameter = {.sched_priority = priority};
    check_equal(pthread_attr_init(&attributes), 0);
    check_equal(pthread_attr_setinheritsched(&attributes, PTHREAD_EXPLICIT_SCHED), 0);
    check_equal(pthread_attr_setschedpolicy(&attributes, SCHED_FIFO), 0);
    check_equal(pthread_attr_setschedparam(&attributes, &parameter), 0);
    int error = pthread_create(thread, &attributes, body, NULL);
    check_equal(pthread_attr_destroy(&attributes), 0);
    return error == 0;
}

static void *high(void *context) {
    (void)context;
    tested->wait();
    return NULL;
}

static void *low(void *context) {
    (void)context;
    pthread_t thread;
    tested->before();
    check(start_at(HIGH, &thread, high));
    tested->after();
    check_equal(pthread_join(thread, NULL), 0);
    return NULL;
}

static void run(const struct wait *wait) {
    thread_share_one_core();
    pthread_t thread;
    tested = wait;
    if (!start_at(LOW, &thread, low)) {
        print_message("skipped: no right to SCHED_FIFO here\n");
        skip();
    }
    check_equal(pthread_join(thread, NULL), 0);
}

/* ---- The waits ---- */

static void write_lock(void) {
    ilk_rwlock_write_lock(&s.lock);
}
static void write_unlock(void) {
    ilk_rwlock_write_unlock(&s.lock);
}
static void write_section(void) {
    write_lock();
    write_unlock();
}
static void read_section(void) {
    ilk_rwlock_read_lock(&s.lock);
    ilk_rwlock_read_unlock(&s.lock);
}
static void read_lock(void) {
    ilk_rwlock_read_lock(&s.lock);
}
static void read_unlock(void) {
    ilk_rwlock_read_unlock(&s.lock);
}
/* contract: rwlock.H */
static void a_writer_sleeps_for_a_writer(void **state) {
    (void)state;
    run(&(struct wait){write_lock, write_section, write_unlock});
}
/* contract: rwlock.H */
static void a_reader_sleeps_for_a_writer(void **state) {
    (void)state;
    run(&(struct wait){write_lock, read_section, write_unlock});
}
/* contract: rwlock.H */
static void a_writer_sleeps_for_a_counted_reader(void **state) {
    (void)state;
    run(&(struct wait){read_lock, write_section, read_unlock});
}
static void move_and_read_lock(void) {
    move_to_slots(&s.lock);
    read_lock();
    check(is_in_a_slot(&s.lock));
}
/* contract: rwlock.H */
static void a_writer_sleeps_for_a_reader_in_a_slot(void **state) {
    (void)state;
    run(&(struct wait){move_and_read_lock, write_section, read_unlock});
}

static void no_permits(void) {
    ilk_semaphore_init(&s.semaphore, 0);
}
static void wait_for_permit(void) {
    ilk_semaphore_wait(&s.semaphore);
}
static void give_permit(void) {
    ilk_semaphore_signal(&s.semaphore, 1);
}
/* contract: ilk_semaphore_wait, ilk_semaphore_wait_until */
static void a_wait_for_a_permit_sleeps(void **state) {
    (void)state;
    run(&(struct wait){no_permits, wait_for_permit, give_permit});
}

static void plain_mutex(void) {
    ilk_mutex_init(&s.mutex, false);
    ilk_mutex_lock(&s.mutex);
}
static void inheriting_mutex(void) {
    ilk_mutex_init(&s.mutex, true);
    ilk_mutex_lock(&s.mutex);
}
static void use_mutex(void) {
    ilk_mutex_lock(&s.mutex);
    ilk_mutex_unlock(&s.mutex);
}
static void unlock_mutex(void) {
    ilk_mutex_unlock(&s.mutex);
}
/* contract: ilk_mutex_lock */
static void a_wait_for_a_mutex_sleeps(void **state) {
    (void)state;
    run(&(struct wait){plain_mutex, use_mutex, unlock_mutex});
    run(&(struct wait){inheriting_mutex, use_mutex, unlock_mutex});
}

static void latch_of_one(void) {
    ilk_latch_init(&s.latch, 1);
}
static void wait_for_latch(void) {
    check_equal(ilk_latch_wait_until(&s.latch, ILK_FOREVER), ILK_OK);
}
static void open_latch(void) {
    ilk_latch_count_down(&s.latch);
}
static void a_wait_for_a_latch_sleeps(void **state) {
    (void)state;
    run(&(struct wait){latch_of_one, wait_for_latch, open_latch});
}

static void barrier_for_two(void) {
    ilk_barrier_init(&s.barrier, 2);
}
static void meet(void) {
    (void)ilk_barrier_wait(&s.barrier);
}
/* contract: ilk_barrier_wait */
static void a_wait_at_a_barrier_sleeps(void **state) {
    (void)state;
    run(&(struct wait){barrier_for_two, meet, meet});
}

static const int element = 7;

static void make_rings(void) {
    check_equal(ilk_spsc_create(&s.spsc, 1, sizeof element), ILK_OK);
    check_equal(ilk_mpmc_create(&s.mpmc, 1, sizeof element), ILK_OK);
}
static void fill_rings(void) {
    make_rings();
    check(ilk_spsc_try_push(s.spsc, &element, sizeof element));
    check(ilk_mpmc_try_push(s.mpmc, &element, sizeof element));
}
static void push_spsc(void) {
    check_equal(ilk_spsc_push_until(s.spsc, &element, sizeof element, ILK_FOREVER), ILK_OK);
}
static void push_mpmc(void) {
    check_equal(ilk_mpmc_push_until(s.mpmc, &element, sizeof element, ILK_FOREVER), ILK_OK);
}
static void pop_spsc(void) {
    int popped = 0;
    check_equal(ilk_spsc_pop_until(s.spsc, &popped, sizeof popped, ILK_FOREVER), ILK_OK);
    check_equal(popped, element);
}
static void pop_mpmc(void) {
    int popped;
    check_equal(ilk_mpmc_pop_until(s.mpmc, &popped, sizeof popped, ILK_FOREVER), ILK_OK);
    check_equal(popped, element);
}
static void run_with_rings(const struct wait *wait) {
    run(wait);
    ilk_spsc_destroy(s.spsc);
    ilk_mpmc_destroy(s.mpmc);
}
static void a_wait_at_a_ring_sleeps(void **state) {
    (void)state;
    run_with_rings(&(struct wait){make_rings, pop_spsc, push_spsc});
    run_with_rings(&(struct wait){make_rings, pop_mpmc, push_mpmc});
    run_with_rings(&(struct wait){fill_rings, push_spsc, pop_spsc});
    run_with_rings(&(struct wait){fill_rings, push_mpmc, pop_mpmc});
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_writer_sleeps_for_a_writer),
    cmocka_unit_test(a_reader_sleeps_for_a_writer),
    cmocka_unit_test(a_writer_sleeps_for_a_counted_reader),
    cmocka_unit_test(a_writer_sleeps_for_a_reader_in_a_slot),
    cmocka_unit_test(a_wait_for_a_permit_sleeps),
    cmocka_unit_test(a_wait_for_a_mutex_sleeps),
    cmocka_unit_test(a_wait_for_a_latch_sleeps),
    cmocka_unit_test(a_wait_at_a_barrier_sleeps),
    cmocka_unit_test(a_wait_at_a_ring_sleeps),
};

TEST_MAIN(tests)
