/* SPDX-License-Identifier: Apache-2.0
 *
 * What the headers of the semaphore, the latch, the park layer and diagnosis promise to signal handlers: a handler
 * after each instruction of their calls (support/stepping.h). rwlock/rwlock_handlers_test.c has the lock's.
 */
/* contract: latch.h */
#include "diagnostics/records.h"
#include "platform/port.h"
#include "support/rwlock_mode.h"
#include "support/stepping.h"
#include <interlock/interlock.h>
#include <stdio.h>

static void need_futexes(void) {
#if !ILK__PARK_FUTEX
    skip_because("with the pthread park backend a wake-up takes a mutex, and may not in a handler");
#endif
    skip_unless_stepping();
}

static void step(const char *call, const struct stepped *stepped) {
    const size_t places = step_everywhere(stepped, NULL);
    printf("%s: %zu places\n", call, places);
    fflush(stdout);
}

/* ---- Semaphore: a handler may try and signal ---- */

static ilk_semaphore semaphore;
static int64_t permits; /* that there should be */

static void two_permits(void *unused) {
    ilk_semaphore_init(&semaphore, 2);
    permits = 2;
}

static void try_and_signal_three_times(void *unused) {
    const bool is_taken = ilk_semaphore_try_wait(&semaphore);
    check(is_taken); /* the call has one of the two at most */
    ilk_semaphore_signal(&semaphore, 3);
    permits += 2;
}

static void all_permits_are_there(void *unused) {
    check_equal(ilk_semaphore_value(&semaphore), permits);
    check(ilk_semaphore_try_wait(&semaphore));
    ilk_semaphore_signal(&semaphore, 1);
    check_equal(semaphore.word & ~ILK__SEMAPHORE_PERMITS, 0);
    ilk_semaphore_destroy(&semaphore);
}

static void wait_and_signal(void *unused) {
    ilk_semaphore_wait(&semaphore);
    ilk_semaphore_signal(&semaphore, 1);
}

static void try_and_signal(void *unused) {
    check(ilk_semaphore_try_wait(&semaphore));
    ilk_semaphore_signal(&semaphore, 1);
}

/* Without permits: also where the call has the queue. */
static void no_permit(void *unused) {
    ilk_semaphore_init(&semaphore, 0);
    permits = 0;
}

static bool got_one;

static void wait_until_late(void *unused) {
    got_one = ilk_semaphore_wait_until(&semaphore, 0) == ILK_OK;
    permits -= got_one ? 1 : 0;
}

static void signal_one(void *unused) {
    ilk_semaphore_signal(&semaphore, 1);
    permits++;
}

static void no_permit_is_lost(void *unused) {
    check_equal(ilk_semaphore_value(&semaphore), permits);
    check_equal(semaphore.word & ~ILK__SEMAPHORE_PERMITS, 0);
    ilk_semaphore_destroy(&semaphore);
}
/* contract: ilk_semaphore_signal, semaphore.E */
TEST(a_handler_may_try_and_signal_a_semaphore_anywhere) {
    need_futexes();
    const struct stepped waits = {two_permits, wait_and_signal, try_and_signal_three_times,
                                  all_permits_are_there};
    const struct stepped tries = {two_permits, try_and_signal, try_and_signal_three_times,
                                  all_permits_are_there};
    const struct stepped times_out = {no_permit, wait_until_late, signal_one, no_permit_is_lost};
    step("ilk_semaphore_wait, signal", &waits);
    step("ilk_semaphore_try_wait, signal", &tries);
    step("ilk_semaphore_wait_until", &times_out);
}

/* ---- Latch: count_down and try_wait do not block or allocate ---- */

static ilk_latch latch;

static void two_to_count(void *unused) {
    ilk_latch_init(&latch, 2);
}

static void count_down(void *unused) {
    ilk_latch_count_down(&latch);
    const bool is_open = ilk_latch_try_wait(&latch);
    check(!is_open || ilk_latch_count(&latch) == 0);
}

static void count_down_and_wait(void *unused) {
    ilk_latch_count_down(&latch);
    const ilk_status status = ilk_latch_wait_until(&latch, 0);
    check(status == ILK_TIMEDOUT || ilk_latch_count(&latch) == 0);
}

static void the_latch_is_open(void *unused) {
    if (ilk_latch_count(&latch) == 1) { /* the run without a handler */
        ilk_latch_count_down(&latch);
    }
    check_equal(ilk_latch_count(&latch), 0);
    check(ilk_latch_try_wait(&latch));
}

TEST(a_handler_may_count_a_latch_down_anywhere) {
    need_futexes();
    const struct stepped counts = {two_to_count, count_down, count_down, the_latch_is_open};
    const struct stepped waits = {two_to_count, count_down_and_wait, count_down, the_latch_is_open};
    step("ilk_latch_count_down", &counts);
    step("ilk_latch_count_down, wait_until", &waits);
}

/* ---- Wait set: a handler may wake, and signal a member ---- */

static struct {
    ilk_wait_set *set;
    unsigned answers; /* of the semaphore */
    bool woken;
} waiting;

static void a_set_with_a_semaphore(void *unused) {
    no_permit(NULL);
    waiting.answers = 0;
    waiting.woken = false;
    check_equal(ilk_wait_set_create(&waiting.set), ILK_OK);
    check_equal(ilk_wait_set_add_semaphore(waiting.set, &semaphore, &semaphore), ILK_OK);
}

static ilk_status wait_once(void) {
    void *keys[1];
    size_t count;
    const ilk_status status = ilk_wait_set_wait_until(waiting.set, keys, 1, &count, 0);
    waiting.answers += (unsigned)count;
    return status;
}

