/* SPDX-License-Identifier: Apache-2.0
 *
 * Lock orders that may deadlock are reported at the second order, word for word. No test waits: both orders are taken
 * one after the other, as a program may do for years before it hangs.
 */
/* contract: diagnostics.h */
#include "diagnostics/reports.h"
#include <interlock/mutex.h>
#include <interlock/rwlock.h>
#include <interlock/semaphore.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* "thread "order_test" (1234)": this thread, as reports call it. */
static const char *this_thread(void) {
    static char text[64];
    char name[16];
    check_equal(pthread_getname_np(pthread_self(), name, sizeof name), 0);
    snprintf(text, sizeof text, "thread \"%s\" (%ld)", name, syscall(SYS_gettid));
    return text;
}

/* "mutex 0x1234 "name"" */
static const char *named(const char *kind, const void *object, const char *name) {
    static char texts[4][128];
    static unsigned next;
    char *text = texts[next++ % 4];
    snprintf(text, sizeof texts[0], "%s %p \"%s\"", kind, object, name);
    return text;
}

static void make_mutex(ilk_mutex *mutex, const char *name) {
    ilk_mutex_init(mutex, false);
    check_equal(ilk_set_name(mutex, name), ILK_OK);
}

static void make_lock(ilk_rwlock *lock, const char *name) {
    ilk_rwlock_init(lock);
    check_equal(ilk_set_name(lock, name), ILK_OK);
}

/* Not inlined, so that stacks name them. */
static ilk_mutex accounts, orders;
__attribute__((noinline)) static void transfer(void *unused) {
    ilk_mutex_lock(&accounts);
    ilk_mutex_lock(&orders);
    ilk_mutex_unlock(&orders);
    ilk_mutex_unlock(&accounts);
}
__attribute__((noinline)) static void refund(void *unused) {
    ilk_mutex_lock(&orders);
    ilk_mutex_lock(&accounts);
    ilk_mutex_unlock(&accounts);
    ilk_mutex_unlock(&orders);
}

TEST(opposite_orders_are_reported_once_with_both_stacks) {
    begin_reports();
    make_mutex(&accounts, "accounts");
    make_mutex(&orders, "orders");
    struct thread other;
    thread_start(&other, transfer, NULL);
    thread_join(&other);
    check_equal(reports.count, 0);
    refund(NULL);
    refund(NULL);
    transfer(NULL);
    check_equal(reports.count, 1);
    check_equal(reports.kind, ILK_REPORT_INVERSION);
    char expected[1024];
    snprintf(expected, sizeof expected,
             "lock-order inversion: %s asks for %s while it holds %s; the opposite order was seen before",
             this_thread(), named("mutex", &accounts, "accounts"), named("mutex", &orders, "orders"));
    check_text(reports.sentence, expected);
    const char *first = strstr(reports.text, "  1. thread ");
    const char *second = strstr(reports.text, "  2. thread ");
    check(first != NULL && second != NULL && first < second);
    const char *in_first = strstr(first, "transfer+0x");
    check(in_first != NULL && in_first < second);
    check_contains(second, "refund+0x");
    check_contains(second, "taken at refund+0x");
    check_contains(reports.text, "  Threads that do so at the same time wait for each other for ever.\n");
}

TEST(it_is_reported_before_the_thread_waits) {
    begin_reports();
    static ilk_mutex a, b;
    make_mutex(&a, "a");
    make_mutex(&b, "b");
    lock_both(&a, &b);
    ilk_mutex_lock(&b);
    check_equal(reports.count, 0);
    check_equal(ilk_mutex_lock_until(&a, ilk_deadline_in_ns(0)), ILK_OK); /* a limit: no order */
    check_equal(reports.count, 0);
    ilk_mutex_unlock(&a);
    ilk_mutex_lock(&a);
    check_equal(reports.count, 1);
    ilk_mutex_unlock(&a);
    ilk_mutex_unlock(&b);
}

