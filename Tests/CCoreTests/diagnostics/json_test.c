/* SPDX-License-Identifier: Apache-2.0
 *
 * A report as JSON, value for value. The clock is the test's, and rings are sampled only by it: all figures are exact.
 * What varies has a fixed word: ADDRESS, and MAIN, TELLER and CLERK for the numbers of threads. Of a stack its first
 * frame stays.
 */
/* contract: diagnostics.h, docs/diagnosis.md */
#include "diagnostics/observe.h"
#include "diagnostics/reports.h"
#include "diagnostics/rings.h"
#include <ctype.h>
#include <interlock/condition.h>
#include <interlock/inline/diagnose.h>
#include <interlock/mutex.h>
#include <interlock/rwlock.h>
#include <signal.h>
#include <stdlib.h>

/* Not inlined, so that stacks name them. */
#define FRAME __attribute__((noinline)) static

/* Relaxed: a number by itself; stages order the threads. */
static ILK_ATOMIC(uint64_t) clock_ns = 1000000;
uint64_t __wrap_ilk__clock_now_ns(void);
uint64_t __wrap_ilk__clock_now_ns(void) {
    return ilk_atomic_load(&clock_ns, memory_order_relaxed);
}
static void pass(uint64_t time_ns) {
    ilk_atomic_fetch_add(&clock_ns, time_ns, memory_order_relaxed);
}

void __wrap_ilk__watchdog_sample(void);
void __wrap_ilk__watchdog_sample(void) {}

/* ---- Words ---- */

enum { MAIN, TELLER, CLERK, THREADS };
static const char *const words[THREADS] = {"MAIN", "TELLER", "CLERK"};
static unsigned long ids[THREADS];

static void be(unsigned thread) {
    ids[thread] = ilk__record_thread(ilk__record_mine());
}

/* The word for the number at `text`, or NULL. */
static const char *word_for(const char *text) {
    const unsigned long number = strtoul(text, NULL, 10);
    for (unsigned thread = 0; thread < THREADS; thread++) {
        if (number == ids[thread]) {
            return words[thread];
        }
    }
    return NULL;
}

static bool begins(const char *text, const char *part) {
    return strncmp(text, part, strlen(part)) == 0;
}

/* A sanitizer has threads of its own, among ours. */
static bool is_foreign_thread(const char *line) {
    static const char id[] = "  {\"id\": ";
    const char *number = line + sizeof id - 1;
    return begins(line, id) && begins(number + strspn(number, "0123456789"), ", \"name\"") &&
           word_for(number) == NULL;
}

static void put_words(const char *text, FILE *file) {
    bool is_in_frames = false;
    while (*text != '\0') {
        const size_t digits = strspn(text, "0123456789");
        const char *word = digits > 0 ? word_for(text) : NULL;
        if (begins(text, "0x")) {
            text += 2 + strspn(text + 2, "0123456789abcdef");
            fputs("ADDRESS", file);
        } else if (begins(text, "+0x")) { /* of a frame */
            text = strchr(text, '"');
            fputc(*text++, file);
            text = is_in_frames ? strchr(text, ']') : text;
            is_in_frames = false;
        } else if (word != NULL) {
            fputs(word, file);
            text += digits;
        } else if (digits > 0) {
            text += fwrite(text, 1, digits, file);
        } else {
            is_in_frames |= begins(text, "stack\": [\"") || begins(text, "frames\": [\"");
            fputc(*text, file);
            while (*text++ == '\n' && is_foreign_thread(text)) {
                text = strchr(text, '\n');
            }
        }
    }
}

/* All but the version. */
static void report_and_end(void) {
    put_words(strstr(diagnosis(ILK_AS_JSON), " \"process\""), stderr);
    (void)kill(getpid(), SIGKILL); /* threads wait for ever */
}

/* In parts: a string has 4095 characters at most. */
static void expect_json(void (*body)(void *unused), const char *threads, const char *objects,
                        const char *rest) {
    static char output[64 * 1024], expected[64 * 1024];
    (void)child_run(body, NULL, output, sizeof output);
    snprintf(expected, sizeof expected, "%s%s%s", threads, objects, rest);
    check_text(output, expected);
}

