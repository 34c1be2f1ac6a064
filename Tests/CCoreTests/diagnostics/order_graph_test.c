/* SPDX-License-Identifier: Apache-2.0
 *
 * Inversions in large graphs of orders, and in those whose objects have followed others.
 */
/* contract: diagnostics.h */
#include "diagnostics/order.h"
#include "diagnostics/order_search.h"
#include "diagnostics/reports.h"
#include <interlock/mutex.h>
#include <interlock/rwlock.h>
#include <interlock/semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void lock_three(ilk_mutex *first, ilk_mutex *second, ilk_mutex *third) {
    ilk_mutex_lock(first);
    lock_both(second, third);
    ilk_mutex_unlock(first);
}

static void make_mutexes(ilk_mutex *mutexes, unsigned count) {
    for (unsigned index = 0; index < count; index++) {
        ilk_mutex_init(&mutexes[index], false);
    }
}

/* Each under each before it. */
static void order_all(ilk_mutex *mutexes, unsigned count) {
    for (unsigned outer = 0; outer < count; outer++) {
        for (unsigned inner = outer + 1; inner < count; inner++) {
            lock_both(&mutexes[outer], &mutexes[inner]);
        }
    }
}

/* ---- Searches ---- */

enum { MANY = 60 };

/* There are 2 to the power of 58 ways from the first of them to the last, and none leads back. */
TEST(an_inversion_is_found_among_many_ordered_locks) {
    static ilk_mutex accounts, orders, others[MANY];
    begin_reports();
    ilk_mutex_init(&accounts, false);
    ilk_mutex_init(&orders, false);
    make_mutexes(others, MANY);
    lock_both(&accounts, &orders);
    for (unsigned index = 0; index < MANY; index++) {
        lock_both(&accounts, &others[index]);
    }
    order_all(others, MANY);
    check_equal(reports.count, 0);
    lock_both(&orders, &accounts);
    check_equal(reports.count, 1);
    lock_both(&others[MANY - 1], &others[0]);
    check_equal(reports.count, 2);
    check_contains(reports.sentence, "the opposite order was seen before"); /* the shortest of the cycles */
    check_equal(ilk__order_searches_ended(), 0);
}

/* b to a comes last. The ways from a to b:  a x b, whose two orders a guard keeps apart;  a y z b. */
TEST(a_longer_cycle_is_found_where_a_guard_keeps_the_shortest_apart) {
    static ilk_mutex places[6];
    ilk_mutex *a = &places[0], *b = &places[1], *x = &places[2], *y = &places[3], *z = &places[4];
    ilk_mutex *guard = &places[5];
    begin_reports();
    make_mutexes(places, 6);
    lock_three(guard, a, x);
    lock_three(guard, x, b);
    lock_both(a, y);
    lock_both(y, z);
    lock_both(z, b);
    check_equal(reports.count, 0);
    lock_both(b, a);
    check_equal(reports.count, 1);
    check_contains(reports.sentence, "; 3 orders seen before lead back from the one to the other");
}

/* Threads may hold what is held for reading at the same time. */
TEST(a_lock_held_for_reading_keeps_nothing_apart) {
    static ilk_mutex a, b;
    static ilk_rwlock guard;
    begin_reports();
    ilk_mutex_init(&a, false);
    ilk_mutex_init(&b, false);
    ilk_rwlock_init(&guard);
    ilk_rwlock_read_lock(&guard);
    lock_both(&a, &b);
    lock_both(&b, &a);
    ilk_rwlock_read_unlock(&guard);
    check_equal(reports.count, 1);
    ilk_rwlock_destroy(&guard);
}

/* Each has a guard of its own before the one that both have. */
TEST(a_guard_behind_others_keeps_orders_apart) {
    static ilk_mutex places[5];
    ilk_mutex *a = &places[0], *b = &places[1], *guard = &places[2];
    begin_reports();
    make_mutexes(places, 5);
    ilk_mutex_lock(&places[3]);
    lock_three(guard, a, b);
    ilk_mutex_unlock(&places[3]);
    ilk_mutex_lock(&places[4]);
    lock_three(guard, b, a);
    ilk_mutex_unlock(&places[4]);
    check_equal(reports.count, 0);
}

TEST(a_guard_that_has_ended_keeps_nothing_apart) {
    static ilk_mutex a, b, guard;
    begin_reports();
    ilk_mutex_init(&a, false);
    ilk_mutex_init(&b, false);
    ilk_mutex_init(&guard, false);
    ilk_mutex_lock(&guard);
    ilk__object_forget(&guard);
    lock_both(&a, &b);
    lock_both(&b, &a);
    check_equal(reports.count, 1);
}

