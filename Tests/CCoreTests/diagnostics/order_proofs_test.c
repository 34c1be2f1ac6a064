/* SPDX-License-Identifier: Apache-2.0
 *
 * Orders that were harmless when they were seen, and are not once a lock was written or a semaphore turns out to be a
 * lock: they are reported when the next of them is seen.
 */
/* contract: diagnostics.h */
#include "diagnostics/records.h"
#include "diagnostics/reports.h"
#include <interlock/mutex.h>
#include <interlock/rwlock.h>
#include <interlock/semaphore.h>

static void read_both(ilk_rwlock *first, ilk_rwlock *second) {
    ilk_rwlock_read_lock(first);
    ilk_rwlock_read_lock(second);
    ilk_rwlock_read_unlock(second);
    ilk_rwlock_read_unlock(first);
}

static void begin_with_readers(ilk_rwlock *a, ilk_rwlock *b) {
    begin_reports();
    ilk_rwlock_init(a);
    ilk_rwlock_init(b);
    read_both(a, b);
    read_both(b, a);
}

static void write_once(ilk_rwlock *lock) {
    ilk_rwlock_write_lock(lock);
    ilk_rwlock_write_unlock(lock);
}

TEST(orders_of_readers_are_reported_once_a_writer_has_come) {
    static ilk_rwlock a, b;
    begin_with_readers(&a, &b);
    write_once(&a);
    read_both(&a, &b);
    read_both(&b, &a);
    check_equal(reports.count, 0); /* nothing comes between the readers of b */
    write_once(&b);
    check_equal(reports.count, 0);
    read_both(&a, &b);
    check_equal(reports.count, 1);
    check_equal(reports.kind, ILK_REPORT_INVERSION);
    read_both(&b, &a);
    read_both(&a, &b);
    check_equal(reports.count, 1);
    ilk_rwlock_destroy(&a);
    ilk_rwlock_destroy(&b);
}

TEST(a_try_of_the_writer_is_enough) {
    static ilk_rwlock a, b;
    begin_with_readers(&a, &b);
    check(ilk_rwlock_try_write_lock(&a));
    ilk_rwlock_write_unlock(&a);
    check(ilk_rwlock_try_write_lock(&b));
    ilk_rwlock_write_unlock(&b);
    read_both(&b, &a);
    check_equal(reports.count, 1);
    ilk_rwlock_destroy(&a);
    ilk_rwlock_destroy(&b);
}

TEST(the_writer_of_a_lock_that_has_ended_proves_nothing_of_the_next) {
    static ilk_rwlock a, b;
    begin_with_readers(&a, &b);
    write_once(&a);
    write_once(&b);
    ilk_rwlock_destroy(&a);
    ilk_rwlock_destroy(&b);
    begin_with_readers(&a, &b);
    check_equal(reports.count, 0);
    ilk_rwlock_destroy(&a);
    ilk_rwlock_destroy(&b);
}

static ilk_semaphore permit;
static ilk_mutex mutex;

static void wait_under_mutex(void *unused) {
    ilk_mutex_lock(&mutex);
    ilk_semaphore_wait(&permit);
    ilk_semaphore_signal(&permit, 1);
    ilk_mutex_unlock(&mutex);
}

/* Both orders are met before a thread has given its permit back. */
TEST(a_semaphore_that_turns_out_to_be_a_lock_is_reported) {
    begin_reports();
    ilk_semaphore_init(&permit, 1);
    ilk_mutex_init(&mutex, false);
    ilk_semaphore_wait(&permit);
    ilk_mutex_lock(&mutex);
    ilk_mutex_unlock(&mutex);
    struct thread other;
    thread_start(&other, wait_under_mutex, NULL);
    thread_await_sleep(&other);
    check_equal(reports.count, 0);
    ilk_semaphore_signal(&permit, 1);
    thread_join(&other);
    check_equal(reports.count, 0);
    wait_under_mutex(NULL);
    check_equal(reports.count, 1);
    ilk_semaphore_destroy(&permit);
}

