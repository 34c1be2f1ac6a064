/* SPDX-License-Identifier: Apache-2.0
 *
 * Contention figures: what is counted, and how long.
 */
#include "diagnostics/figures.h"
#include "diagnostics/reports.h"
#include "support/rwlock_mode.h"
#include <interlock/inline/semaphore.h>
#include <interlock/mpmc.h>
#include <interlock/mutex.h>
#include <interlock/rwlock.h>
#include <interlock/semaphore.h>
#include <interlock/spsc.h>
#include <time.h>

static ilk_figures taken[32];

/* The figures of `object`. */
static const ilk_figures *figures_of(const void *object) {
    const size_t count = ilk_figures_snapshot(taken, 32);
    for (size_t index = 0; index < count && index < 32; index++) {
        if (taken[index].object == object) {
            return &taken[index];
        }
    }
    check_failed(__FILE__, __LINE__, "the object has figures");
}

static uint64_t sum_of(const ilk_times *times) {
    uint64_t sum = 0;
    for (unsigned index = 0; index < ILK_HISTOGRAM_BUCKETS; index++) {
        sum += times->buckets[index];
    }
    return sum;
}
/* contract: ilk_figures_reset, ilk_figures_snapshot, ilk_histogram_limit_ns, ilk_object_kind_name */
TEST(buckets_are_log_linear) {
    uint64_t before = 0;
    for (uint32_t bucket = 0; bucket + 1 < ILK_HISTOGRAM_BUCKETS; bucket++) {
        const uint64_t limit = ilk_histogram_limit_ns(bucket);
        check(limit > before);
        check(bucket < 8 || (limit - before) * 4 <= before); /* a quarter apart at most */
        before = limit;
    }
    check(before > UINT64_C(1000000000) * 60);
    check_equal(ilk_histogram_limit_ns(ILK_HISTOGRAM_BUCKETS - 1), UINT64_MAX);
    check_equal(ilk_histogram_limit_ns(UINT32_MAX), UINT64_MAX);
}
/* contract: ilk_figures_reset, ilk_figures_snapshot, ilk_histogram_limit_ns, ilk_object_kind_name */
TEST(times_are_below_the_limit_of_their_bucket) {
    for (uint32_t bucket = 0; bucket + 1 < ILK_HISTOGRAM_BUCKETS; bucket++) {
        const uint64_t limit = ilk_histogram_limit_ns(bucket);
        struct ilk__counters counters = {.next_free = NULL};
        ilk__figures_add_wait(&counters, limit - 1);
        check_equal(counters.wait.buckets[bucket], 1);
        ilk__figures_add_wait(&counters, limit);
        check_equal(counters.wait.buckets[bucket + 1], 1);
    }
    struct ilk__counters counters = {.next_free = NULL};
    ilk__figures_add_wait(&counters, UINT64_MAX);
    check_equal(counters.wait.buckets[ILK_HISTOGRAM_BUCKETS - 1], 1);
}

static ilk_rwlock lock;
static void write_briefly(void *unused) {
    ilk_rwlock_write_lock(&lock);
    ilk_rwlock_write_unlock(&lock);
}

__attribute__((noinline)) static void hold_for_long(struct thread *waiter) {
    ilk_rwlock_write_lock(&lock);
    thread_start(waiter, write_briefly, NULL);
    thread_await_sleep(waiter);
    const uint64_t until = ilk_deadline_in_ns(MILLISECONDS(2));
    while (ilk_now_ns() < until) {
        ilk_cpu_relax();
    }
    ilk_rwlock_write_unlock(&lock);
}
/* contract: ilk_figures_reset, ilk_figures_snapshot, ilk_histogram_limit_ns, ilk_object_kind_name */
TEST(waits_and_holds_are_counted) {
    ilk_diagnose(ILK_DIAGNOSE_CONTENTION);
    ilk_rwlock_init(&lock);
    check_equal(ilk_set_name(&lock, "lock"), ILK_OK);
    struct thread waiter;
    for (int round = 0; round < 10; round++) {
        ilk_rwlock_read_lock(&lock);
        check(ilk_rwlock_try_read_lock(&lock));
        ilk_rwlock_read_unlock(&lock);
        ilk_rwlock_read_unlock(&lock);
    }
    hold_for_long(&waiter);
    thread_join(&waiter);
    const ilk_figures *figures = figures_of(&lock);
    check_equal(figures->kind, ILK_OBJECT_RWLOCK);
    check_text(figures->name, "lock");
    check_equal(figures->acquisitions, 22);
    check_equal(figures->wait.count, 1);
    check_equal(figures->hold.count, 22);
    check(figures->hold.longest_ns >= MILLISECONDS(2));
    check(figures->wait.longest_ns >= MILLISECONDS(2) && figures->wait.total_ns == figures->wait.longest_ns);
    check_equal(sum_of(&figures->hold), 22);
    check_equal(sum_of(&figures->wait), 1);
    uint32_t bucket = 0;
    while (figures->wait.buckets[bucket] == 0) {
        bucket++;
    }
    check(figures->wait.longest_ns < ilk_histogram_limit_ns(bucket));
    check(figures->wait.longest_ns >= ilk_histogram_limit_ns(bucket - 1));
    check(figures->longest_holder != 0 && figures->longest_depth > 0);
    check_text(figures->longest_name, "figures_test");
    ilk_figures_reset();
    figures = figures_of(&lock);
    check_equal(figures->acquisitions + figures->wait.count + figures->hold.count, 0);
    ilk_rwlock_destroy(&lock);
}
/* contract: ilk_object_kind_name */
TEST(what_is_of_no_kind_is_an_object) {
    check_text(ilk_object_kind_name(ILK_OBJECT_WAIT_SET), "wait set");
    check_text(ilk_object_kind_name((ilk_object_kind)(ILK_OBJECT_WAIT_SET + 1)), "object");
}