TEST(orders_of_readers_and_writers_are_reported) {
    begin_reports();
    static ilk_rwlock a, b;
    make_lock(&a, "a");
    make_lock(&b, "b");
    ilk_rwlock_read_lock(&a);
    ilk_rwlock_write_lock(&b);
    ilk_rwlock_write_unlock(&b);
    ilk_rwlock_read_unlock(&a);
    ilk_rwlock_read_lock(&b);
    ilk_rwlock_write_lock(&a);
    check_equal(reports.count, 1);
    char expected[1024];
    snprintf(expected, sizeof expected,
             "lock-order inversion: %s asks for %s while it holds %s; the opposite order was seen before",
             this_thread(), named("rwlock", &a, "a"), named("rwlock", &b, "b"));
    check_text(reports.sentence, expected);
    ilk_rwlock_write_unlock(&a);
    ilk_rwlock_read_lock(&a); /* another share in the same order is no news */
    check_equal(reports.count, 1);
    ilk_rwlock_read_unlock(&a);
    ilk_rwlock_read_unlock(&b);
    ilk_rwlock_destroy(&a);
    ilk_rwlock_destroy(&b);
}

static void read_both(ilk_rwlock *first, ilk_rwlock *second) {
    ilk_rwlock_read_lock(first);
    ilk_rwlock_read_lock(second);
    ilk_rwlock_read_unlock(second);
    ilk_rwlock_read_unlock(first);
}
static void write_once(ilk_rwlock *lock) {
    ilk_rwlock_write_lock(lock);
    ilk_rwlock_write_unlock(lock);
}
static void upgrade_once(ilk_rwlock *lock) {
    ilk_rwlock_upgradable_lock(lock);
    ilk_rwlock_upgrade(lock);
    ilk_rwlock_write_unlock(lock);
}

/* Readers in both orders deadlock once writers, or upgrades that wait for a reader, come in between. */
TEST(orders_of_readers_are_reported_once_both_locks_were_written_or_upgraded) {
    static void (*const changes[])(ilk_rwlock *) = {write_once, upgrade_once};
    static ilk_rwlock a, b;
    for (unsigned index = 0; index < 2; index++) {
        begin_reports();
        make_lock(&a, "a");
        make_lock(&b, "b");
        for (int round = 0; round < 2; round++) {
            read_both(&a, &b);
            read_both(&b, &a);
            check_equal(reports.count, 0);
        }
        changes[index](&a);
        changes[1 - index](&b);
        read_both(&a, &b);
        read_both(&b, &a);
        check_equal(reports.count, 1);
        ilk_rwlock_destroy(&a);
        ilk_rwlock_destroy(&b);
    }
}

TEST(an_upgrade_counts_as_asking_for_the_lock) {
    begin_reports();
    static ilk_rwlock a;
    static ilk_mutex b;
    make_lock(&a, "a");
    make_mutex(&b, "b");
    ilk_rwlock_read_lock(&a);
    ilk_mutex_lock(&b);
    ilk_mutex_unlock(&b);
    ilk_rwlock_read_unlock(&a);
    check_equal(reports.count, 0);
    /* An upgrade waits for the reader above, should it hold a and wait for b. */
    ilk_rwlock_upgradable_lock(&a);
    check(ilk_mutex_try_lock(&b));
    ilk_rwlock_upgrade(&a);
    check_equal(reports.count, 1);
    ilk_mutex_unlock(&b);
    ilk_rwlock_write_unlock(&a);
    ilk_rwlock_destroy(&a);
}

/* Of two threads that do so, one is upgradable at a time: only a reader that waits for b keeps the upgrade waiting. */
TEST(an_upgrade_after_the_mutex_is_no_inversion_but_for_readers) {
    begin_reports();
    static ilk_rwlock a;
    static ilk_mutex b;
    make_lock(&a, "a");
    make_mutex(&b, "b");
    for (int round = 0; round < 2; round++) {
        ilk_rwlock_upgradable_lock(&a);
        ilk_mutex_lock(&b);
        ilk_rwlock_upgrade(&a);
        ilk_mutex_unlock(&b);
        ilk_rwlock_write_unlock(&a);
    }
    ilk_rwlock_write_lock(&a);
    ilk_mutex_lock(&b);
    ilk_mutex_unlock(&b);
    ilk_rwlock_write_unlock(&a);
    check_equal(reports.count, 0);
    ilk_rwlock_read_lock(&a);
    ilk_mutex_lock(&b);
    check_equal(reports.count, 1);
    ilk_mutex_unlock(&b);
    ilk_rwlock_read_unlock(&a);
    ilk_rwlock_destroy(&a);
}