/* Another thread may give it back. */
TEST(a_permit_keeps_nothing_apart) {
    static ilk_mutex a, b;
    static ilk_semaphore permit;
    begin_reports();
    ilk_mutex_init(&a, false);
    ilk_mutex_init(&b, false);
    ilk_semaphore_init(&permit, 1);
    ilk_semaphore_wait(&permit);
    lock_both(&a, &b);
    lock_both(&b, &a);
    check_equal(reports.count, 1);
    ilk_semaphore_signal(&permit, 1);
    ilk_semaphore_destroy(&permit);
}

static void give_up_for_the_other(void *lock) {
    ilk_rwlock_write_unlock(lock);
}

TEST(a_plain_lock_that_another_thread_gave_up_keeps_nothing_apart) {
    static ilk_mutex a, b;
    static ilk_rwlock plain;
    begin_reports();
    ilk_mutex_init(&a, false);
    ilk_mutex_init(&b, false);
    ilk_rwlock_init_plain(&plain);
    ilk_rwlock_write_lock(&plain);
    struct thread other;
    thread_start(&other, give_up_for_the_other, &plain);
    thread_join(&other);
    lock_both(&a, &b);
    lock_both(&b, &a);
    check_equal(reports.count, 1);
    ilk_rwlock_destroy(&plain);
}

static void search_too_far(void) {
    static ilk_mutex mutexes[8];
    make_mutexes(mutexes, 8);
    const uint32_t most = ilk__order_search_most;
    ilk__order_search_most = 3;
    for (unsigned index = 0; index + 1 < 8; index++) {
        lock_both(&mutexes[index], &mutexes[index + 1]);
    }
    lock_both(&mutexes[7], &mutexes[0]);
    lock_both(&mutexes[6], &mutexes[0]);
    ilk__order_search_most = most;
}

TEST(a_search_that_ends_at_its_limit_is_said_once) {
    begin_reports();
    FILE *file = tmpfile();
    const int error = dup(STDERR_FILENO);
    check(file != NULL && error >= 0);
    check_equal(dup2(fileno(file), STDERR_FILENO), STDERR_FILENO);
    search_too_far();
    (void)ilk_write_diagnosis(STDERR_FILENO, ILK_AS_JSON);
    check_equal(dup2(error, STDERR_FILENO), STDERR_FILENO);
    static char output[64 * 1024];
    rewind(file);
    output[fread(output, 1, sizeof output - 1, file)] = '\0';
    fclose(file);
    static const char said[] = "interlock: a search for lock-order inversions ended at its limit";
    check_equal(strncmp(output, said, sizeof said - 1), 0);
    check(strstr(output + 1, said) == NULL);
    check_equal(reports.count, 0);
    check_contains(output, "\"searches_ended\": 2\n");
}

/* ---- Cycles that are hard to find ---- */

/* The last order is from the eighth lock to the first. A guard keeps the shorter cycle apart:  first, other, eighth. */
TEST(a_cycle_of_eight_is_found_where_a_guard_keeps_a_shorter_one_apart) {
    enum { EIGHT = 8 };
    static ilk_mutex locks[EIGHT], guard, other;
    begin_reports();
    make_mutexes(locks, EIGHT);
    ilk_mutex_init(&guard, false);
    ilk_mutex_init(&other, false);
    for (unsigned index = 0; index + 1 < EIGHT; index++) {
        lock_both(&locks[index], &locks[index + 1]);
    }
    lock_three(&guard, &locks[0], &other);
    lock_three(&guard, &other, &locks[EIGHT - 1]);
    check_equal(reports.count, 0);
    lock_both(&locks[EIGHT - 1], &locks[0]);
    check_equal(reports.count, 1);
    check_contains(reports.sentence, "; 7 orders seen before lead back from the one to the other");
}

static void lock_and_ask_upgradable(ilk_mutex *held, ilk_rwlock *lock) {
    ilk_mutex_lock(held);
    ilk_rwlock_upgradable_lock(lock);
    ilk_rwlock_upgradable_unlock(lock);
    ilk_mutex_unlock(held);
}

/* b to a comes last. From a leads one order, which asks for the lock upgradable. That lock is left
 *   for reading, to b:  beside an upgradable holder
 *   upgradable, to y, and from y to b:  the longer way, which closes the cycle */
TEST(a_lock_is_followed_again_for_a_share_that_is_farther_away) {
    static ilk_mutex a, b, y;
    static ilk_rwlock lock;
    begin_reports();
    ilk_mutex_init(&a, false);
    ilk_mutex_init(&b, false);
    ilk_mutex_init(&y, false);
    ilk_rwlock_init(&lock);
    lock_and_ask_upgradable(&a, &lock);
    lock_both(&y, &b); /* the order of a reader comes later, and is followed first */
    ilk_rwlock_read_lock(&lock);
    ilk_mutex_lock(&b);
    ilk_mutex_unlock(&b);
    ilk_rwlock_read_unlock(&lock);
    ilk_rwlock_upgradable_lock(&lock);
    ilk_mutex_lock(&y);
    ilk_mutex_unlock(&y);
    ilk_rwlock_upgradable_unlock(&lock);
    check_equal(reports.count, 0);
    lock_both(&b, &a);
    check_equal(reports.count, 1);
    check_contains(reports.sentence, "; 3 orders seen before lead back from the one to the other");
    ilk_rwlock_destroy(&lock);
}