/* As the facade asks, before its task waits. */
/* contract: ilk_semaphore_observe */
TEST(a_permit_that_is_asked_for_is_taken_or_not_and_counted) {
    ilk_semaphore semaphore;
    ilk_semaphore_init(&semaphore, 1);
    check(ilk__semaphore_ask(&semaphore) && !ilk__semaphore_ask(&semaphore));
    ilk_semaphore_signal(&semaphore, 1);
    check_equal(ilk_semaphore_observe(&semaphore, ILK_DIAGNOSE_CONTENTION), ILK_OK);
    check(ilk__semaphore_ask(&semaphore) && !ilk__semaphore_ask(&semaphore));
    check_equal(figures_of(&semaphore)->acquisitions, 1);
    ilk_semaphore_destroy(&semaphore);
}
/* contract: ilk_figures_reset, ilk_figures_snapshot, ilk_histogram_limit_ns, ilk_object_kind_name */
TEST(a_wait_that_gave_up_is_counted) {
    ilk_diagnose(ILK_DIAGNOSE_CONTENTION);
    static ilk_semaphore semaphore;
    ilk_semaphore_init(&semaphore, 0);
    check_equal(ilk_semaphore_wait_until(&semaphore, ilk_deadline_in_ns(1000)), ILK_TIMEDOUT);
    const ilk_figures *figures = figures_of(&semaphore);
    check_equal(figures->acquisitions, 0);
    check_equal(figures->wait.count, 1);
    ilk_semaphore_destroy(&semaphore);
}
/* contract: ilk_figures_reset, ilk_figures_snapshot, ilk_histogram_limit_ns, ilk_object_kind_name */
TEST(those_with_the_longest_waits_come_first) {
    ilk_diagnose(ILK_DIAGNOSE_CONTENTION);
    static ilk_semaphore semaphores[3];
    const unsigned lasts[3] = {1, 5, 3};
    for (unsigned index = 0; index < 3; index++) {
        ilk_semaphore_init(&semaphores[index], 0);
    }
    ilk_figures_reset();
    for (unsigned index = 0; index < 3; index++) {
        const uint64_t deadline = ilk_deadline_in_ns(MILLISECONDS(lasts[index] * 10));
        check_equal(ilk_semaphore_wait_until(&semaphores[index], deadline), ILK_TIMEDOUT);
    }
    check(ilk_figures_snapshot(taken, 32) >= 3);
    for (size_t index = 1; index < ilk_figures_snapshot(taken, 32); index++) {
        check(taken[index - 1].wait.total_ns >= taken[index].wait.total_ns);
    }
    ilk_figures two[2];
    check(ilk_figures_snapshot(two, 2) >= 3); /* how many there are, not how many fit */
    for (unsigned index = 0; index < 3; index++) {
        ilk_semaphore_destroy(&semaphores[index]);
    }
}

static void pop_one(void *ring) {
    int element;
    check_equal(ilk_spsc_pop_until(ring, &element, sizeof element, ILK_FOREVER), ILK_OK);
}