static void begin(void) {
    be(MAIN);
    ilk_set_report_handler(keep_report, NULL);
    ilk_diagnose(ILK_DIAGNOSE_ALL);
}

static void name_object(const void *object, const char *name) {
    check_equal(ilk_set_name(object, name), ILK_OK);
}

/* ---- Everything ---- */

static ilk_mutex accounts, orders, till, gone, safe;
static ilk_rwlock prices;
static char letters, job;
static struct stage stage = STAGE_INIT;

FRAME void teller(void *unused) {
    check_equal(pthread_setname_np(pthread_self(), "teller"), 0);
    be(TELLER);
    ilk__facade_work_begin(&job, "job \"refill\"");
    ilk__facade_work_begin(&letters, "letters");
    ilk_mutex_lock(&accounts);
    stage_reach(&stage, 1);
    stage_await(&stage, 2);
    ilk_mutex_lock(&orders);
    stage_advance(&stage);
}
FRAME void clerk(void *unused) {
    check_equal(pthread_setname_np(pthread_self(), "clerk"), 0);
    be(CLERK);
    ilk_mutex_lock(&orders);
    stage_reach(&stage, 2);
    stage_await(&stage, 3);
    ilk_mutex_lock(&accounts);
    stage_advance(&stage);
}

static void await_waiter(ilk_mutex *mutex) {
    yield_while(ilk_atomic_load(&mutex->word, memory_order_relaxed) >> 31 == 0);
}

FRAME void price(void) {
    ilk_mutex_lock(&accounts);
    ilk_rwlock_write_lock(&prices);
    pass(6000000);
    ilk_rwlock_write_unlock(&prices);
    ilk_mutex_unlock(&accounts);
    pass(0); /* no tail call */
}
FRAME void compare(void) {
    ilk_rwlock_read_lock(&prices);
    ilk_mutex_lock(&accounts);
    pass(7000000);
    ilk_mutex_unlock(&accounts);
    ilk_rwlock_read_unlock(&prices);
    pass(0); /* no tail call */
}

static size_t depth_now;
static size_t depth_of(const void *ring) {
    return depth_now;
}

static void sample(size_t depth) {
    depth_now = depth;
    pass(5000000);
    (void)ilk__rings_sample(__wrap_ilk__clock_now_ns());
}

/* Waits of no length. */
static void wait_in_ring(bool pushes) {
    struct ilk__idle_watch watch = ILK__IDLE_WATCH_NONE;
    ilk__watch_ring_begin(&watch, &letters, ILK_OBJECT_SPSC, pushes, ILK_FOREVER, NULL);
    pass(pushes ? 8000000 : 9000000);
    ilk__watch_idle_end(&watch);
}

FRAME void open_safe(void) {
    ilk_mutex_lock(&safe);
    pass(15000000);
}
FRAME void keep_open(void) {
    ilk_mutex_lock(&gone);
    ilk__object_forget(&gone);
    open_safe();
    ilk_rwlock_read_lock(&prices);
    ilk_mutex_lock(&till);
    ilk_mutex_unlock(&safe); /* what was taken after it stays */
    pass(10000000);
}

static void make_objects(void) {
    ilk_mutex_init(&accounts, false);
    ilk_mutex_init(&orders, false);
    ilk_mutex_init(&gone, false);
    ilk_mutex_init(&till, false);
    ilk_mutex_init(&safe, false);
    ilk_rwlock_init(&prices);
    ilk__ring_begin(&letters, ILK_OBJECT_SPSC, 3, depth_of);
    name_object(&accounts, "accounts");
    name_object(&orders, "<orders> \x7F");
    name_object(&letters, "letters");
}

static void cross(void) {
    static struct thread first, second;
    thread_start(&first, teller, NULL);
    stage_await(&stage, 1);
    pass(11000000);
    thread_start(&second, clerk, NULL);
    await_waiter(&orders);
    pass(12000000);
    stage_reach(&stage, 3);
    await_waiter(&accounts);
}