/* Held and asked for with other shares at each lock:  c to a comes last. */
TEST(a_cycle_is_found_through_a_lock_that_a_reader_of_another_asks_for_upgradable) {
    static ilk_rwlock a, b;
    static ilk_mutex c;
    begin_reports();
    ilk_rwlock_init(&a);
    ilk_rwlock_init(&b);
    ilk_mutex_init(&c, false);
    ilk_rwlock_read_lock(&a);
    ilk_rwlock_upgradable_lock(&b);
    ilk_rwlock_upgradable_unlock(&b);
    ilk_rwlock_read_unlock(&a);
    ilk_rwlock_upgradable_lock(&b);
    ilk_mutex_lock(&c);
    ilk_mutex_unlock(&c);
    ilk_rwlock_upgradable_unlock(&b);
    check_equal(reports.count, 0);
    ilk_mutex_lock(&c);
    ilk_rwlock_write_lock(&a);
    check_equal(reports.count, 1);
    ilk_rwlock_write_unlock(&a);
    ilk_mutex_unlock(&c);
    ilk_rwlock_destroy(&a);
    ilk_rwlock_destroy(&b);
}

/* ---- What is reported ---- */

static struct { ilk_mutex a, b, guard; } seen;

static void lock_behind_the_guard(void *unused) {
    (void)pthread_setname_np(pthread_self(), "earlier");
    lock_three(&seen.guard, &seen.b, &seen.a);
}

/* The earlier thread had the guard, as the order from a to b: only without it the cycle is closed. */
TEST(the_report_shows_the_sighting_that_closes_the_cycle) {
    begin_reports();
    ilk_mutex_init(&seen.a, false);
    ilk_mutex_init(&seen.b, false);
    ilk_mutex_init(&seen.guard, false);
    (void)pthread_setname_np(pthread_self(), "latest");
    lock_three(&seen.guard, &seen.a, &seen.b);
    struct thread earlier;
    thread_start(&earlier, lock_behind_the_guard, NULL);
    thread_join(&earlier);
    check_equal(reports.count, 0);
    lock_both(&seen.b, &seen.a);
    check_equal(reports.count, 1);
    check_contains(reports.sentence, "thread \"latest\" (");
    check(strstr(reports.text, "\"earlier\"") == NULL);
}

static ilk_mutex outer, inner, innermost;

__attribute__((noinline)) static void lock_outer(void) {
    ilk_mutex_lock(&outer);
    __asm__ __volatile__(""); /* no tail call */
}
__attribute__((noinline)) static void lock_inner(void) {
    ilk_mutex_lock(&inner);
    __asm__ __volatile__(""); /* no tail call */
}

/* Of two that it holds as it asks for a third. */
TEST(a_report_says_where_each_lock_was_taken) {
    begin_reports();
    ilk_mutex_init(&outer, false);
    ilk_mutex_init(&inner, false);
    ilk_mutex_init(&innermost, false);
    lock_outer();
    lock_inner();
    ilk_mutex_lock(&innermost);
    ilk_mutex_unlock(&innermost);
    ilk_mutex_unlock(&inner);
    ilk_mutex_unlock(&outer);
    lock_both(&innermost, &inner);
    check_contains(reports.text, "taken at lock_inner+0x");
    lock_both(&innermost, &outer);
    check_contains(reports.text, "taken at lock_outer+0x");
    check_equal(reports.count, 2);
}

/* Both orders of a and b are in a report before the third lock leads back from b to a another way. */
TEST(a_reported_order_is_reported_again_in_another_cycle) {
    static ilk_rwlock a;
    static ilk_mutex b, c;
    begin_reports();
    ilk_rwlock_init(&a);
    ilk_mutex_init(&b, false);
    ilk_mutex_init(&c, false);
    ilk_rwlock_upgradable_lock(&a);
    ilk_mutex_lock(&b);
    ilk_mutex_unlock(&b);
    ilk_rwlock_upgradable_unlock(&a);
    lock_and_ask_upgradable(&b, &a);
    check_equal(reports.count, 1);
    lock_both(&b, &c);
    ilk_mutex_lock(&c);
    ilk_rwlock_read_lock(&a);
    ilk_rwlock_read_unlock(&a);
    ilk_mutex_unlock(&c);
    check_equal(reports.count, 1); /* an upgradable holder keeps no reader waiting */
    ilk_rwlock_write_lock(&a);
    ilk_mutex_lock(&b);
    ilk_mutex_unlock(&b);
    ilk_rwlock_write_unlock(&a);
    check_equal(reports.count, 2);
    check_contains(reports.sentence, "; 2 orders seen before lead back from the one to the other");
    ilk_rwlock_destroy(&a);
}

