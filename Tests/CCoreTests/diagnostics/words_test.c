/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports word for word: each test has all lines of one (words.h says which words vary).
 *
 * What is reported does not end: each body runs in a child process.
 */
/* contract: diagnostics.h, docs/diagnosis.md */
#include "diagnostics/misuse.h"
#include "diagnostics/words.h"
#include <interlock/barrier.h>
#include <interlock/inline/diagnose.h>
#include <interlock/latch.h>
#include <interlock/mutex.h>
#include <interlock/pool.h>
#include <interlock/rwlock.h>
#include <interlock/semaphore.h>
#include <interlock/spsc.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>

/* Not inlined, so that stacks name them. */
#define FRAME __attribute__((noinline)) static

const char *const kept_frames[] = {"teller",   "clerk",  "lookup", "insert", "customer", "starter",
                                   "consumer", "refill", "pay",    "refund", "auditor",  NULL};

static void begin_hang(void) {
    ilk_set_report_handler(NULL, NULL);
    ilk_diagnose(ILK_DIAGNOSE_HANG);
}

/* Without a word of a sanitizer. */
static void end(void) {
    (void)kill(getpid(), SIGKILL);
}

static void report_and_end(void) {
    (void)ilk_write_diagnosis(STDERR_FILENO, ILK_AS_TEXT);
    end();
}

static void be_called(const char *name) {
    check_equal(pthread_setname_np(pthread_self(), name), 0);
}

static void name_object(const void *object, const char *name) {
    check_equal(ilk_set_name(object, name), ILK_OK);
}

#define HEADING                                                                                              \
    "interlock: the threads of process ID\n"                                                                 \
    "thread \"words_test\" (ID)\n"
#define FRAME_OF(number, function) "      " number "  " function "+ADDRESS (words_test+ADDRESS)\n"

/* ---- Two mutexes ---- */

static ilk_mutex accounts, orders;
static struct stage crossing = STAGE_INIT;

FRAME void teller(void *unused) {
    be_called("teller");
    ilk_mutex_lock(&accounts);
    stage_advance(&crossing);
    stage_await(&crossing, 2);
    ilk_mutex_lock(&orders);
    stage_advance(&crossing);
}
FRAME void clerk(void *unused) {
    be_called("clerk");
    ilk_mutex_lock(&orders);
    stage_advance(&crossing);
    stage_await(&crossing, 2);
    ilk_mutex_lock(&accounts);
    stage_advance(&crossing);
}

static void make_mutexes(void) {
    ilk_mutex_init(&accounts, false);
    ilk_mutex_init(&orders, false);
    name_object(&accounts, "accounts");
    name_object(&orders, "orders");
}

static bool waits(const struct thread *thread) {
    return thread_sleeps(thread);
}

static struct thread one, other;

/* Relaxed: the words alone say so. */
static bool both_wait(void) {
    return ilk_atomic_load(&accounts.word, memory_order_relaxed) >> 31 != 0 &&
           ilk_atomic_load(&orders.word, memory_order_relaxed) >> 31 != 0 && waits(&one) && waits(&other);
}

static void cross(void *unused) {
    begin_hang();
    make_mutexes();
    thread_start(&one, teller, NULL);
    stage_await(&crossing, 1);
    thread_start(&other, clerk, NULL);
    stage_await(&crossing, 2);
    yield_while(!both_wait());
    report_and_end();
}
#define CYCLE                                                                                                \
    "interlock: the threads of process ID\n"                                                                 \
    "cycle 1: thread \"teller\" (ID) waits for mutex ADDRESS \"orders\", held by thread \"clerk\" (ID), "    \
    "which waits for mutex ADDRESS \"accounts\", held by the first, thread \"teller\" (ID)\n"                \
    "thread \"words_test\" (ID)\n"
#define CROSSED                                                                                              \
    "thread \"teller\" (ID), in cycle 1\n"                                                                   \
    "  holds mutex ADDRESS \"accounts\" (write) for TIME, taken at teller+ADDRESS (words_test+ADDRESS)\n"    \
    "  waits for mutex ADDRESS \"orders\", for TIME\n" FRAME_OF(                                             \
        "0", "teller") "thread \"clerk\" (ID), in cycle 1\n"                                                 \
                       "  holds mutex ADDRESS \"orders\" (write) for TIME, taken at clerk+ADDRESS "          \
                       "(words_test+ADDRESS)\n"                                                              \
                       "  waits for mutex ADDRESS \"accounts\", for TIME\n" FRAME_OF("0", "clerk")