TEST(a_rings_waits_and_depths_are_counted) {
    ilk_diagnose(ILK_DIAGNOSE_CONTENTION);
    ilk_spsc *ring;
    check_equal(ilk_spsc_create(&ring, 2, sizeof(int)), ILK_OK);
    struct thread consumer;
    thread_start(&consumer, pop_one, ring);
    thread_await_sleep(&consumer);
    const int element = 1;
    check(ilk_spsc_try_push(ring, &element, sizeof element));
    thread_join(&consumer);
    check(ilk_spsc_try_push(ring, &element, sizeof element));
    check(ilk_spsc_try_push(ring, &element, sizeof element));
    check_equal(ilk_spsc_push_until(ring, &element, sizeof element, ilk_deadline_in_ns(1000)), ILK_TIMEDOUT);
    const ilk_figures *figures = figures_of(ring);
    check_equal(figures->kind, ILK_OBJECT_SPSC);
    check_equal(figures->capacity, 2);
    check_equal(figures->empty_waits, 1);
    check_equal(figures->full_waits, 1);
    check_equal(figures->wait.count, 2);
    while (figures_of(ring)->full_samples == 0) { /* the sampler comes ten times a second */
        struct timespec pause = {.tv_nsec = 1000000};
        nanosleep(&pause, NULL);
    }
    figures = figures_of(ring);
    check_equal(figures->deepest, 2);
    check(figures->samples >= figures->full_samples);
    ilk_figures_reset();
    check_equal(figures_of(ring)->capacity, 2);
    check_equal(figures_of(ring)->empty_waits, 0);
    ilk_spsc_destroy(ring);
}

/* contract: ilk_write_diagnosis */
TEST(the_text_has_the_ten_objects_that_were_waited_for_longest) {
    static ilk_mutex mutexes[12];
    ilk_diagnose(ILK_DIAGNOSE_CONTENTION);
    for (unsigned index = 0; index < 12; index++) {
        ilk_mutex_init(&mutexes[index], false);
        ilk_mutex_lock(&mutexes[index]);
        ilk_mutex_unlock(&mutexes[index]);
    }
    unsigned lines = 0;
    for (const char *text = diagnosis(ILK_AS_TEXT); (text = strstr(text, ": 1 taken, 0 waited ")) != NULL;
         text++) {
        lines++;
    }
    check_equal(lines, 10);
}

static void await_samples(const void *ring) {
    while (figures_of(ring)->samples == 0) { /* the sampler comes ten times a second */
        struct timespec pause = {.tv_nsec = 1000000};
        nanosleep(&pause, NULL);
    }
}

static bool is_watched(const void *object) {
    const size_t count = ilk_figures_snapshot(taken, 32);
    for (size_t index = 0; index < count && index < 32; index++) {
        if (taken[index].object == object) {
            return true;
        }
    }
    return false;
}

/* As locks do. */
/* contract: ilk_diagnose, ilk_diagnosed, ilk_mpmc_observe, ilk_mutex_observe, ilk_rwlock_observe */
/* contract: ilk_semaphore_observe, ilk_spsc_observe */
TEST(a_ring_stays_watched_while_all_objects_are) {
    ilk_diagnose(ILK_DIAGNOSE_CONTENTION);
    ilk_spsc *spsc;
    ilk_mpmc *mpmc;
    check_equal(ilk_spsc_create(&spsc, 2, sizeof(int)), ILK_OK);
    check_equal(ilk_mpmc_create(&mpmc, 2, sizeof(int)), ILK_OK);
    int element;
    check_equal(ilk_spsc_pop_until(spsc, &element, sizeof element, 1), ILK_TIMEDOUT);
    check_equal(ilk_mpmc_pop_until(mpmc, &element, sizeof element, 1), ILK_TIMEDOUT);
    check_equal(ilk_spsc_observe(spsc, 0), ILK_OK);
    check_equal(ilk_mpmc_observe(mpmc, 0), ILK_OK);
    check_equal(ilk_spsc_observe(spsc, ILK_DIAGNOSE_ORDER), ILK_OK);
    check_equal(ilk_mpmc_observe(mpmc, ILK_DIAGNOSE_ORDER), ILK_OK);
    check_equal(figures_of(spsc)->empty_waits, 1);
    check_equal(figures_of(mpmc)->empty_waits, 1);
    check_equal(figures_of(mpmc)->capacity, 2);
    ilk_diagnose(0);
    check_equal(ilk_spsc_observe(spsc, 0), ILK_OK);
    check_equal(ilk_mpmc_observe(mpmc, 0), ILK_OK);
    check(!is_watched(spsc) && !is_watched(mpmc));
    ilk_spsc_destroy(spsc);
    ilk_mpmc_destroy(mpmc);
}
/* contract: ilk_diagnose, ilk_diagnosed, ilk_mpmc_observe, ilk_mutex_observe, ilk_rwlock_observe */
/* contract: ilk_semaphore_observe, ilk_spsc_observe */
TEST(a_lock_leaves_with_its_next_call_once_it_is_switched_off) {
    ilk_diagnose(ILK_DIAGNOSE_CONTENTION);
    static ilk_mutex mutex;
    static ilk_semaphore semaphore;
    ilk_mutex_init(&mutex, false);
    ilk_rwlock_init(&lock);
    ilk_semaphore_init(&semaphore, 1);
    for (int round = 0; round < 2; round++) {
        ilk_mutex_lock(&mutex);
        ilk_mutex_unlock(&mutex);
        write_briefly(NULL);
        ilk_semaphore_wait(&semaphore);
        ilk_semaphore_signal(&semaphore, 1);
        const bool is_on = round == 0;
        check(is_watched(&mutex) == is_on && is_watched(&lock) == is_on && is_watched(&semaphore) == is_on);
        ilk_diagnose(0);
    }
    check_equal(ilk_atomic_load(&mutex.word, memory_order_relaxed), 0);
    check_equal(ilk_atomic_load(&lock.word, memory_order_relaxed), 0);
    check_equal(ilk_atomic_load(&semaphore.word, memory_order_relaxed), 0x10);
    ilk_rwlock_destroy(&lock);
    ilk_semaphore_destroy(&semaphore);
}

