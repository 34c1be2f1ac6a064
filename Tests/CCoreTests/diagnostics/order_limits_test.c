/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the search for orders ends, as the documents say: so many shares of a thread, so many locks in a cycle, and
 * what is not watched.
 */
/* contract: diagnostics.h */
#include "diagnostics/reports.h"
#include <interlock/mutex.h>
#include <interlock/rwlock.h>
#include <interlock/semaphore.h>

enum { HELD_MOST = 32, CYCLE_ORDERS_MOST = 8 };

static void make_mutexes(ilk_mutex *mutexes, unsigned count) {
    begin_reports();
    for (unsigned index = 0; index < count; index++) {
        ilk_mutex_init(&mutexes[index], false);
    }
}

TEST(the_first_32_shares_of_a_thread_are_known) {
    static ilk_mutex mutexes[HELD_MOST + 2];
    ilk_mutex *asked = &mutexes[HELD_MOST + 1];
    make_mutexes(mutexes, HELD_MOST + 2);
    for (unsigned index = 0; index < HELD_MOST + 1; index++) {
        ilk_mutex_lock(&mutexes[index]);
    }
    ilk_mutex_lock(asked);
    ilk_mutex_unlock(asked);
    for (unsigned index = HELD_MOST + 1; index-- > 0;) {
        ilk_mutex_unlock(&mutexes[index]);
    }
    lock_both(asked, &mutexes[HELD_MOST]);
    check_equal(reports.count, 0);
    for (unsigned index = 0; index < HELD_MOST; index++) {
        lock_both(asked, &mutexes[index]);
        check_equal(reports.count, index + 1);
    }
}

/* Of what a thread holds, what keeps the orders of two locks apart is among the first eight. */
TEST(a_lock_keeps_orders_apart_behind_seven_others_and_not_behind_eight) {
    enum { KNOWN_GUARDS = 8 };
    static ilk_mutex mutexes[KNOWN_GUARDS + 3];
    for (unsigned others = KNOWN_GUARDS - 1; others <= KNOWN_GUARDS; others++) {
        make_mutexes(mutexes, KNOWN_GUARDS + 3);
        ilk_mutex *guard = &mutexes[KNOWN_GUARDS], *first = guard + 1, *second = guard + 2;
        for (unsigned index = 0; index < others; index++) {
            ilk_mutex_lock(&mutexes[index]);
        }
        ilk_mutex_lock(guard);
        lock_both(first, second);
        ilk_mutex_unlock(guard);
        for (unsigned index = others; index-- > 0;) {
            ilk_mutex_unlock(&mutexes[index]);
        }
        ilk_mutex_lock(guard);
        lock_both(second, first);
        ilk_mutex_unlock(guard);
        check_equal(reports.count, others == KNOWN_GUARDS);
    }
}

TEST(a_lock_keeps_orders_apart_behind_any_number_held_for_reading) {
    enum { READ = 9 };
    static ilk_mutex mutexes[3];
    static ilk_rwlock read[READ];
    make_mutexes(mutexes, 3);
    for (unsigned index = 0; index < READ; index++) {
        ilk_rwlock_init(&read[index]);
        ilk_rwlock_read_lock(&read[index]);
    }
    for (unsigned first = 0; first < 2; first++) {
        ilk_mutex_lock(&mutexes[2]);
        lock_both(&mutexes[first], &mutexes[1 - first]);
        ilk_mutex_unlock(&mutexes[2]);
    }
    check_equal(reports.count, 0);
    for (unsigned index = 0; index < READ; index++) {
        ilk_rwlock_read_unlock(&read[index]);
        ilk_rwlock_destroy(&read[index]);
    }
}

TEST(a_semaphore_keeps_no_orders_apart) {
    static ilk_mutex mutexes[2];
    ilk_semaphore semaphore;
    make_mutexes(mutexes, 2);
    ilk_semaphore_init(&semaphore, 1);
    for (unsigned first = 0; first < 2; first++) {
        ilk_semaphore_wait(&semaphore);
        lock_both(&mutexes[first], &mutexes[1 - first]);
        ilk_semaphore_signal(&semaphore, 1);
        check_equal(reports.count, first);
    }
    ilk_semaphore_destroy(&semaphore);
}