TEST(an_upgrade_behind_the_mutex_is_an_inversion_for_the_reader_that_comes_later) {
    begin_reports();
    static ilk_rwlock a;
    static ilk_mutex b;
    make_lock(&a, "a");
    make_mutex(&b, "b");
    ilk_mutex_lock(&b);
    ilk_rwlock_upgradable_lock(&a);
    ilk_rwlock_upgrade(&a);
    ilk_rwlock_write_unlock(&a);
    ilk_mutex_unlock(&b);
    check_equal(reports.count, 0);
    ilk_rwlock_read_lock(&a);
    ilk_mutex_lock(&b);
    check_equal(reports.count, 1);
    ilk_mutex_unlock(&b);
    ilk_rwlock_read_unlock(&a);
    ilk_rwlock_destroy(&a);
}

static void give_up_for_the_other(void *lock) {
    ilk_rwlock_write_unlock(lock);
}

static void give_up_in_the_report(const ilk_report *report, void *lock) {
    keep_report(report, NULL);
    struct thread other;
    thread_start(&other, give_up_for_the_other, lock);
    thread_join(&other);
}

/* The other thread gives it up as the first is about to wait. */
TEST(a_plain_lock_that_each_thread_gave_up_itself_is_reported_and_ends_no_process) {
    begin_reports();
    static ilk_rwlock a;
    ilk_rwlock_init_plain(&a);
    ilk_rwlock_write_lock(&a);
    ilk_rwlock_write_unlock(&a);
    ilk_rwlock_write_lock(&a);
    ilk_set_report_handler(give_up_in_the_report, &a);
    ilk_rwlock_write_lock(&a);
    check_equal(reports.count, 1);
    ilk_rwlock_write_unlock(&a);
    ilk_rwlock_destroy(&a);
}

TEST(a_downgraded_share_is_given_up_as_read) {
    begin_reports();
    static ilk_rwlock a;
    static ilk_mutex b;
    make_lock(&a, "a");
    make_mutex(&b, "b");
    ilk_rwlock_write_lock(&a);
    ilk_rwlock_downgrade(&a);
    ilk_rwlock_read_unlock(&a);
    ilk_mutex_lock(&b);
    ilk_mutex_unlock(&b);
    ilk_mutex_lock(&b);
    ilk_rwlock_write_lock(&a);
    check_equal(reports.count, 0); /* a was not held with b */
    ilk_rwlock_write_unlock(&a);
    ilk_mutex_unlock(&b);
    ilk_rwlock_destroy(&a);
}

/* Both are held then. */
static void take_both_ways(ilk_semaphore *permit, ilk_mutex *mutex) {
    ilk_semaphore_wait(permit);
    ilk_mutex_lock(mutex);
    ilk_mutex_unlock(mutex);
    ilk_semaphore_signal(permit, 1);
    ilk_mutex_lock(mutex);
    ilk_semaphore_wait(permit);
}

TEST(semaphores_that_serve_as_locks_are_seen) {
    begin_reports();
    static ilk_semaphore permit;
    static ilk_mutex mutex;
    ilk_semaphore_init(&permit, 1);
    check_equal(ilk_set_name(&permit, "permit"), ILK_OK);
    make_mutex(&mutex, "mutex");
    take_both_ways(&permit, &mutex);
    check_equal(reports.count, 1);
    char expected[1024];
    snprintf(expected, sizeof expected,
             "lock-order inversion: %s asks for %s while it holds %s; the opposite order was seen before",
             this_thread(), named("semaphore", &permit, "permit"), named("mutex", &mutex, "mutex"));
    check_text(reports.sentence, expected);
    ilk_semaphore_signal(&permit, 1);
    ilk_mutex_unlock(&mutex);
    ilk_semaphore_destroy(&permit);
}

TEST(a_cycle_of_three_is_reported_at_its_third_order) {
    begin_reports();
    static ilk_mutex a, b, c;
    make_mutex(&a, "a");
    make_mutex(&b, "b");
    make_mutex(&c, "c");
    lock_both(&a, &b);
    lock_both(&b, &c);
    check_equal(reports.count, 0);
    lock_both(&c, &a);
    check_equal(reports.count, 1);
    char expected[1024];
    snprintf(expected, sizeof expected,
             "lock-order inversion: %s asks for %s while it holds %s; 2 orders seen before lead back from "
             "the one to "
             "the other",
             this_thread(), named("mutex", &a, "a"), named("mutex", &c, "c"));
    check_text(reports.sentence, expected);
    check_contains(reports.text, "  3. thread ");
}