TEST(a_ring_is_sampled_once_contention_is_watched) {
    ilk_diagnose(ILK_DIAGNOSE_ORDER);
    ilk_spsc *ring;
    check_equal(ilk_spsc_create(&ring, 2, sizeof(int)), ILK_OK);
    check_equal(figures_of(ring)->samples, 0);
    ilk_diagnose(ILK_DIAGNOSE_CONTENTION);
    await_samples(ring);
    ilk_spsc_destroy(ring);
}

static uint64_t own_time_ns(void) {
    struct timespec now;
    check_equal(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now), 0);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The thread's own time for a ring that begins and ends, at best: that is little beside other programs, too. */
static uint64_t least_time_of_a_ring_ns(void) {
    uint64_t least_ns = UINT64_MAX;
    for (int round = 0; round < 200; round++) {
        ilk_spsc *ring;
        const uint64_t begin_ns = own_time_ns();
        check_equal(ilk_spsc_create(&ring, 1, 1), ILK_OK);
        ilk_spsc_destroy(ring);
        const uint64_t time_ns = own_time_ns() - begin_ns;
        least_ns = time_ns < least_ns ? time_ns : least_ns;
    }
    return least_ns;
}

TEST(a_ring_begins_as_fast_beside_thousands) {
    enum { RINGS = 8000, TIMES = 10 };
    static ilk_spsc *rings[RINGS];
    ilk_diagnose(ILK_DIAGNOSE_CONTENTION);
    const uint64_t alone_ns = least_time_of_a_ring_ns();
    for (int ring = 0; ring < RINGS; ring++) {
        check_equal(ilk_spsc_create(&rings[ring], 1, 1), ILK_OK);
    }
    check(least_time_of_a_ring_ns() < TIMES * alone_ns); /* searched through, they made it a hundred times */
    for (int ring = 0; ring < RINGS; ring++) {
        ilk_spsc_destroy(rings[ring]);
    }
    check(least_time_of_a_ring_ns() < TIMES * alone_ns);
}

/* A ring may end while it is sampled. */
TEST(rings_may_end_beside_the_sampler) {
    ilk_diagnose(ILK_DIAGNOSE_CONTENTION);
    for (int round = stress_rounds(20000); round > 0; round--) {
        ilk_mpmc *ring;
        check_equal(ilk_mpmc_create(&ring, 4, sizeof(int)), ILK_OK);
        const int element = round;
        check(ilk_mpmc_try_push(ring, &element, sizeof element));
        ilk_mpmc_destroy(ring);
    }
}
/* contract: ilk_diagnose, ilk_diagnosed, ilk_mpmc_observe, ilk_mutex_observe, ilk_rwlock_observe */
/* contract: ilk_semaphore_observe, ilk_spsc_observe */
TEST(what_is_watched_by_itself_has_figures) {
    ilk_diagnose(0);
    static ilk_mutex mutex;
    ilk_mutex_init(&mutex, false);
    ilk_mutex_lock(&mutex);
    ilk_mutex_unlock(&mutex);
    check_equal(ilk_mutex_observe(&mutex, ILK_DIAGNOSE_CONTENTION), ILK_OK);
    ilk_mutex_lock(&mutex);
    ilk_mutex_unlock(&mutex);
    check_equal(figures_of(&mutex)->acquisitions, 1);
    check_equal(figures_of(&mutex)->hold.count, 1);
}