TEST(a_lock_taken_before_it_is_watched_keeps_no_orders_apart) {
    static ilk_mutex mutexes[2], guard;
    make_mutexes(mutexes, 2);
    ilk_mutex_lock(&guard);
    check_equal(ilk_mutex_observe(&guard, ILK_DIAGNOSE_ORDER), ILK_OK);
    lock_both(&mutexes[0], &mutexes[1]);
    check_equal(reports.count, 0);
    lock_both(&mutexes[1], &mutexes[0]);
    check_equal(reports.count, 1);
    ilk_mutex_unlock(&guard);
}

/* contract: ilk_write_diagnosis */
TEST(the_first_16_reports_are_in_the_json) {
    enum { PAIRS = 17 };
    static ilk_mutex mutexes[2 * PAIRS];
    make_mutexes(mutexes, 2 * PAIRS);
    for (unsigned index = 0; index < 2 * PAIRS; index += 2) {
        lock_both(&mutexes[index], &mutexes[index + 1]);
        lock_both(&mutexes[index + 1], &mutexes[index]);
    }
    check_equal(reports.count, PAIRS);
    unsigned kept = 0;
    for (const char *json = diagnosis(ILK_AS_JSON); (json = strstr(json, "{\"text\": ")) != NULL; json++) {
        kept++;
    }
    check_equal(kept, 16);
}

static void close_cycle(unsigned count, unsigned expected) {
    static ilk_mutex mutexes[CYCLE_ORDERS_MOST + 1];
    make_mutexes(mutexes, count);
    for (unsigned index = 0; index + 1 < count; index++) {
        lock_both(&mutexes[index], &mutexes[index + 1]);
    }
    check_equal(reports.count, 0);
    lock_both(&mutexes[count - 1], &mutexes[0]);
    check_equal(reports.count, expected);
}

TEST(a_cycle_of_eight_is_found_and_one_of_nine_is_not) {
    close_cycle(CYCLE_ORDERS_MOST, 1);
    check_contains(reports.text, "  8. thread ");
    close_cycle(CYCLE_ORDERS_MOST + 1, 0);
}

/* From `target`, whose orders are searched newest first, backward:
 *
 *     begin -> shared -> a[4] -> … -> a[0] -> target     kept apart by a guard
 *              shared -> b[3] -> … -> b[0] -> target     for reading: it harms no one
 *     begin -> before -> c[4] -> … -> c[0] -> target
 * The search is at `shared` by the second way first, and from there at `begin`, before it has been at `before`. */
TEST(a_cycle_of_eight_is_found_beside_one_that_a_guard_keeps_apart) {
    enum { LONG = 5, SHORT = 4 };
    static ilk_mutex target, begin, before, guard, a[LONG], b[SHORT], c[LONG];
    static ilk_rwlock shared;
    ilk_mutex *const single[] = {&target, &begin, &before, &guard};
    make_mutexes(a, LONG);
    make_mutexes(b, SHORT);
    make_mutexes(c, LONG);
    for (unsigned index = 0; index < sizeof single / sizeof *single; index++) {
        ilk_mutex_init(single[index], false);
    }
    ilk_rwlock_init(&shared);
    lock_both(&c[0], &target);
    lock_both(&b[0], &target);
    lock_both(&a[0], &target);
    for (unsigned index = 0; index + 1 < LONG; index++) {
        lock_both(&c[index + 1], &c[index]);
        if (index + 1 < SHORT) {
            lock_both(&b[index + 1], &b[index]);
        }
        if (index + 1 < LONG - 1) {
            lock_both(&a[index + 1], &a[index]);
        }
    }
    ilk_mutex_lock(&guard);
    lock_both(&a[LONG - 1], &a[LONG - 2]);
    ilk_mutex_lock(&begin);
    ilk_rwlock_upgradable_lock(&shared);
    ilk_rwlock_upgradable_unlock(&shared);
    ilk_mutex_unlock(&begin);
    ilk_mutex_unlock(&guard);
    ilk_rwlock_read_lock(&shared);
    ilk_mutex_lock(&b[SHORT - 1]);
    ilk_mutex_unlock(&b[SHORT - 1]);
    ilk_rwlock_read_unlock(&shared);
    ilk_rwlock_upgradable_lock(&shared);
    ilk_mutex_lock(&a[LONG - 1]);
    ilk_mutex_unlock(&a[LONG - 1]);
    ilk_rwlock_upgradable_unlock(&shared);
    lock_both(&before, &c[LONG - 1]);
    lock_both(&begin, &before);
    check_equal(reports.count, 0);
    lock_both(&target, &begin);
    check_equal(reports.count, 1);
    check_contains(reports.text, "  8. thread ");
}

