/* SPDX-License-Identifier: Apache-2.0
 *
 * What holds of every wait without a limit: a handler that interrupts it does not end it, and it leaves the core to
 * threads of a lower priority. Waits with a limit: see the test of each primitive.
 */
#include "support/rwlock_mode.h"
#include "support/test.h"
#include <interlock/interlock.h>

static struct {
    ilk_mutex mutex;
    ilk_rwlock lock;
    ilk_semaphore semaphore;
    ilk_latch latch;
    ilk_barrier barrier;
    ilk_condition condition;
    bool is_set; /* guarded by the mutex or the lock */
    ilk_spsc *spsc;
    ilk_mpmc *mpmc;
    ilk_wait_set *set;
} s;

static const int element = 7;

/* ---- The locks ---- */

static void take_mutex(void) {
    ilk_mutex_init(&s.mutex, false);
    ilk_mutex_lock(&s.mutex);
}
static void take_inheriting_mutex(void) {
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
static void write_lock(void) {
    ilk_rwlock_init(&s.lock);
    ilk_rwlock_write_lock(&s.lock);
}
static void read_lock(void) {
    ilk_rwlock_init(&s.lock);
    ilk_rwlock_read_lock(&s.lock);
}
static void read_lock_in_a_slot(void) {
    ilk_rwlock_init(&s.lock);
    move_to_slots(&s.lock);
    ilk_rwlock_read_lock(&s.lock);
    check(is_in_a_slot(&s.lock));
}
static void read_unlock(void) {
    ilk_rwlock_read_unlock(&s.lock);
}
static void read_section(void) {
    ilk_rwlock_read_lock(&s.lock);
    ilk_rwlock_read_unlock(&s.lock);
}
static void write_section(void) {
    ilk_rwlock_write_lock(&s.lock);
    ilk_rwlock_write_unlock(&s.lock);
}
static void write_unlock(void) {
    ilk_rwlock_write_unlock(&s.lock);
}

/* ---- Permits, latches, parties ---- */

static void no_permits(void) {
    ilk_semaphore_init(&s.semaphore, 0);
}
static void no_permits_barging(void) {
    ilk_semaphore_init_barging(&s.semaphore, 0);
}
static void wait_for_permit(void) {
    ilk_semaphore_wait(&s.semaphore);
}
static void give_permit(void) {
    ilk_semaphore_signal(&s.semaphore, 1);
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
static void barrier_for_two(void) {
    ilk_barrier_init(&s.barrier, 2);
}
static void meet(void) {
    (void)ilk_barrier_wait(&s.barrier);
}

/* ---- Under a lock ---- */

static void nothing_is_set(void) {
    ilk_mutex_init(&s.mutex, false);
    ilk_rwlock_init(&s.lock);
    ilk_condition_init(&s.condition);
    s.is_set = false;
}
static bool is_set(void *unused) {
    return s.is_set;
}
static void wait_under_mutex(void) {
    ilk_mutex_lock(&s.mutex);
    check_equal(ilk_condition_wait_until(&s.condition, &s.mutex, ILK_FOREVER), ILK_OK);
    ilk_mutex_unlock(&s.mutex);
}
static void wait_as_writer(void) {
    ilk_rwlock_write_lock(&s.lock);
    check_equal(ilk_condition_write_wait_until(&s.condition, &s.lock, ILK_FOREVER), ILK_OK);
    ilk_rwlock_write_unlock(&s.lock);
}
static void wait_as_reader(void) {
    ilk_rwlock_read_lock(&s.lock);
    check_equal(ilk_condition_read_wait_until(&s.condition, &s.lock, ILK_FOREVER), ILK_OK);
    ilk_rwlock_read_unlock(&s.lock);
}
static void signal_it(void) {
    ilk_condition_signal(&s.condition);
}
static void await_under_mutex(void) {
    ilk_mutex_lock(&s.mutex);
    check_equal(ilk_mutex_await_until(&s.mutex, is_set, NULL, ILK_FOREVER), ILK_OK);
    ilk_mutex_unlock(&s.mutex);
}
static void await_as_writer(void) {
    ilk_rwlock_write_lock(&s.lock);
    check_equal(ilk_rwlock_write_await_until(&s.lock, is_set, NULL, ILK_FOREVER), ILK_OK);
    ilk_rwlock_write_unlock(&s.lock);
}
static void set_it(void) {
    ilk_mutex_lock(&s.mutex);
    ilk_rwlock_write_lock(&s.lock);
    s.is_set = true;
    ilk_rwlock_write_unlock(&s.lock);
    ilk_mutex_unlock(&s.mutex);
}

/* ---- Rings and sets ---- */

static void make_rings(void) {
    check_equal(ilk_spsc_create(&s.spsc, 1, sizeof element), ILK_OK);
    check_equal(ilk_mpmc_create(&s.mpmc, 1, sizeof element), ILK_OK);
    check_equal(ilk_wait_set_create(&s.set), ILK_OK);
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
    int popped = 0;
    check_equal(ilk_mpmc_pop_until(s.mpmc, &popped, sizeof popped, ILK_FOREVER), ILK_OK);
    check_equal(popped, element);
}
static void fill_rings(void) {
    make_rings();
    push_spsc();
    push_mpmc();
}
static void make_set(void) {
    make_rings();
    check_equal(ilk_wait_set_add_spsc(s.set, s.spsc, ILK_READABLE, s.spsc), ILK_OK);
}
static void wait_on_set(void) {
    void *key = NULL;
    size_t count = 0;
    check_equal(ilk_wait_set_wait_until(s.set, &key, 1, &count, ILK_FOREVER), ILK_OK);
    check_equal(count, 1);
    check(key == s.spsc);
}
static void end_rings(void) {
    ilk_wait_set_destroy(s.set);
    ilk_spsc_destroy(s.spsc);
    ilk_mpmc_destroy(s.mpmc);
    s.set = NULL;
    s.spsc = NULL;
    s.mpmc = NULL;
}

static const struct wait {
    const char *name;
    void (*before)(void);
    void (*wait)(void); /* on another thread */
    void (*after)(void);
} waits[] = {
    {"a mutex", take_mutex, use_mutex, unlock_mutex},
    {"an inheriting mutex", take_inheriting_mutex, use_mutex, unlock_mutex},
    {"a reader", write_lock, read_section, write_unlock},
    {"a writer", write_lock, write_section, write_unlock},
    {"a writer beside a counted reader", read_lock, write_section, read_unlock},
    {"a writer beside a reader in a slot", read_lock_in_a_slot, write_section, read_unlock},
    {"a semaphore", no_permits, wait_for_permit, give_permit},
    {"a barging semaphore", no_permits_barging, wait_for_permit, give_permit},
    {"a latch", latch_of_one, wait_for_latch, open_latch},
    {"a barrier", barrier_for_two, meet, meet},
    {"a condition under a mutex", nothing_is_set, wait_under_mutex, signal_it},
    {"a condition of a writer", nothing_is_set, wait_as_writer, signal_it},
    {"a condition of a reader", nothing_is_set, wait_as_reader, signal_it},
    {"a predicate under a mutex", nothing_is_set, await_under_mutex, set_it},
    {"a predicate of a writer", nothing_is_set, await_as_writer, set_it},
    {"a pop of ilk_spsc", make_rings, pop_spsc, push_spsc},
    {"a pop of ilk_mpmc", make_rings, pop_mpmc, push_mpmc},
    {"a push of ilk_spsc", fill_rings, push_spsc, pop_spsc},
    {"a push of ilk_mpmc", fill_rings, push_mpmc, pop_mpmc},
    {"a wait set", make_set, wait_on_set, push_spsc},
};

static void wait_once(void *context) {
    (*(void (*const *)(void))context)();
}

/*    main                      waiter
 *      makes it wait for it
 *                                waits (sleeps)
 *      interrupts it --------->  its handler runs
 *                                sleeps again
 *      ends the wait --------->  goes on                                                          */
/* contract: condition.G, ilk_mutex_lock, ilk_semaphore_wait, ilk_latch_wait_until, ilk_barrier_wait, rwlock.D */
TEST(a_handler_ends_no_wait_without_a_limit) {
    thread_allow_interrupts();
    for (size_t which = 0; which < sizeof waits / sizeof *waits; which++) {
        check_during(waits[which].name, 0);
        waits[which].before();
        struct thread waiter;
        thread_start(&waiter, wait_once, (void *)(uintptr_t)&waits[which].wait);
        thread_await_sleep(&waiter);
        for (int interrupts = 0; interrupts < 20; interrupts++) {
            const long slept = thread_times_slept(&waiter);
            thread_interrupt(&waiter);
            while (thread_times_slept(&waiter) == slept) {
                check(!thread_is_done(&waiter));
            }
            thread_await_sleep(&waiter);
            check(!thread_is_done(&waiter));
        }
        waits[which].after();
        thread_join(&waiter);
        end_rings();
    }
    check_during(NULL, 0);
}

/* ---- Priorities ---- */

enum { LOW = 1, HIGH = 2 };

static void *high(void *context) {
    const struct wait *tested = context;
    tested->wait();
    return NULL;
}

static void *low(void *context) {
    pthread_t thread;
    const struct wait *tested = context;
    tested->before();
    check(thread_try_real_time(&thread, HIGH, high, context));
    tested->after();
    check_equal(pthread_join(thread, NULL), 0);
    return NULL;
}

/* On one core, under SCHED_FIFO, where the lower thread runs only while the higher one sleeps:
 *
 *     low, priority 1                    high, priority 2
 *       makes high wait for it
 *       starts high ------------------->   waits (must sleep)
 *       ends the wait <-----------------
 *                                          goes on
 *
 * A wait that spins or yields for ever ends by the test's limit of time.                               */
/* contract: rwlock.H, ilk_semaphore_wait, ilk_mutex_lock, ilk_barrier_wait */
TEST(a_wait_leaves_the_core_to_a_thread_of_lower_priority) {
    thread_share_one_core();
    for (size_t which = 0; which < sizeof waits / sizeof *waits; which++) {
        check_during(waits[which].name, 0);
        pthread_t thread;
        skip_if(!thread_try_real_time(&thread, LOW, low, (void *)(uintptr_t)&waits[which]),
                "no right to SCHED_FIFO here");
        check_equal(pthread_join(thread, NULL), 0);
        end_rings();
    }
    check_during(NULL, 0);
}