/* A try asks for no times: they are there since the lock was observed. */
/* contract: ilk_mutex_observe */
TEST(what_a_try_takes_of_a_lock_that_is_watched_by_itself_has_figures) {
    static ilk_mutex known, tried;
    ilk_diagnose(0);
    ilk_mutex_init(&known, false);
    ilk_mutex_init(&tried, false);
    check_equal(ilk_mutex_observe(&known, ILK_DIAGNOSE_CONTENTION), ILK_OK);
    check_equal(ilk_mutex_observe(&tried, ILK_DIAGNOSE_CONTENTION), ILK_OK);
    ilk_mutex_lock(&known); /* a try records nothing of a thread that is not known yet */
    ilk_mutex_unlock(&known);
    check(ilk_mutex_try_lock(&tried));
    ilk_mutex_unlock(&tried);
    check_equal(figures_of(&tried)->hold.count, 1);
}

static void write_lock(void *lock) {
    ilk_rwlock_write_lock(lock);
}
/* contract: ilk_rwlock_observe */
TEST(holds_of_a_plain_lock_are_counted_once_another_thread_gave_it_up) {
    static ilk_rwlock plain;
    ilk_diagnose(0);
    ilk_rwlock_init_plain(&plain);
    check_equal(ilk_rwlock_observe(&plain, ILK_DIAGNOSE_CONTENTION), ILK_OK);
    struct thread other;
    thread_start(&other, write_lock, &plain);
    thread_join(&other);
    ilk_rwlock_write_unlock(&plain);
    check_equal(figures_of(&plain)->hold.count, 0);
    ilk_rwlock_write_lock(&plain);
    ilk_rwlock_write_unlock(&plain);
    check_equal(figures_of(&plain)->hold.count, 1);
}

static struct stage in_slot = STAGE_INIT;
static void read_in_a_slot(void *unused) {
    ilk_rwlock_read_lock(&lock);
    check(is_in_a_slot(&lock));
    stage_reach(&in_slot, 1);
    stage_await(&in_slot, 2);
    ilk_rwlock_read_unlock(&lock);
}

TEST(a_writer_waits_for_a_reader_in_a_slot_and_without_one_not_at_all) {
    ilk_diagnose(0);
    ilk_rwlock_init(&lock);
    move_to_slots(&lock);
    check_equal(ilk_rwlock_observe(&lock, ILK_DIAGNOSE_CONTENTION), ILK_OK);
    write_briefly(NULL);
    check_equal(figures_of(&lock)->wait.count, 0);
    check_equal(ilk_rwlock_observe(&lock, 0), ILK_OK);
    struct thread reader, writer;
    thread_start(&reader, read_in_a_slot, NULL);
    stage_await(&in_slot, 1);
    check_equal(ilk_rwlock_observe(&lock, ILK_DIAGNOSE_CONTENTION), ILK_OK);
    thread_start(&writer, write_briefly, NULL);
    thread_await_sleep(&writer);
    stage_reach(&in_slot, 2);
    thread_join(&reader);
    thread_join(&writer);
    check_equal(figures_of(&lock)->wait.count, 1);
    ilk_rwlock_destroy(&lock);
}

/* First for the upgradable holder, in the queue, and then for the reader. */
TEST(a_writer_that_waits_for_two_waits_once_and_from_the_first_on) {
    ilk_diagnose(0);
    ilk_rwlock_init(&lock);
    move_to_slots(&lock);
    struct thread reader, writer;
    thread_start(&reader, read_in_a_slot, NULL);
    stage_await(&in_slot, 1);
    check_equal(ilk_rwlock_observe(&lock, ILK_DIAGNOSE_CONTENTION), ILK_OK);
    ilk_rwlock_upgradable_lock(&lock);
    thread_start(&writer, write_briefly, NULL);
    thread_await_sleep(&writer);
    const uint64_t begin_ns = ilk_now_ns();
    while (ilk_now_ns() - begin_ns < MILLISECONDS(20)) {
        ilk_cpu_relax();
    }
    ilk_rwlock_upgradable_unlock(&lock);
    yield_while((word_of(&lock) & ILK__RWLOCK_WRITER) == 0);
    thread_await_sleep(&writer);
    const uint64_t least_ns = ilk_now_ns() - begin_ns;
    stage_reach(&in_slot, 2);
    thread_join(&reader);
    thread_join(&writer);
    check_equal(figures_of(&lock)->wait.count, 1);
    check(figures_of(&lock)->wait.longest_ns >= least_ns);
    ilk_rwlock_destroy(&lock);
}