/* contract: ilk_write_diagnosis */
TEST(two_threads_crossed_over_two_mutexes) {
    expect_words(cross, SIGKILL, CYCLE CROSSED);
}

static ILK_ATOMIC(bool) audits; /* Relaxed: nothing else is read after it. */

FRAME void auditor(void *unused) {
    be_called("auditor");
    stage_await(&crossing, 2);
    ilk_atomic_store(&audits, true, memory_order_relaxed);
    ilk_mutex_lock(&accounts);
    stage_advance(&crossing);
}

/* The first to be searched for a cycle. */
static void cross_beside_a_third(void *unused) {
    static struct thread third;
    begin_hang();
    make_mutexes();
    thread_start(&third, auditor, NULL);
    thread_start(&one, teller, NULL);
    stage_await(&crossing, 1);
    thread_start(&other, clerk, NULL);
    stage_await(&crossing, 2);
    yield_while(!ilk_atomic_load(&audits, memory_order_relaxed) || !waits(&third) || !both_wait());
    report_and_end();
}
/* contract: ilk_write_diagnosis */
TEST(a_thread_that_waits_for_those_of_a_cycle_is_in_none) {
    expect_words(cross_beside_a_third, SIGKILL,
                 CYCLE "thread \"auditor\" (ID)\n"
                       "  waits for mutex ADDRESS \"accounts\", for TIME\n" FRAME_OF("0", "auditor") CROSSED);
}

/* ---- Accounts ---- */

/* Of `accounts` a hold has ended, of `orders` none. */
FRAME void lookup_and_keep(void) {
    ilk_mutex_lock(&orders);
    ilk_mutex_lock(&accounts);
    ilk_mutex_unlock(&accounts);
}

static void hold_one_of_two(void *unused) {
    begin_hang();
    make_mutexes();
    lookup_and_keep();
    report_and_end();
}

TEST(an_object_of_which_no_hold_has_ended_has_no_account) {
    expect_words(hold_one_of_two, SIGKILL,
                 HEADING
                 "  holds mutex ADDRESS \"orders\" (write) for TIME, taken at lookup_and_keep+ADDRESS "
                 "(words_test+ADDRESS)\n"
                 "objects, those waited for longest first\n"
                 "  mutex ADDRESS \"accounts\": 1 taken, 0 waited TIME, the longest TIME; held TIME, the "
                 "longest TIME\n");
}

/* ---- A lock of one's own ---- */

static ilk_rwlock cache;

FRAME void insert(void) {
    ilk_rwlock_write_lock(&cache);
    ilk_rwlock_write_unlock(&cache);
}
FRAME void lookup(void *unused) {
    ilk_rwlock_read_lock(&cache);
    insert();
    ilk_rwlock_read_unlock(&cache);
}

static void look_up_with_orders(void *unused) {
    begin_hang();
    ilk_diagnose(ILK_DIAGNOSE_ORDER);
    ilk_rwlock_init(&cache);
    name_object(&cache, "cache");
    lookup(unused);
}

TEST(a_reader_that_writes_waits_for_itself) {
    expect_words(look_up_with_orders, SIGABRT,
                 "interlock: thread \"words_test\" (ID) would wait for itself: it holds rwlock ADDRESS "
                 "\"cache\" for reading and asks for it for writing\n"
                 "  taken at lookup+ADDRESS (words_test+ADDRESS); asked for again at:\n" FRAME_OF(
                     "0", "insert") FRAME_OF("1", "lookup"));
}

static void look_up_and_hang(void *unused) {
    begin_hang();
    ilk_rwlock_init(&cache);
    name_object(&cache, "cache");
    static struct thread reader;
    thread_start(&reader, lookup, NULL);
    thread_await_sleep(&reader);
    report_and_end();
}
/* contract: ilk_write_diagnosis */
TEST(a_reader_that_hangs_in_its_own_write_is_a_cycle) {
#ifdef ILK_CHECKED
    skip_because("in a checked build the wait is misuse");
#endif
    expect_words(
        look_up_and_hang, SIGKILL,
        "interlock: the threads of process ID\n"
        "cycle 1: thread \"words_test\" (ID) waits for rwlock ADDRESS \"cache\", held by the first, thread "
        "\"words_test\" (ID)\n"
        "thread \"words_test\" (ID)\n"
        "thread \"words_test\" (ID), in cycle 1\n"
        "  holds rwlock ADDRESS \"cache\" (read) for TIME, taken at lookup+ADDRESS (words_test+ADDRESS)\n"
        "  waits for rwlock ADDRESS \"cache\" (write), for TIME\n" FRAME_OF("0", "insert")
            FRAME_OF("1", "lookup"));
}