/* Plain zero bits, and those that were made before. */
TEST(what_was_made_before_is_not_watched) {
    static ilk_mutex zero[2], before[2];
    ilk_mutex_init(&before[0], false);
    ilk_mutex_init(&before[1], false);
    begin_reports();
    lock_both(&zero[0], &zero[1]);
    lock_both(&zero[1], &zero[0]);
    lock_both(&before[0], &before[1]);
    lock_both(&before[1], &before[0]);
    check_equal(reports.count, 0);
    for (unsigned index = 0; index < 2; index++) {
        check_equal(ilk_mutex_observe(&zero[index], ILK_DIAGNOSE_ORDER), ILK_OK);
    }
    lock_both(&zero[0], &zero[1]);
    lock_both(&zero[1], &zero[0]);
    check_equal(reports.count, 1);
}

/* The switch for all is off again. */
/* contract: ilk_diagnose, ilk_diagnosed, ilk_mpmc_observe, ilk_mutex_observe, ilk_rwlock_observe */
/* contract: ilk_semaphore_observe, ilk_spsc_observe */
TEST(what_an_objects_own_call_has_switched_on_stays_on) {
    static ilk_mutex own[2], with_all[2];
    make_mutexes(with_all, 2);
    for (unsigned index = 0; index < 2; index++) {
        ilk_mutex_init(&own[index], false);
        check_equal(ilk_mutex_observe(&own[index], ILK_DIAGNOSE_ORDER), ILK_OK);
    }
    ilk_diagnose(0);
    check_equal(ilk_diagnosed(), 0);
    lock_both(&with_all[0], &with_all[1]);
    lock_both(&with_all[1], &with_all[0]);
    check_equal(reports.count, 0);
    lock_both(&own[0], &own[1]);
    lock_both(&own[1], &own[0]);
    check_equal(reports.count, 1);
}

static ilk_semaphore permit;
static void give(void *reported) {
    stage_await(reported, 1);
    ilk_semaphore_signal(&permit, 1);
}

static void reach_stage(const ilk_report *report, void *reported) {
    keep_report(report, NULL);
    stage_reach(reported, 1);
}

/* Another thread may give the permit after all. */
TEST(a_wait_for_ones_own_permit_is_reported_and_goes_on) {
    static struct stage reported = STAGE_INIT;
    begin_reports();
    ilk_set_report_handler(reach_stage, &reported);
    ilk_semaphore_init(&permit, 1);
    ilk_semaphore_wait(&permit);
    ilk_semaphore_signal(&permit, 1);
    struct thread giver;
    thread_start(&giver, give, &reported);
    ilk_semaphore_wait(&permit);
    check_equal(reports.count, 0);
    ilk_semaphore_wait(&permit);
    check_equal(reports.count, 1);
    check_equal(reports.kind, ILK_REPORT_SELF_WAIT);
    thread_join(&giver);
    ilk_semaphore_destroy(&permit);
}