TEST(locks_with_inheritance_are_seen) {
    begin_reports();
    static ilk_mutex a, b;
    ilk_mutex_init(&a, true);
    ilk_mutex_init(&b, true);
    lock_both(&a, &b);
    lock_both(&b, &a);
    check_equal(reports.count, 1);
}
/* contract: ilk_diagnose, ilk_diagnosed, ilk_mpmc_observe, ilk_mutex_observe, ilk_rwlock_observe */
/* contract: ilk_semaphore_observe, ilk_spsc_observe */
TEST(one_lock_by_itself_can_be_watched) {
    begin_reports();
    ilk_diagnose(0);
    static ilk_mutex a, b, c;
    make_mutex(&a, "a");
    make_mutex(&b, "b");
    make_mutex(&c, "c");
    check_equal(ilk_mutex_observe(&a, ILK_DIAGNOSE_ORDER), ILK_OK);
    check_equal(ilk_mutex_observe(&b, ILK_DIAGNOSE_ORDER), ILK_OK);
    lock_both(&a, &c);
    lock_both(&c, &a);
    check_equal(reports.count, 0);
    lock_both(&a, &b);
    lock_both(&b, &a);
    check_equal(reports.count, 1);
    check_equal(ilk_mutex_observe(&a, 0), ILK_OK);
    ilk_mutex_lock(&a);
    ilk_mutex_unlock(&a); /* the owner takes the mark away */
    check_equal(ilk_atomic_load(&a.word, memory_order_relaxed), 0);
}
/* contract: ilk_diagnose, ilk_diagnosed, ilk_mpmc_observe, ilk_mutex_observe, ilk_rwlock_observe */
/* contract: ilk_semaphore_observe, ilk_spsc_observe */
TEST(a_lock_that_is_initialised_where_it_is_defined_is_seen) {
    begin_reports();
    static ilk_rwlock lock = ILK_RWLOCK_INIT;
    static ilk_mutex mutex = ILK_MUTEX_INIT;
    static ilk_semaphore permit = ILK_SEMAPHORE_INIT(1);
    ilk_rwlock_write_lock(&lock);
    ilk_mutex_lock(&mutex);
    ilk_semaphore_wait(&permit);
    ilk_semaphore_signal(&permit, 1);
    ilk_mutex_unlock(&mutex);
    ilk_rwlock_write_unlock(&lock);
    ilk_mutex_lock(&mutex);
    ilk_rwlock_read_lock(&lock);
    check_equal(reports.count, 1);
    ilk_rwlock_read_unlock(&lock);
    ilk_mutex_unlock(&mutex);
    ilk_semaphore_wait(&permit);
    ilk_mutex_lock(&mutex);
    check_equal(reports.count, 2);
    ilk_mutex_unlock(&mutex);
    ilk_semaphore_signal(&permit, 1);
}

/* contract: ilk_semaphore_observe */
TEST(a_semaphore_that_is_watched_by_itself_serves_as_a_lock) {
    begin_reports();
    ilk_diagnose(0);
    static ilk_semaphore permit;
    static ilk_mutex mutex;
    ilk_semaphore_init(&permit, 1);
    make_mutex(&mutex, "mutex");
    check_equal(ilk_semaphore_observe(&permit, ILK_DIAGNOSE_ORDER), ILK_OK);
    check_equal(ilk_mutex_observe(&mutex, ILK_DIAGNOSE_ORDER), ILK_OK);
    take_both_ways(&permit, &mutex);
    check_equal(reports.count, 1);
    ilk_semaphore_signal(&permit, 1);
    ilk_mutex_unlock(&mutex);
    ilk_semaphore_destroy(&permit);
}

/* ---- Waiting for oneself ---- */

static ilk_rwlock own;

static void begin_own(void) {
    ilk_set_report_handler(NULL, NULL);
    ilk_diagnose(ILK_DIAGNOSE_ORDER);
    ilk_rwlock_init(&own);
    check_equal(ilk_set_name(&own, "own"), ILK_OK);
}

/* A thread that makes these calls one after the other would wait for itself in the last. */
struct own_wait {
    void (*calls[3])(ilk_rwlock *lock);
    const char *held, *asked;
};

static void make_calls(void *context) {
    const struct own_wait *wait = context;
    begin_own();
    for (unsigned index = 0; index < 3 && wait->calls[index] != NULL; index++) {
        wait->calls[index](&own);
    }
}