/* ---- Waits without a holder ---- */

static ilk_semaphore permits;

FRAME void customer(void *unused) {
    be_called("customer");
    if (ilk_semaphore_wait_until(&permits, ilk_deadline_in_ns(MILLISECONDS(3600000))) != ILK_OK) {
        abort();
    }
}

static void wait_for_permit(void *unused) {
    begin_hang();
    ilk_semaphore_init(&permits, 0);
    name_object(&permits, "permits");
    static struct thread thread;
    thread_start(&thread, customer, NULL);
    thread_await_sleep(&thread);
    report_and_end();
}
/* contract: ilk_write_diagnosis */
TEST(a_wait_for_a_semaphore_with_its_limit) {
    expect_words(wait_for_permit, SIGKILL,
                 HEADING
                 "thread \"customer\" (ID)\n"
                 "  waits for semaphore ADDRESS \"permits\", for TIME; its limit is in TIME\n" FRAME_OF(
                     "0", "customer"));
}

static ilk_latch latch;
static ilk_barrier barrier;

FRAME void starter(void *at_barrier) {
    be_called("starter");
    if (at_barrier != NULL) {
        (void)ilk_barrier_wait(&barrier);
    } else if (ilk_latch_wait_until(&latch, ILK_FOREVER) != ILK_OK) {
        abort();
    }
    stage_advance(&crossing);
}

static void wait_at_start(void *unused) {
    begin_hang();
    ilk_latch_init(&latch, 1);
    ilk_barrier_init(&barrier, 2);
    name_object(&latch, "start");
    name_object(&barrier, "rounds");
    static struct thread at_latch, at_barrier;
    thread_start(&at_latch, starter, NULL);
    thread_await_sleep(&at_latch);
    thread_start(&at_barrier, starter, &barrier);
    thread_await_sleep(&at_barrier);
    report_and_end();
}
/* contract: ilk_write_diagnosis */
TEST(waits_at_a_latch_and_at_a_barrier) {
    expect_words(wait_at_start, SIGKILL,
                 HEADING "thread \"starter\" (ID)\n"
                         "  waits for latch ADDRESS \"start\", for TIME\n" FRAME_OF(
                             "0", "starter") "thread \"starter\" (ID)\n"
                                             "  waits for barrier ADDRESS \"rounds\", for TIME\n" FRAME_OF(
                                                 "0", "starter"));
}

static ilk_spsc *letters;

FRAME void consumer(void *unused) {
    be_called("consumer");
    int letter;
    if (ilk_spsc_pop_until(letters, &letter, sizeof letter, ILK_FOREVER) != ILK_CLOSED) {
        abort();
    }
}

static void wait_for_letter(void *unused) {
    begin_hang();
    check_equal(ilk_spsc_create(&letters, 4, sizeof(int)), ILK_OK);
    name_object(letters, "letters");
    static struct thread thread;
    thread_start(&thread, consumer, NULL);
    thread_await_sleep(&thread);
    report_and_end();
}
/* contract: ilk_write_diagnosis */
TEST(a_wait_in_a_ring) {
    expect_words(wait_for_letter, SIGKILL,
                 HEADING "thread \"consumer\" (ID)\n"
                         "  waits for spsc ADDRESS \"letters\", for TIME\n" FRAME_OF("0", "consumer"));
}

/* ---- A pool's worker ---- */

FRAME void refill(void *job) {
    ilk__facade_work_begin(job, "job \"refill\"");
    ilk_mutex_lock(&orders);
    ilk_mutex_lock(&accounts);
    ilk_mutex_unlock(&accounts);
    ilk_mutex_unlock(&orders);
    ilk__facade_work_end();
}

