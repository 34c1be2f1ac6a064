/* SPDX-License-Identifier: Apache-2.0
 *
 * Where the search for orders ends, as the documents say: so many shares of a thread, so many locks in a circle, and
 * what is not watched.
 */
#include "diagnostics/reports.h"
#include <interlock/mutex.h>
#include <interlock/semaphore.h>

enum { HELD_MOST = 32, CIRCLE_MOST = 8 };

static void lock_both(ilk_mutex *first, ilk_mutex *second) {
    ilk_mutex_lock(first);
    ilk_mutex_lock(second);
    ilk_mutex_unlock(second);
    ilk_mutex_unlock(first);
}

static void make_mutexes(ilk_mutex *mutexes, unsigned count) {
    begin_reports();
    for (unsigned index = 0; index < count; index++) {
        ilk_mutex_init(&mutexes[index], false);
    }
}

static void the_first_32_shares_of_a_thread_are_known(void **state) {
    (void)state;
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
    lock_both(asked, &mutexes[HELD_MOST - 1]);
    check_equal(reports.count, 1);
}

static void close_circle(unsigned count, unsigned expected) {
    static ilk_mutex mutexes[CIRCLE_MOST + 1];
    make_mutexes(mutexes, count);
    for (unsigned index = 0; index + 1 < count; index++) {
        lock_both(&mutexes[index], &mutexes[index + 1]);
    }
    check_equal(reports.count, 0);
    lock_both(&mutexes[count - 1], &mutexes[0]);
    check_equal(reports.count, expected);
}

static void a_circle_of_eight_is_found_and_one_of_nine_is_not(void **state) {
    (void)state;
    close_circle(CIRCLE_MOST, 1);
    check_contains(reports.text, "  8. thread ");
    close_circle(CIRCLE_MOST + 1, 0);
}

/* Plain zero bits, and those that were made before. */
static void what_was_made_before_is_not_watched(void **state) {
    (void)state;
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
static void what_an_objects_own_call_has_switched_on_stays_on(void **state) {
    (void)state;
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
static void a_wait_for_ones_own_permit_is_reported_and_goes_on(void **state) {
    (void)state;
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

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_first_32_shares_of_a_thread_are_known),
    cmocka_unit_test(a_circle_of_eight_is_found_and_one_of_nine_is_not),
    cmocka_unit_test(what_was_made_before_is_not_watched),
    cmocka_unit_test(what_an_objects_own_call_has_switched_on_stays_on),
    cmocka_unit_test(a_wait_for_ones_own_permit_is_reported_and_goes_on),
};

TEST_MAIN(tests)