/* The child has this process's name, and an id of its own. */
static void expect_self_wait(struct own_wait wait) {
    char output[8192];
    const int status = child_run(make_calls, &wait, output, sizeof output);
    char expected[256];
    snprintf(expected, sizeof expected, ") would wait for itself: it holds %s %s and asks for it %s\n",
             named("rwlock", &own, "own"), wait.held, wait.asked);
    check_contains(output, expected);
    check(strncmp(output, "interlock: thread \"", 19) == 0);
    check_contains(output, "  taken at ");
    check_contains(output, "; asked for again at:\n");
    check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

static void give_up_what_is_not_known_and_wait(void *unused) {
    enum { HELD_MOST = 32 };
    static ilk_mutex others[HELD_MOST];
    begin_own();
    for (unsigned index = 0; index < HELD_MOST; index++) {
        ilk_mutex_init(&others[index], false);
        ilk_mutex_lock(&others[index]);
    }
    ilk_rwlock_write_lock(&own);
    ilk_rwlock_write_unlock(&own);
    ilk_mutex_unlock(&others[0]);
    ilk_rwlock_write_lock(&own);
    ilk_rwlock_write_lock(&own);
}

/* No other thread may give it up: that the thread was not known to hold it does not say so. */
TEST(a_lock_beyond_the_first_32_ends_the_process_when_it_is_known) {
    char output[8192];
    const int status = child_run(give_up_what_is_not_known_and_wait, NULL, output, sizeof output);
    check_contains(output, ") would wait for itself: it holds ");
    check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
}

TEST(a_thread_that_would_wait_for_itself_is_reported_and_ends) {
    static const struct own_wait waits[] = {
        {{ilk_rwlock_write_lock, ilk_rwlock_write_lock}, "for writing", "for writing"},
        {{ilk_rwlock_write_lock, ilk_rwlock_read_lock}, "for writing", "for reading"},
        {{ilk_rwlock_read_lock, ilk_rwlock_write_lock}, "for reading", "for writing"},
        {{ilk_rwlock_upgradable_lock, ilk_rwlock_upgradable_lock}, "upgradable", "upgradable"},
        {{ilk_rwlock_upgradable_lock, ilk_rwlock_write_lock}, "upgradable", "for writing"},
        {{ilk_rwlock_read_lock, ilk_rwlock_upgradable_lock, ilk_rwlock_upgrade},
         "for reading",
         "for writing"},
        {{ilk_rwlock_read_lock, ilk_rwlock_upgradable_lock, ilk_rwlock_upgradable_lock},
         "upgradable",
         "upgradable"},
    };
    for (unsigned index = 0; index < sizeof waits / sizeof *waits; index++) {
        expect_self_wait(waits[index]);
    }
}

static void lock_twice(void *unused) {
    static ilk_mutex mutex;
    begin_own();
    ilk_mutex_init(&mutex, false);
    ilk_mutex_lock(&mutex);
    ilk_mutex_lock(&mutex);
}

/* Which tells more. */
TEST(a_mutex_locked_again_by_its_owner_is_misuse_though_it_is_watched) {
    expect_misuse(lock_twice, NULL, "ilk_mutex_lock", "locked again by its owner");
}

static void write_own(void *unused) {
    ilk_rwlock_write_lock(&own);
    ilk_rwlock_write_unlock(&own);
}

/* The writer waits for our first read, and we behind it, until the limit. */
TEST(reading_again_with_a_limit_is_no_report) {
    begin_reports();
    ilk_rwlock_init(&own);
    check_equal(ilk_set_name(&own, "own"), ILK_OK);
    ilk_rwlock_read_lock(&own);
    struct thread writer;
    thread_start(&writer, write_own, NULL);
    thread_await_sleep(&writer);
    check_equal(ilk_rwlock_read_lock_until(&own, ilk_deadline_in_ns(0)), ILK_TIMEDOUT);
    check_equal(reports.count, 0); /* its limit ends it */
    ilk_rwlock_read_unlock(&own);
    thread_join(&writer);
}

static void write_own_at_most_a_moment(void *unused) {
    if (ilk_rwlock_write_lock_until(&own, ilk_deadline_in_ns(MILLISECONDS(100))) == ILK_OK) {
        ilk_rwlock_write_unlock(&own);
    }
}

/* The writer gives up, and we have the lock, without a limit of our own. */
TEST(reading_again_is_no_report_where_orders_are_not_watched) {
    skip_if(IS_CHECKED, "in a checked build the wait is misuse");
    begin_reports();
    ilk_diagnose(ILK_DIAGNOSE_CONTENTION);
    ilk_rwlock_init(&own);
    ilk_rwlock_read_lock(&own);
    struct thread writer;
    thread_start(&writer, write_own_at_most_a_moment, NULL);
    yield_while(!thread_sleeps(&writer) && !thread_is_done(&writer));
    ilk_rwlock_read_lock(&own);
    check_equal(reports.count, 0);
    ilk_rwlock_read_unlock(&own);
    ilk_rwlock_read_unlock(&own);
    thread_join(&writer);
}

static void share_twice(void *context) {
    const struct own_wait *wait = context;
    begin_own();
    wait->calls[0](&own);
    static struct thread writer;
    thread_start(&writer, write_own, NULL);
    thread_await_sleep(&writer);
    alarm(1); /* it hangs, as reported */
    wait->calls[1](&own);
}

TEST(sharing_again_for_ever_is_reported_before_it_hangs) {
    static struct own_wait waits[] = {
        {{ilk_rwlock_read_lock, ilk_rwlock_read_lock}, "for reading", "for reading again"},
        {{ilk_rwlock_read_lock, ilk_rwlock_upgradable_lock}, "for reading", "upgradable"},
        {{ilk_rwlock_upgradable_lock, ilk_rwlock_read_lock}, "upgradable", "for reading again"},
    };
    for (unsigned index = 0; index < sizeof waits / sizeof *waits; index++) {
        char output[8192];
        const int status = child_run(share_twice, &waits[index], output, sizeof output);
        char expected[256];
        snprintf(
            expected, sizeof expected,
            ") would wait for itself: it holds %s %s and asks for it %s, behind a writer that waits for it\n",
            named("rwlock", &own, "own"), waits[index].held, waits[index].asked);
        check_contains(output, expected);
        /* The writer may give up. A checked build reports the wait itself as misuse. */
        check(WIFSIGNALED(status) && WTERMSIG(status) == (IS_CHECKED ? SIGABRT : SIGALRM));
    }
}

static void take_two_permits(void *unused) {
    static ilk_semaphore permit;
    ilk_set_report_abort(true);
    ilk_diagnose(ILK_DIAGNOSE_ORDER);
    ilk_semaphore_init(&permit, 1);
    for (int round = 0; round < 2; round++) {
        ilk_semaphore_wait(&permit);
        ilk_semaphore_signal(&permit, 1);
    }
    ilk_semaphore_wait(&permit);
    ilk_semaphore_wait(&permit);
}
/* contract: ilk_set_report_abort */
TEST(a_wait_for_a_permit_that_the_thread_holds_ends_the_process_where_that_is_asked_for) {
    char output[8192];
    const int status = child_run(take_two_permits, NULL, output, sizeof output);
    check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    check_contains(output, ") would wait for itself: it holds semaphore ");
}

/* ---- What follows ---- */

static void abort_at_inversion(void *unused) {
    ilk_set_report_handler(NULL, NULL);
    ilk_set_report_abort(true);
    ilk_diagnose(ILK_DIAGNOSE_ORDER);
    make_mutex(&accounts, "accounts");
    make_mutex(&orders, "orders");
    lock_both(&accounts, &orders);
    lock_both(&orders, &accounts);
}
/* contract: ilk_set_report_abort, ilk_set_report_handler */
TEST(an_inversion_ends_the_process_where_that_is_asked_for) {
    char output[8192];
    const int status = child_run(abort_at_inversion, NULL, output, sizeof output);
    check(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    check_contains(output, "interlock: lock-order inversion: thread ");
}

static ilk_mutex of_handler;
static void lock_in_handler(const ilk_report *report, void *context) {
    unsigned *count = context;
    ilk_mutex_lock(&of_handler);
    *count += 1;
    ilk_mutex_unlock(&of_handler);
}
/* contract: ilk_set_report_abort, ilk_set_report_handler */
TEST(a_handler_may_use_the_library) {
    unsigned count = 0;
    begin_reports();
    ilk_set_report_handler(lock_in_handler, &count);
    static ilk_mutex a, b;
    make_mutex(&a, "a");
    make_mutex(&b, "b");
    make_mutex(&of_handler, "of handler");
    lock_both(&a, &b);
    lock_both(&b, &a);
    check_equal(count, 1);
}