/* Whether the worker waits for the mutex. */
static bool is_waited_for(ilk_mutex *mutex) {
    return ilk_atomic_load(&mutex->word, memory_order_relaxed) >> 31 != 0;
}

static void wait_in_job(void *unused) {
    begin_hang();
    make_mutexes();
    const ilk_pool_options options = {.name = "store", .threads = 1};
    ilk_pool *pool;
    check_equal(ilk_pool_create(&pool, &options), ILK_OK);
    ilk_mutex_lock(&accounts);
    static ilk_job job;
    ilk_job_init(&job, refill, &job);
    check(ilk_pool_submit(pool, &job));
    yield_while(!is_waited_for(&accounts));
    report_and_end();
}
/* contract: ilk_write_diagnosis */
TEST(a_pools_worker_and_its_job) {
    expect_words(wait_in_job, SIGKILL,
                 HEADING "  holds mutex ADDRESS \"accounts\" (write) for TIME, taken at wait_in_job+ADDRESS "
                         "(words_test+ADDRESS)\n"
                         "thread \"store-0\" (ID)\n"
                         "  works on a job of pool \"store\"\n"
                         "  works on job \"refill\"\n"
                         "  holds mutex ADDRESS \"orders\" (write) for TIME, taken at refill+ADDRESS "
                         "(words_test+ADDRESS)\n"
                         "  waits for mutex ADDRESS \"accounts\", for TIME\n" FRAME_OF("0", "refill"));
}

/* ---- Orders ---- */

/* As an inline function of the headers, in a build without optimisation. */
FRAME void ilk__called_lock(ilk_mutex *mutex) {
    ilk_mutex_lock(mutex);
    __asm__ __volatile__(""); /* no tail call */
}

static void (*lock_by)(ilk_mutex *mutex) = ilk_mutex_lock;

FRAME void pay(void *unused) {
    lock_by(&accounts);
    lock_by(&orders);
    ilk_mutex_unlock(&orders);
    ilk_mutex_unlock(&accounts);
}
FRAME void refund(void *unused) {
    lock_by(&orders);
    lock_by(&accounts);
    ilk_mutex_unlock(&accounts);
    ilk_mutex_unlock(&orders);
}

static void be_buyer(void *unused) {
    be_called("buyer");
    pay(unused);
}

static void take_in_both_orders(void *unused) {
    ilk_set_report_handler(NULL, NULL);
    ilk_diagnose(ILK_DIAGNOSE_ORDER);
    make_mutexes();
    struct thread buyer;
    thread_start(&buyer, be_buyer, NULL);
    thread_join(&buyer);
    refund(NULL);
    end();
}

static void expect_opposite_orders(void) {
    expect_words(
        take_in_both_orders, SIGKILL,
        "interlock: lock-order inversion: thread \"words_test\" (ID) asks for mutex ADDRESS \"accounts\" "
        "while "
        "it holds mutex ADDRESS \"orders\"; the opposite order was seen before\n"
        "  1. thread \"buyer\" (ID) held mutex ADDRESS \"accounts\", taken at pay+ADDRESS "
        "(words_test+ADDRESS), and asked for mutex ADDRESS \"orders\":\n" FRAME_OF(
            "0",
            "pay") "  2. thread \"words_test\" (ID) holds mutex ADDRESS \"orders\", taken at refund+ADDRESS "
                   "(words_test+ADDRESS), and asks for mutex ADDRESS \"accounts\":\n" FRAME_OF(
                       "0",
                       "refund") "  Threads that do so at the same time wait for each other for ever.\n");
}

TEST(two_opposite_orders) {
    expect_opposite_orders();
}

TEST(the_place_of_a_call_is_outside_the_library) {
#if !defined(__GLIBC__) && !defined(__APPLE__)
    skip_because("without the stacks of glibc or Apple a stack is one frame");
#endif
    lock_by = ilk__called_lock;
    expect_opposite_orders();
}

static void note_at_length(void *text) {
    ilk__note("ilk_call", NULL, "%s", (const char *)text);
}

/* 511 characters, and the end of the string. */
TEST(a_long_sentence_is_cut_and_its_line_ended) {
    static char text[1024], output[2048];
    memset(text, 'x', sizeof text - 1);
    const int status = child_run(note_at_length, text, output, sizeof output);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    check_equal(strlen(output), 511);
    check_equal(output[510], '\n');
    check_equal(output[509], 'x');
}