/* Each of the two is in a report with another lock. */
TEST(orders_between_locks_of_two_reports_are_reported) {
    static ilk_mutex locks[4];
    begin_reports();
    make_mutexes(locks, 4);
    for (unsigned index = 0; index < 4; index += 2) {
        lock_both(&locks[index], &locks[index + 1]);
        lock_both(&locks[index + 1], &locks[index]);
    }
    check_equal(reports.count, 2);
    lock_both(&locks[0], &locks[2]);
    check_equal(reports.count, 2);
    lock_both(&locks[2], &locks[0]);
    check_equal(reports.count, 3);
}

/* Those behind the guard are there as each of the two gets into a report with another lock. */
TEST(orders_between_locks_of_two_reports_are_reported_though_they_were_seen_before) {
    static ilk_mutex locks[4], guard;
    begin_reports();
    make_mutexes(locks, 4);
    ilk_mutex_init(&guard, false);
    lock_three(&guard, &locks[0], &locks[2]);
    lock_three(&guard, &locks[2], &locks[0]);
    check_equal(reports.count, 0);
    for (unsigned index = 0; index < 4; index += 2) {
        lock_both(&locks[index], &locks[index + 1]);
        lock_both(&locks[index + 1], &locks[index]);
    }
    check_equal(reports.count, 2);
    lock_both(&locks[0], &locks[2]);
    check_equal(reports.count, 3);
}

/* ---- Objects that follow each other ---- */

TEST(orders_with_a_lock_that_has_ended_close_no_cycle_with_the_next) {
    static ilk_mutex a, b;
    begin_reports();
    ilk_mutex_init(&a, false);
    ilk_mutex_init(&b, false);
    lock_both(&a, &b);
    ilk_mutex_init(&b, false);
    lock_both(&b, &a);
    check_equal(reports.count, 0);
    ilk_mutex_init(&b, false);
    lock_both(&a, &b);
    check_equal(reports.count, 0);
}

enum { RENEWALS = 2000 };

static void make_pair(ilk_rwlock *a, ilk_mutex *b) {
    ilk_rwlock_init(a);
    ilk_mutex_init(b, false);
}

/* Readers that keep each other waiting only where an order has a share of the one before it. */
TEST(an_order_has_no_share_of_one_whose_place_it_takes) {
    static ilk_rwlock a;
    static ilk_mutex b;
    begin_reports();
    for (unsigned round = 0; round < RENEWALS; round++) {
        make_pair(&a, &b);
        ilk_rwlock_upgradable_lock(&a);
        ilk_mutex_lock(&b);
        ilk_mutex_unlock(&b);
        ilk_rwlock_upgradable_unlock(&a);
        ilk_rwlock_destroy(&a);
        make_pair(&a, &b);
        ilk_rwlock_read_lock(&a);
        ilk_mutex_lock(&b);
        ilk_mutex_unlock(&b);
        ilk_rwlock_read_unlock(&a);
        lock_and_ask_upgradable(&b, &a);
        ilk_rwlock_destroy(&a);
    }
    check_equal(reports.count, 0);
}

static void take_each_pair_once(ilk_mutex *a, ilk_mutex *b) {
    for (unsigned round = 0; round < RENEWALS; round++) {
        ilk_mutex_init(a, false);
        ilk_mutex_init(b, false);
        lock_both(a, b);
    }
}

static void be_earlier(void *unused) {
    (void)pthread_setname_np(pthread_self(), "earlier");
    take_each_pair_once(&seen.a, &seen.b);
}

TEST(a_report_names_no_thread_of_an_order_whose_place_another_takes) {
    begin_reports();
    struct thread earlier;
    thread_start(&earlier, be_earlier, NULL);
    thread_join(&earlier);
    take_each_pair_once(&seen.a, &seen.b);
    check_equal(reports.count, 0);
    lock_both(&seen.b, &seen.a);
    check_equal(reports.count, 1);
    check(strstr(reports.text, "\"earlier\"") == NULL);
}

/* Most of their edges serve for the second time or more often. */
TEST(each_pair_of_locks_that_follows_another_is_reported) {
    static ilk_mutex a, b;
    begin_reports();
    for (unsigned pair = 1; pair <= RENEWALS; pair++) {
        ilk_mutex_init(&a, false);
        ilk_mutex_init(&b, false);
        lock_both(&a, &b);
        lock_both(&b, &a);
        check_equal(reports.count, pair);
    }
}