static void use_everything(void *unused) {
    static ilk__facade_watch watch;
    begin();
    make_objects();
    price();
    compare();
    wait_in_ring(true);
    wait_in_ring(false);
    wait_in_ring(false);
    sample(0);
    sample(1);
    sample(3);
    sample(3);
    sample(2);
    keep_open();
    cross();
    ilk__facade_wait_begin(&watch, &job, "count of the till", __wrap_ilk__clock_now_ns() + 14000000);
    pass(13000000);
    report_and_end();
}
/* contract: ilk_write_diagnosis */
TEST(every_key_has_its_value) {
    expect_json(
        use_everything,
        " \"process\": {\"id\": MAIN, \"name\": \"json_test\"},\n"
        " \"watches\": [\"order\", \"contention\", \"hang\"],\n"
        " \"threads\": [\n"
        "  {\"id\": MAIN, \"name\": \"json_test\", \"holds\": [{\"object\": 6, \"mode\": \"read\", "
        "\"for_ns\": 46000000, \"site\": \"keep_open\"}, {\"object\": 4, \"mode\": \"write\", \"for_ns\": "
        "46000000, \"site\": \"keep_open\"}], \"waits\": {\"object\": 0, \"kind\": \"work\", \"label\": "
        "\"count of the till\", \"mode\": \"read\", \"for_ns\": 13000000, \"limit_ns\": 1000000, \"stack\": "
        "[\"use_everything\"]}, \"works_on\": [], \"cycle\": null},\n"
        "  {\"id\": TELLER, \"name\": \"teller\", \"holds\": [{\"object\": 1, \"mode\": \"write\", "
        "\"for_ns\": 36000000, \"site\": \"teller\"}], \"waits\": {\"object\": 2, \"kind\": \"mutex\", "
        "\"label\": \"\", \"mode\": \"write\", \"for_ns\": 25000000, \"limit_ns\": null, \"stack\": "
        "[\"teller\"]}, \"works_on\": [\"job \\\"refill\\\"\", \"letters\"], \"cycle\": 0},\n"
        "  {\"id\": CLERK, \"name\": \"clerk\", \"holds\": [{\"object\": 2, \"mode\": \"write\", \"for_ns\": "
        "25000000, \"site\": \"clerk\"}], \"waits\": {\"object\": 1, \"kind\": \"mutex\", \"label\": \"\", "
        "\"mode\": \"write\", \"for_ns\": 13000000, \"limit_ns\": null, \"stack\": [\"clerk\"]}, "
        "\"works_on\": [], \"cycle\": 0}],\n",
        " \"objects\": [\n"
        "  {\"id\": 7, \"address\": \"ADDRESS\", \"kind\": \"spsc\", \"name\": \"letters\", "
        "\"acquisitions\": 0, \"contended\": 3,\n"
        "   \"wait\": {\"count\": 3, \"total_ns\": 26000000, \"longest_ns\": 9000000, \"histogram\": "
        "[[8388608, 1], [10485760, 2]]},\n"
        "   \"hold\": {\"count\": 0, \"total_ns\": 0, \"longest_ns\": 0, \"histogram\": [], "
        "\"longest_thread\": \"\", \"longest_stack\": []},\n"
        "   \"ring\": {\"capacity\": 3, \"depth\": 2, \"deepest\": 3, \"samples\": 5, \"full_samples\": 2, "
        "\"empty_samples\": 1, \"full_waits\": 1, \"empty_waits\": 2, \"depths\": [[81000000, 0], [76000000, "
        "1], [71000000, 3], [66000000, 3], [61000000, 2]]}},\n"
        "  {\"id\": 5, \"address\": \"ADDRESS\", \"kind\": \"mutex\", \"name\": \"\", \"acquisitions\": 1, "
        "\"contended\": 0,\n"
        "   \"wait\": {\"count\": 0, \"total_ns\": 0, \"longest_ns\": 0, \"histogram\": []},\n"
        "   \"hold\": {\"count\": 1, \"total_ns\": 15000000, \"longest_ns\": 15000000, \"histogram\": "
        "[[16777216, 1]], \"longest_thread\": \"json_test (MAIN)\", \"longest_stack\": [\"keep_open\"]},\n"
        "   \"ring\": null},\n"
        "  {\"id\": 1, \"address\": \"ADDRESS\", \"kind\": \"mutex\", \"name\": \"accounts\", "
        "\"acquisitions\": 3, \"contended\": 0,\n"
        "   \"wait\": {\"count\": 0, \"total_ns\": 0, \"longest_ns\": 0, \"histogram\": []},\n"
        "   \"hold\": {\"count\": 2, \"total_ns\": 13000000, \"longest_ns\": 7000000, \"histogram\": "
        "[[6291456, 1], [7340032, 1]], \"longest_thread\": \"json_test (MAIN)\", \"longest_stack\": "
        "[\"compare\"]},\n"
        "   \"ring\": null},\n"
        "  {\"id\": 6, \"address\": \"ADDRESS\", \"kind\": \"rwlock\", \"name\": \"\", \"acquisitions\": 3, "
        "\"contended\": 0,\n"
        "   \"wait\": {\"count\": 0, \"total_ns\": 0, \"longest_ns\": 0, \"histogram\": []},\n"
        "   \"hold\": {\"count\": 2, \"total_ns\": 13000000, \"longest_ns\": 7000000, \"histogram\": "
        "[[6291456, 1], [7340032, 1]], \"longest_thread\": \"json_test (MAIN)\", \"longest_stack\": "
        "[\"compare\"]},\n"
        "   \"ring\": null},\n"
        "  {\"id\": 2, \"address\": \"ADDRESS\", \"kind\": \"mutex\", \"name\": \"\\u003corders> \\u007f\", "
        "\"acquisitions\": 1, \"contended\": 0,\n"
        "   \"wait\": {\"count\": 0, \"total_ns\": 0, \"longest_ns\": 0, \"histogram\": []},\n"
        "   \"hold\": {\"count\": 0, \"total_ns\": 0, \"longest_ns\": 0, \"histogram\": [], "
        "\"longest_thread\": \"\", \"longest_stack\": []},\n"
        "   \"ring\": null},\n"
        "  {\"id\": 4, \"address\": \"ADDRESS\", \"kind\": \"mutex\", \"name\": \"\", \"acquisitions\": 1, "
        "\"contended\": 0,\n"
        "   \"wait\": {\"count\": 0, \"total_ns\": 0, \"longest_ns\": 0, \"histogram\": []},\n"
        "   \"hold\": {\"count\": 0, \"total_ns\": 0, \"longest_ns\": 0, \"histogram\": [], "
        "\"longest_thread\": \"\", \"longest_stack\": []},\n"
        "   \"ring\": null}],\n",
        " \"cycles\": [\n"
        "  {\"text\": \"thread \\\"teller\\\" (TELLER) waits for mutex ADDRESS \\\"\\u003corders> "
        "\\u007f\\\", held by thread \\\"clerk\\\" (CLERK), which waits for mutex ADDRESS \\\"accounts\\\", "
        "held by the first, thread \\\"teller\\\" (TELLER)\", \"threads\": [TELLER, CLERK], \"objects\": [2, "
        "1]}],\n"
        " \"orders\": [\n"
        "  {\"text\": \"lock-order inversion: thread \\\"json_test\\\" (MAIN) asks for mutex ADDRESS "
        "\\\"accounts\\\" while it holds rwlock ADDRESS; the opposite order was seen before\", \"stacks\": "
        "[{\"title\": \"thread \\\"json_test\\\" (MAIN) held mutex ADDRESS \\\"accounts\\\" and asked for "
        "rwlock ADDRESS\", \"frames\": [\"price\"]}, {\"title\": \"thread \\\"json_test\\\" (MAIN) held "
        "rwlock ADDRESS and asked for mutex ADDRESS \\\"accounts\\\"\", \"frames\": [\"compare\"]}]},\n"
        "  {\"text\": \"lock-order inversion: thread \\\"clerk\\\" (CLERK) asks for mutex ADDRESS "
        "\\\"accounts\\\" while it holds mutex ADDRESS \\\"\\u003corders> \\u007f\\\"; the opposite order "
        "was seen before\", \"stacks\": [{\"title\": \"thread \\\"teller\\\" (TELLER) held mutex ADDRESS "
        "\\\"accounts\\\" and asked for mutex ADDRESS \\\"\\u003corders> \\u007f\\\"\", \"frames\": "
        "[\"teller\"]}, {\"title\": \"thread \\\"clerk\\\" (CLERK) held mutex ADDRESS \\\"\\u003corders> "
        "\\u007f\\\" and asked for mutex ADDRESS \\\"accounts\\\"\", \"frames\": [\"clerk\"]}]}],\n"
        " \"timeline\": [\n"
        "  {\"thread\": MAIN, \"object\": 6, \"what\": \"hold\", \"mode\": \"write\", \"ns_ago\": 125000000, "
        "\"for_ns\": 6000000},\n"
        "  {\"thread\": MAIN, \"object\": 1, \"what\": \"hold\", \"mode\": \"write\", \"ns_ago\": 125000000, "
        "\"for_ns\": 6000000},\n"
        "  {\"thread\": MAIN, \"object\": 1, \"what\": \"hold\", \"mode\": \"write\", \"ns_ago\": 119000000, "
        "\"for_ns\": 7000000},\n"
        "  {\"thread\": MAIN, \"object\": 6, \"what\": \"hold\", \"mode\": \"read\", \"ns_ago\": 119000000, "
        "\"for_ns\": 7000000},\n"
        "  {\"thread\": MAIN, \"object\": 7, \"what\": \"wait\", \"mode\": \"read\", \"ns_ago\": 112000000, "
        "\"for_ns\": 8000000},\n"
        "  {\"thread\": MAIN, \"object\": 7, \"what\": \"wait\", \"mode\": \"read\", \"ns_ago\": 104000000, "
        "\"for_ns\": 9000000},\n"
        "  {\"thread\": MAIN, \"object\": 7, \"what\": \"wait\", \"mode\": \"read\", \"ns_ago\": 95000000, "
        "\"for_ns\": 9000000},\n"
        "  {\"thread\": MAIN, \"object\": 5, \"what\": \"hold\", \"mode\": \"write\", \"ns_ago\": 61000000, "
        "\"for_ns\": 15000000}],\n"
        " \"objects_lost\": 0,\n"
        " \"searches_ended\": 0\n"
        "}\n");
}