/* Each thread gives up what it took: no order counts before one has done so, and each after it. */
TEST(a_plain_lock_that_no_other_thread_gives_up_is_a_lock) {
    static ilk_rwlock plain;
    begin_reports();
    ilk_rwlock_init_plain(&plain);
    ilk_mutex_init(&mutex, false);
    ilk_mutex_lock(&mutex);
    ilk_rwlock_write_lock(&plain);
    ilk_mutex_unlock(&mutex);
    ilk_mutex_lock(&mutex);
    check_equal(reports.count, 0);
    ilk_mutex_unlock(&mutex);
    ilk_rwlock_write_unlock(&plain);
    ilk_mutex_lock(&mutex);
    ilk_rwlock_write_lock(&plain);
    check_equal(reports.count, 1);
    ilk_rwlock_write_unlock(&plain);
    ilk_mutex_unlock(&mutex);
    ilk_rwlock_destroy(&plain);
}

/* The permit stays with the thread, and the semaphore a lock. */
/* contract: ilk_semaphore_try_signal */
TEST(a_signal_that_found_no_room_gives_nothing_back) {
    begin_reports();
    ilk_semaphore_init(&permit, 1);
    ilk_mutex_init(&mutex, false);
    ilk_semaphore_wait(&permit);
    check(!ilk_semaphore_try_signal(&permit, ILK_SEMAPHORE_MAX + 1));
    ilk_mutex_lock(&mutex);
    ilk_mutex_unlock(&mutex);
    check(ilk_semaphore_try_signal(&permit, 1));
    check_equal(reports.count, 0);
    wait_under_mutex(NULL);
    check_equal(reports.count, 1);
    ilk_semaphore_destroy(&permit);
}

/* A pair of shares that closes no cycle must not hide one that does. */
TEST(an_order_is_searched_with_each_of_its_shares) {
    static ilk_rwlock a;
    static ilk_mutex b;
    begin_reports();
    ilk_rwlock_init(&a);
    ilk_mutex_init(&b, false);
    ilk_mutex_lock(&b);
    ilk_rwlock_upgradable_lock(&a);
    ilk_rwlock_upgradable_unlock(&a);
    ilk_mutex_unlock(&b);
    ilk_rwlock_read_lock(&a);
    ilk_mutex_lock(&b);
    ilk_mutex_unlock(&b);
    ilk_rwlock_read_unlock(&a);
    check_equal(reports.count, 0); /* a reader keeps no upgradable holder waiting */
    ilk_rwlock_upgradable_lock(&a);
    ilk_mutex_lock(&b);
    check_equal(reports.count, 1);
    ilk_mutex_unlock(&b);
    ilk_rwlock_upgradable_unlock(&a);
    ilk_rwlock_destroy(&a);
}

/* Where a thread remembers the order, for one pair of shares. */
static uint64_t place_of(const void *from, const void *to) {
    return (ilk__object_id(ilk__object_find(from)) * 31 + ilk__object_id(ilk__object_find(to)) * 7) %
           ILK__KNOWN_ORDERS;
}

static void lock_and_unlock(ilk_mutex *mutex) {
    ilk_mutex_lock(mutex);
    ilk_mutex_unlock(mutex);
}

static void upgradable_below(ilk_rwlock *held, ilk_mutex *asked) {
    ilk_rwlock_upgradable_lock(held);
    lock_and_unlock(asked);
    ilk_rwlock_upgradable_unlock(held);
}

/* Both orders have one place there, and only the second closes a cycle. */
TEST(an_order_is_not_known_with_the_shares_of_another) {
    static ilk_rwlock a, c;
    static ilk_mutex b, d;
    begin_reports();
    ilk_rwlock_init(&a);
    ilk_rwlock_init(&c);
    ilk_mutex_init(&b, false);
    do {
        ilk_mutex_init(&d, false);
    } while (place_of(&a, &b) != place_of(&c, &d));
    ilk_mutex_lock(&d);
    ilk_rwlock_upgradable_lock(&c);
    ilk_rwlock_upgradable_unlock(&c);
    ilk_mutex_unlock(&d);
    upgradable_below(&a, &b);
    ilk_rwlock_read_lock(&c);
    lock_and_unlock(&d);
    ilk_rwlock_read_unlock(&c);
    check_equal(reports.count, 0); /* a reader keeps no upgradable holder waiting */
    upgradable_below(&c, &d);
    check_equal(reports.count, 1);
    ilk_rwlock_destroy(&a);
    ilk_rwlock_destroy(&c);
}