static void wait_on_set(void *unused) {
    (void)wait_once();
}

static void signal_and_wake(void *unused) {
    signal_one(NULL);
    ilk_wait_set_wake(waiting.set);
    waiting.woken = true;
}

/* The permit is answered once; a wake that the interrupted wait has not taken ends the next. */
static void the_permit_is_answered(void *unused) {
    while (wait_once() == ILK_OK) {
    }
    check_equal(waiting.answers, waiting.woken ? 1 : 0);
    ilk_wait_set_destroy(waiting.set);
    check_equal(ilk_semaphore_value(&semaphore), 0);
    ilk_semaphore_destroy(&semaphore);
}
/* contract: ilk_wait_set_wake, wait_set.E */
TEST(a_handler_may_wake_a_set_and_signal_its_member_anywhere) {
    need_futexes();
    const struct stepped waits = {a_set_with_a_semaphore, wait_on_set, signal_and_wake,
                                  the_permit_is_answered};
    step("ilk_wait_set_wait_until", &waits);
}

/* ---- Park: a handler may wake, and never moves the deadline ---- */

static ILK_ATOMIC(uint32_t) parked;
static uint64_t deadline_ns;
static ilk_status parked_with;

static void closed(void *unused) {
    ilk_atomic_store(&parked, 0, memory_order_relaxed);
    deadline_ns = ilk_deadline_in_ns(1000);
}

static void wait_parked(void *unused) {
    parked_with = ilk_park_wait(&parked, 0, deadline_ns);
}

static void open_and_wake(void *unused) {
    ilk_atomic_store(&parked, 1, memory_order_relaxed);
    ilk_park_wake(&parked, ILK_PARK_ALL);
}

static void was_woken_or_late(void *unused) {
    check(parked_with == ILK_OK || (parked_with == ILK_TIMEDOUT && ilk_now_ns() >= deadline_ns));
}

TEST(a_handler_may_wake_anywhere_in_a_wait) {
    need_futexes();
    const struct stepped waits = {closed, wait_parked, open_and_wake, was_woken_or_late};
    step("ilk_park_wait", &waits);
}

/* ---- Diagnosis: a handler may try and give up what is watched ---- */

static struct {
    ilk_rwlock of_call, of_handler;
    ilk_semaphore permit;
    ilk_mutex mutex;
} watched;

static unsigned reports;

static void count_report(const ilk_report *report, void *unused) {
    fprintf(stderr, "%s\n", report->sentence);
    reports++;
}

static void nothing(void *unused) {}

static void take_all_watched(void *unused) {
    ilk_mutex_lock(&watched.mutex);
    ilk_rwlock_read_lock(&watched.of_call);
    ilk_rwlock_read_unlock(&watched.of_call);
    ilk_mutex_unlock(&watched.mutex);
}

static void write_watched(void *unused) {
    ilk_rwlock_write_lock(&watched.of_call);
    ilk_rwlock_downgrade(&watched.of_call);
    ilk_rwlock_read_unlock(&watched.of_call);
}

static void take_watched_permit(void *unused) {
    ilk_semaphore_wait(&watched.permit);
    ilk_semaphore_signal(&watched.permit, 1);
}

/* The lock that is interrupted, too. */
static void try_all_watched(void *unused) {
    check(ilk_rwlock_try_write_lock(&watched.of_handler));
    if (ilk_rwlock_try_read_lock(&watched.of_call)) {
        ilk_rwlock_read_unlock(&watched.of_call);
    }
    if (ilk_semaphore_try_wait(&watched.permit)) {
        ilk_semaphore_signal(&watched.permit, 1);
    }
    ilk_rwlock_write_unlock(&watched.of_handler);
}

/* Diagnosis knows of nothing that the thread holds, or waits for, and all is free. */
static void nothing_is_held(void *unused) {
    check_equal(reports, 0);
    struct ilk__record *mine = ilk__record_known();
    check(mine != NULL);
    check_equal(ilk__held_places(mine), 0);
    check_equal(ilk__record_get(&mine->waiting.address), 0);
    check_equal(word_of(&watched.of_call), ILK__RWLOCK_OBSERVED);
    check_equal(word_of(&watched.of_handler), ILK__RWLOCK_OBSERVED);
    check_equal(ilk_semaphore_value(&watched.permit), 1);
    check(ilk_mutex_try_lock(&watched.mutex));
    ilk_mutex_unlock(&watched.mutex);
}

TEST(a_handler_may_try_what_is_watched_anywhere) {
    need_futexes();
    ilk_set_report_handler(count_report, NULL);
    ilk_diagnose(ILK_DIAGNOSE_ALL);
    ilk_rwlock_init_plain(&watched.of_call); /* its word is the same after each run */
    ilk_rwlock_init_plain(&watched.of_handler);
    ilk_semaphore_init(&watched.permit, 1);
    ilk_mutex_init(&watched.mutex, false);
    try_all_watched(NULL);
    take_all_watched(NULL);
    write_watched(NULL);
    take_watched_permit(NULL);
    const struct stepped reads = {nothing, take_all_watched, try_all_watched, nothing_is_held};
    const struct stepped writes = {nothing, write_watched, try_all_watched, nothing_is_held};
    const struct stepped permit = {nothing, take_watched_permit, try_all_watched, nothing_is_held};
    step("a watched mutex and read lock", &reads);
    step("a watched write lock, downgraded", &writes);
    step("a watched semaphore", &permit);
}