/* ---- Limits ---- */

TEST(a_limit_that_has_passed_is_nothing) {
    static ilk__facade_watch watch;
    begin();
    ilk__facade_wait_begin(&watch, &job, "count of the till", __wrap_ilk__clock_now_ns() + 5000000);
    pass(6000000);
    check_contains(diagnosis(ILK_AS_JSON), "\"for_ns\": 6000000, \"limit_ns\": 0, ");
    ilk__facade_wait_end(&watch);
    check(strstr(diagnosis(ILK_AS_JSON), "\"limit_ns\"") == NULL);
}

static void write_once(void *unused) {
    ilk_rwlock_write_lock(&prices);
    ilk_rwlock_write_unlock(&prices);
    stage_reach(&stage, 1);
    stage_await(&stage, 2); /* its events end with it */
}

TEST(the_timeline_has_the_mode_of_a_wait) {
    begin();
    ilk_rwlock_init(&prices);
    ilk_rwlock_read_lock(&prices);
    struct thread writer;
    thread_start(&writer, write_once, NULL);
    thread_await_sleep(&writer);
    pass(6000000);
    ilk_rwlock_read_unlock(&prices);
    stage_await(&stage, 1);
    check_contains(diagnosis(ILK_AS_JSON), "\"what\": \"wait\", \"mode\": \"write\", \"ns_ago\": 6000000, ");
    stage_reach(&stage, 2);
    thread_join(&writer);
}