/* Each has the place of the order from a to b there, and one of its locks. */
TEST(an_order_is_not_known_for_one_with_another_lock) {
    static ilk_mutex a, b, c, d;
    begin_reports();
    ilk_mutex_init(&a, false);
    ilk_mutex_init(&b, false);
    do {
        ilk_mutex_init(&c, false);
    } while (place_of(&c, &b) != place_of(&a, &b));
    do {
        ilk_mutex_init(&d, false);
    } while (place_of(&a, &d) != place_of(&a, &b));
    lock_both(&b, &c);
    lock_both(&d, &a);
    lock_both(&a, &b);
    lock_both(&c, &b);
    check_equal(reports.count, 1);
    lock_both(&a, &b);
    lock_both(&a, &d);
    check_equal(reports.count, 2);
}

/* A thread remembers orders that it need not search again: not this one. */
TEST(a_thread_that_leaves_the_guard_out_is_reported) {
    static ilk_mutex guard, a, b;
    begin_reports();
    ilk_mutex_init(&guard, false);
    ilk_mutex_init(&a, false);
    ilk_mutex_init(&b, false);
    for (int round = 0; round < 2; round++) {
        ilk_mutex_lock(&guard);
        lock_both(&a, &b);
        lock_both(&b, &a);
        ilk_mutex_unlock(&guard);
    }
    check_equal(reports.count, 0);
    lock_both(&a, &b);
    check_equal(reports.count, 1);
    lock_both(&b, &a);
    check_equal(reports.count, 1);
}

TEST(a_thread_with_another_guard_is_reported) {
    static ilk_mutex guard, other, a, b;
    begin_reports();
    ilk_mutex_init(&guard, false);
    ilk_mutex_init(&other, false);
    ilk_mutex_init(&a, false);
    ilk_mutex_init(&b, false);
    ilk_mutex_lock(&guard);
    lock_both(&a, &b);
    lock_both(&b, &a);
    ilk_mutex_unlock(&guard);
    check_equal(reports.count, 0);
    ilk_mutex_lock(&other);
    lock_both(&a, &b);
    ilk_mutex_unlock(&other);
    check_equal(reports.count, 1);
}

static void read_below(ilk_mutex *held, ilk_rwlock *asked) {
    ilk_mutex_lock(held);
    ilk_rwlock_read_lock(asked);
    ilk_rwlock_read_unlock(asked);
    ilk_mutex_unlock(held);
}

/* The writer waits for the upgradable holder, and the reader behind the writer. */
TEST(a_reader_beside_an_upgradable_holder_is_reported_once_a_writer_has_come) {
    static ilk_rwlock a;
    static ilk_mutex b;
    begin_reports();
    ilk_rwlock_init(&a);
    ilk_mutex_init(&b, false);
    for (int round = 0; round < 2; round++) {
        upgradable_below(&a, &b);
        read_below(&b, &a);
    }
    check_equal(reports.count, 0);
    write_once(&a);
    upgradable_below(&a, &b);
    check_equal(reports.count, 1);
    ilk_rwlock_destroy(&a);
}

/* Each pair of shares makes an order of its own: of those from a to b only the last closes the cycle. */
TEST(an_order_of_an_upgradable_holder_is_not_known_for_a_readers) {
    static ilk_rwlock a, b;
    begin_reports();
    ilk_rwlock_init(&a);
    ilk_rwlock_init(&b);
    ilk_rwlock_read_lock(&a);
    ilk_rwlock_upgradable_lock(&b);
    ilk_rwlock_upgrade(&b);
    ilk_rwlock_write_unlock(&b);
    ilk_rwlock_read_unlock(&a);
    ilk_rwlock_write_lock(&b);
    ilk_rwlock_upgradable_lock(&a);
    ilk_rwlock_upgradable_unlock(&a);
    ilk_rwlock_write_unlock(&b);
    check_equal(reports.count, 0); /* a reader keeps no upgradable holder waiting */
    ilk_rwlock_upgradable_lock(&a);
    ilk_rwlock_read_lock(&b);
    check_equal(reports.count, 1);
    ilk_rwlock_read_unlock(&b);
    ilk_rwlock_upgradable_unlock(&a);
    ilk_rwlock_destroy(&a);
    ilk_rwlock_destroy(&b);
}