TEST(a_wait_within_a_wait_is_part_of_it) {
    static ilk__facade_watch outer, inner;
    begin();
    ilk__facade_wait_begin(&outer, &job, "outer", ILK_FOREVER);
    ilk__facade_wait_begin(&inner, &letters, "inner", ILK_FOREVER);
    check_contains(diagnosis(ILK_AS_JSON), "\"label\": \"outer\", ");
    ilk__facade_wait_end(&inner);
    check_contains(diagnosis(ILK_AS_JSON), "\"label\": \"outer\", ");
    ilk__facade_wait_end(&outer);
    check(strstr(diagnosis(ILK_AS_JSON), "\"label\"") == NULL);
}

static void work_on_it(void *unused) {
    be(TELLER);
    ilk__facade_work_begin(&job, "job");
    ilk__facade_work_begin(&letters, "letters");
    ilk_mutex_lock(&accounts);
    ilk_mutex_unlock(&accounts);
}

/* It works on two things, of which we wait for each. */
TEST(a_thread_that_works_on_what_is_waited_for_is_in_a_cycle) {
    static ilk__facade_watch watch;
    begin();
    ilk_mutex_init(&accounts, false);
    ilk_mutex_lock(&accounts);
    struct thread worker;
    thread_start(&worker, work_on_it, NULL);
    await_waiter(&accounts);
    const void *const work[] = {&job, &letters};
    for (unsigned index = 0; index < 2; index++) {
        char expected[64];
        ilk__facade_wait_begin(&watch, work[index], "work", ILK_FOREVER);
        snprintf(expected, sizeof expected, "\"threads\": [%lu, %lu], \"objects\": [0, 1]}],\n", ids[MAIN],
                 ids[TELLER]);
        check_contains(diagnosis(ILK_AS_JSON), expected);
        ilk__facade_wait_end(&watch);
        check_contains(diagnosis(ILK_AS_JSON), " \"cycles\": [],\n");
    }
    ilk_mutex_unlock(&accounts);
    thread_join(&worker);
}

TEST(a_label_has_63_bytes) {
    static ilk__facade_watch watch;
    static const char label[] = "123456789 123456789 123456789 123456789 123456789 123456789 123456789";
    char expected[128];
    begin();
    ilk__facade_wait_begin(&watch, &job, label, ILK_FOREVER);
    snprintf(expected, sizeof expected, "\"label\": \"%.63s\", ", label);
    check_contains(diagnosis(ILK_AS_JSON), expected);
    ilk__facade_wait_end(&watch);
}

TEST(the_timeline_has_the_last_128_of_a_thread) {
    begin();
    ilk_mutex_init(&till, false);
    for (unsigned index = 0; index < 130; index++) {
        ilk_mutex_lock(&till);
        pass(5000000 + index);
        ilk_mutex_unlock(&till);
    }
    const char *timeline = strstr(diagnosis(ILK_AS_JSON), "\"timeline\": [");
    check(strstr(timeline, "\"for_ns\": 5000001}") == NULL);
    check_contains(timeline, "\"for_ns\": 5000002}");
    check_contains(timeline, "\"for_ns\": 5000129}],\n");
}

TEST(a_ring_has_the_last_100_of_its_depths) {
    begin();
    ilk__ring_begin(&letters, ILK_OBJECT_SPSC, 300, depth_of);
    for (size_t depth = 1; depth <= 250; depth++) {
        sample(depth);
    }
    const char *depths = strstr(diagnosis(ILK_AS_JSON), "\"samples\": 250, ");
    check_contains(depths, "\"depths\": [[495000000, 151], [490000000, 152], ");
    check_contains(depths, "[5000000, 249], [0, 250]]}");
    ilk__object_forget(&letters);
}

TEST(of_what_a_thread_works_on_four_are_told) {
    static const char *const labels[] = {"1", "2", "3", "4", "5", "6"};
    static ilk__facade_watch watch;
    begin();
    ilk__facade_work_end(); /* of what had begun before diagnosis did */
    for (unsigned index = 0; index < 6; index++) {
        ilk__facade_work_begin(&labels[index], labels[index]);
    }
    ilk__facade_wait_begin(&watch, &labels[5], "the sixth", ILK_FOREVER); /* whose place it has forgotten */
    check_contains(diagnosis(ILK_AS_JSON), "\"works_on\": [\"1\", \"2\", \"3\", \"4\"], \"cycle\": null");
    check_contains(diagnosis(ILK_AS_TEXT), "  works on 3\n  works on 4\n  waits for the sixth");
    ilk__facade_wait_end(&watch);
    for (unsigned index = 0; index < 3; index++) {
        ilk__facade_work_end();
    }
    check_contains(diagnosis(ILK_AS_JSON), "\"works_on\": [\"1\", \"2\", \"3\"], ");
}

TEST(a_limit_that_has_passed_is_no_time_away) {
    static ilk__facade_watch watch;
    begin();
    ilk__facade_wait_begin(&watch, &job, "work", __wrap_ilk__clock_now_ns() + 5000000);
    pass(6000000);
    check_contains(diagnosis(ILK_AS_TEXT), "  waits for work, for 6000 us; its limit is in 0 ns\n");
    ilk__facade_wait_end(&watch);
}

static pthread_t judge;
static bool judge_says(void *says) {
    return pthread_equal(pthread_self(), judge) && *(const bool *)says;
}
static void wait_for_judge(void *says) {
    ilk_mutex_lock(&till);
    check_equal(ilk_mutex_await_until(&till, judge_says, says, ILK_FOREVER), ILK_OK);
    ilk_mutex_unlock(&till);
}
static void expect_till_waited_for(unsigned microseconds) {
    char expected[64];
    snprintf(expected, sizeof expected, "  waits for mutex %p, for %u us", (void *)&till, microseconds);
    check_contains(diagnosis(ILK_AS_TEXT), expected);
}
/* The waiter does not say what the thread that woke it said. */
TEST(a_wait_for_a_predicate_begins_anew_when_its_thread_sleeps_again) {
    bool says = false;
    judge = pthread_self();
    begin();
    ilk_mutex_init(&till, false);
    struct thread waiter;
    thread_start(&waiter, wait_for_judge, &says);
    thread_await_sleep(&waiter);
    pass(5000000);
    expect_till_waited_for(5000);
    const long before = thread_times_slept(&waiter);
    ilk_mutex_lock(&till);
    says = true;
    ilk_mutex_unlock(&till);
    yield_while(thread_times_slept(&waiter) == before);
    thread_await_sleep(&waiter);
    pass(2000000);
    expect_till_waited_for(2000);
}

static void expect_name(const void *object, const char *expected) {
    char name[ILK_NAME_SIZE];
    check_equal(ilk_get_name(object, name, sizeof name), expected[0] != '\0');
    check_text(name, expected);
}
static void ask_and_give(const void *object, const char *name) {
    static ilk__facade_watch watch;
    ilk__facade_ask(&watch, object, ILK_OBJECT_QUEUE, name, ILK_FOREVER);
    ilk__facade_taken(&watch, true);
    ilk__facade_give(object);
}
static void enter_and_give(const void *object, const char *name) {
    ilk__facade_enter(object, ILK_OBJECT_QUEUE, name);
    ilk__facade_give(object);
}

/* A name of the program's stays. */
TEST(an_object_of_the_facade_has_its_name_once_it_is_watched) {
    static const char asked, entered, nameless;
    ask_and_give(&asked, "asked");
    enter_and_give(&entered, "entered");
    expect_name(&asked, "");
    expect_name(&entered, "");
    begin();
    ask_and_give(&asked, "asked");
    enter_and_give(&entered, "entered");
    ask_and_give(&nameless, NULL);
    enter_and_give(&nameless, "");
    expect_name(&asked, "asked");
    expect_name(&entered, "entered");
    expect_name(&nameless, "");
    enter_and_give(&asked, "another");
    expect_name(&asked, "asked");
    ilk_diagnose(0); /* what is known already stays watched */
    name_object(&asked, NULL);
    name_object(&entered, NULL);
    ask_and_give(&asked, "again");
    enter_and_give(&entered, "again");
    expect_name(&asked, "again");
    expect_name(&entered, "again");
}
