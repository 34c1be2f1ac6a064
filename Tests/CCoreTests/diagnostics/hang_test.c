/* SPDX-License-Identifier: Apache-2.0
 *
 * Reports of threads on request: what they hold and wait for, in all forms. What the environment asks for is in
 * environment_test.c.
 */
#include "diagnostics/reports.h"
#include "support/rwlock_mode.h"
#include <errno.h>
#include <fcntl.h>
#include <interlock/latch.h>
#include <interlock/mutex.h>
#include <interlock/rwlock.h>
#include <interlock/semaphore.h>
#include <signal.h>
#include <sys/wait.h>

static ilk_mutex mutex;
static ilk_rwlock lock;
static struct stage both = STAGE_INIT;

static void wait_for_mutex(void *unused) {
    check_equal(pthread_setname_np(pthread_self(), "clerk"), 0);
    ilk_rwlock_write_lock(&lock);
    stage_reach(&both, 1);
    check_equal(ilk_mutex_lock_until(&mutex, ilk_deadline_in_ns(MILLISECONDS(600000))), ILK_OK);
    ilk_mutex_unlock(&mutex);
    ilk_rwlock_write_unlock(&lock);
}

/* Also the try that stays in the thread's slot, beside the read that took it unwatched. */
TEST(a_try_to_read_is_held_for_reading) {
    static const ilk_rwlock unused = ILK_RWLOCK_INIT;
    for (int further = 0; further < 2; further++) {
        memcpy(&lock, &unused, sizeof lock); /* the try is its first call, but for ilk_rwlock_observe */
        if (further != 0) {
            move_to_slots(&lock);
            ilk_rwlock_read_lock(&lock);
            check(is_in_a_slot(&lock));
        }
        ilk_diagnose(ILK_DIAGNOSE_HANG);
        check_equal(ilk_rwlock_observe(&lock, ILK_DIAGNOSE_HANG), ILK_OK);
        ilk_mutex_init(&mutex, false);
        ilk_mutex_lock(&mutex); /* a try records nothing of a thread that is not known yet */
        ilk_mutex_unlock(&mutex);
        check(ilk_rwlock_try_read_lock(&lock));
        check_equal(counted_readers(&lock), further != 0 ? 0 : 1);
        char expected[64];
        snprintf(expected, sizeof expected, "  holds rwlock %p (read) for ", (void *)&lock);
        check_contains(diagnosis(ILK_AS_TEXT), expected);
        ilk_rwlock_read_unlock(&lock);
        check(strstr(diagnosis(ILK_AS_TEXT), "holds") == NULL);
        if (further != 0) {
            ilk_rwlock_read_unlock(&lock);
        }
        ilk_diagnose(0);
        ilk_rwlock_destroy(&lock);
    }
}
/* contract: ilk_write_diagnosis */
TEST(a_report_tells_what_threads_hold_and_wait_for) {
    ilk_diagnose(ILK_DIAGNOSE_HANG);
    ilk_mutex_init(&mutex, false);
    ilk_rwlock_init(&lock);
    check_equal(ilk_set_name(&mutex, "mutex"), ILK_OK);
    check_equal(ilk_set_name(&lock, "lock"), ILK_OK);
    ilk_mutex_lock(&mutex);
    struct thread clerk;
    thread_start(&clerk, wait_for_mutex, NULL);
    stage_await(&both, 1);
    thread_await_sleep(&clerk);
    const char *text = diagnosis(ILK_AS_TEXT);
    char expected[256];
    snprintf(expected, sizeof expected, "thread \"clerk\" (%d)\n  holds rwlock %p \"lock\" (write) for ",
             (int)clerk.kernel_id, (void *)&lock);
    check_contains(text, expected);
    snprintf(expected, sizeof expected, "  waits for mutex %p \"mutex\", for ", (void *)&mutex);
    check_contains(text, expected);
    check_contains(text, "; its limit is in 5");
    check_contains(text, "wait_for_mutex+0x");
    snprintf(expected, sizeof expected, "  holds mutex %p \"mutex\" (write) for ", (void *)&mutex);
    check_contains(text, expected);
    check(strstr(text, "cycle") == NULL); /* no thread waits for the clerk */
    const char *json = diagnosis(ILK_AS_JSON);
    check_contains(json, "\"name\": \"clerk\", \"holds\": [{\"object\": ");
    check_contains(json, "\"watches\": [\"hang\"]");
    ilk_mutex_unlock(&mutex);
    thread_join(&clerk);
    text = diagnosis(ILK_AS_TEXT);
    check(strstr(text, "holds") == NULL);
    check(strstr(text, "waits for") == NULL);
    /* The kernel lists a joined thread for some moments still. */
    yield_while(strstr(diagnosis(ILK_AS_TEXT), "clerk") != NULL);
    ilk_rwlock_destroy(&lock);
}

static struct stage crossed = STAGE_INIT;
static struct stage reported = STAGE_INIT;

static void hold_lock_and_wait(void *unused) {
    ilk_rwlock_write_lock(&lock);
    stage_reach(&crossed, 1);
    stage_await(&crossed, 2);
    check_equal(ilk_mutex_lock_until(&mutex, ilk_deadline_in_ns(MILLISECONDS(600000))), ILK_OK);
    ilk_mutex_unlock(&mutex);
    ilk_rwlock_write_unlock(&lock);
}
static void hold_mutex_and_wait(void *unused) {
    stage_await(&crossed, 1);
    ilk_mutex_lock(&mutex);
    stage_reach(&crossed, 2);
    check_equal(ilk_rwlock_write_lock_until(&lock, ilk_deadline_in_ns(MILLISECONDS(300))), ILK_TIMEDOUT);
    stage_advance(&reported);
    stage_await(&reported, 2);
    ilk_mutex_unlock(&mutex);
}

/* They wait for each other, but not for ever. */
/* contract: ilk_write_diagnosis */
TEST(waits_with_a_limit_make_no_cycle) {
    ilk_diagnose(ILK_DIAGNOSE_HANG);
    ilk_mutex_init(&mutex, false);
    ilk_rwlock_init(&lock);
    struct thread one, other;
    thread_start(&one, hold_lock_and_wait, NULL);
    thread_start(&other, hold_mutex_and_wait, NULL);
    thread_await_sleep(&one);
    char waits[128];
    snprintf(waits, sizeof waits, "  waits for rwlock %p", (void *)&lock);
    for (const char *text = diagnosis(ILK_AS_TEXT); strstr(text, waits) != NULL;
         text = diagnosis(ILK_AS_TEXT)) {
        check(strstr(text, "cycle") == NULL);
    }
    stage_await(&reported, 1);
    check(strstr(diagnosis(ILK_AS_TEXT), waits) == NULL); /* it waits no longer */
    stage_advance(&reported);
    thread_join(&one);
    thread_join(&other);
    ilk_rwlock_destroy(&lock);
}

static struct stage pausing = STAGE_INIT;

static void read_for_a_while(void *unused) {
    ilk_rwlock_read_lock(&lock);
    stage_reach(&pausing, 1);
    stage_await(&pausing, 2);
    ilk_rwlock_read_unlock(&lock);
}
static void upgrade_lock(void *unused) {
    ilk_rwlock_upgradable_lock(&lock);
    ilk_rwlock_upgrade(&lock);
    ilk_rwlock_write_unlock(&lock);
}
static ilk_semaphore items;
static void take_two_items(void *unused) {
    ilk_semaphore_wait(&items);
    ilk_semaphore_wait(&items);
}

/* An upgrade waits for readers, and a consumer for the next item: neither for itself. */
/* contract: ilk_write_diagnosis */
TEST(a_wait_beside_a_share_of_its_own_is_no_cycle) {
    ilk_diagnose(ILK_DIAGNOSE_HANG);
    ilk_rwlock_init(&lock);
    ilk_semaphore_init(&items, 1);
    struct thread reader, upgrader, consumer;
    thread_start(&reader, read_for_a_while, NULL);
    stage_await(&pausing, 1);
    thread_start(&upgrader, upgrade_lock, NULL);
    thread_start(&consumer, take_two_items, NULL);
    thread_await_sleep(&upgrader);
    thread_await_sleep(&consumer);
    const char *text = diagnosis(ILK_AS_TEXT);
    check_contains(text, "  waits for rwlock ");
    check_contains(text, "  waits for semaphore ");
    check(strstr(text, "cycle") == NULL);
    ilk_semaphore_signal(&items, 1);
    stage_reach(&pausing, 2);
    thread_join(&reader);
    thread_join(&upgrader);
    thread_join(&consumer);
    ilk_semaphore_destroy(&items);
    ilk_rwlock_destroy(&lock);
}

static ilk_mutex outer;
static void lock_mutex(void) {
    ilk_mutex_lock(&mutex);
}
static void unlock_mutex(void) {
    ilk_mutex_unlock(&mutex);
}
static void write_lock(void) {
    ilk_rwlock_write_lock(&lock);
}
static void write_unlock(void) {
    ilk_rwlock_write_unlock(&lock);
}
struct late {
    void (*take)(void), (*give)(void);
    const void *object;
    const char *kind;
    struct stage stage;
    struct thread first;
};
static void take_while_the_other_reports(void *context) {
    struct late *late = context;
    late->take();
    stage_reach(&late->stage, 1);
    stage_await(&late->stage, 2);
    late->give();
}
static void take_under_outer(void *context) {
    struct late *late = context;
    ilk_mutex_lock(&outer);
    late->take();
    late->give();
    ilk_mutex_unlock(&outer);
}
static void let_the_other_take(const ilk_report *report, void *context) {
    struct late *late = context;
    thread_start(&late->first, take_while_the_other_reports, late);
    stage_await(&late->stage, 1);
}

/* Its order is reported while the lock is free, and another thread takes it meanwhile. */
/* contract: ilk_write_diagnosis */
TEST(a_wait_for_what_was_free_a_moment_ago_is_recorded) {
    static struct late lates[] = {
        {lock_mutex, unlock_mutex, &mutex, "mutex", STAGE_INIT, {0}},
        {write_lock, write_unlock, &lock, "rwlock", STAGE_INIT, {0}},
    };
    for (unsigned index = 0; index < sizeof lates / sizeof *lates; index++) {
        struct late *late = &lates[index];
        ilk_diagnose(ILK_DIAGNOSE_ORDER | ILK_DIAGNOSE_HANG);
        ilk_mutex_init(&mutex, false);
        ilk_mutex_init(&outer, false);
        ilk_rwlock_init(&lock);
        late->take();
        ilk_mutex_lock(&outer);
        ilk_mutex_unlock(&outer);
        late->give();
        ilk_set_report_handler(let_the_other_take, late);
        struct thread second;
        thread_start(&second, take_under_outer, late);
        stage_await(&late->stage, 1);
        thread_await_sleep(&second);
        char expected[64];
        snprintf(expected, sizeof expected, "  waits for %s %p", late->kind, late->object);
        check_contains(diagnosis(ILK_AS_TEXT), expected);
        stage_reach(&late->stage, 2);
        thread_join(&late->first);
        thread_join(&second);
        ilk_rwlock_destroy(&lock);
    }
}

static struct stage following = STAGE_INIT;
static void hold_what_ends_and_wait(void *unused) {
    ilk_mutex_lock(&mutex);
    stage_reach(&following, 1);
    stage_await(&following, 2);
    ilk_mutex_lock(&outer);
    ilk_mutex_unlock(&outer);
}
static void wait_for_what_follows(void *unused) {
    ilk_mutex_lock(&outer);
    ilk_mutex_lock(&mutex);
    ilk_mutex_unlock(&mutex);
    ilk_mutex_unlock(&outer);
}

/* The first thread held a mutex at the address for which the second waits, and waits for the second. */
/* contract: ilk_write_diagnosis */
TEST(what_has_ended_is_held_up_by_none) {
    ilk_diagnose(ILK_DIAGNOSE_HANG);
    ilk_mutex_init(&mutex, false);
    ilk_mutex_init(&outer, false);
    struct thread first, second;
    thread_start(&first, hold_what_ends_and_wait, NULL);
    stage_await(&following, 1);
    ilk_mutex_init(&mutex, false);
    ilk_mutex_lock(&mutex);
    thread_start(&second, wait_for_what_follows, NULL);
    thread_await_sleep(&second);
    stage_reach(&following, 2);
    char waits[64];
    snprintf(waits, sizeof waits, "  waits for mutex %p", (void *)&outer);
    yield_while(strstr(diagnosis(ILK_AS_TEXT), waits) == NULL);
    check(strstr(diagnosis(ILK_AS_TEXT), "cycle") == NULL);
    ilk_mutex_unlock(&mutex);
    thread_join(&second);
    thread_join(&first);
}

static void take_item_and_wait(void *unused) {
    ilk_semaphore_wait(&items);
    stage_reach(&following, 1);
    stage_await(&following, 2);
    ilk_mutex_lock(&outer);
    ilk_mutex_unlock(&outer);
    ilk_semaphore_signal(&items, 1);
}
static void wait_for_the_item(void *unused) {
    ilk_mutex_lock(&outer);
    check_equal(ilk_semaphore_wait_until(&items, ILK_FOREVER), ILK_OK);
    ilk_mutex_unlock(&outer);
}

/* Whether it will be given back is not known yet. */
/* contract: ilk_write_diagnosis */
TEST(a_permit_that_was_never_given_back_may_hold_up_its_giver) {
    ilk_diagnose(ILK_DIAGNOSE_HANG);
    ilk_mutex_init(&outer, false);
    ilk_semaphore_init(&items, 1);
    struct thread first, second;
    thread_start(&first, take_item_and_wait, NULL);
    stage_await(&following, 1);
    thread_start(&second, wait_for_the_item, NULL);
    thread_await_sleep(&second);
    stage_reach(&following, 2);
    char waits[64];
    snprintf(waits, sizeof waits, "  waits for mutex %p", (void *)&outer);
    yield_while(strstr(diagnosis(ILK_AS_TEXT), waits) == NULL);
    check_contains(diagnosis(ILK_AS_TEXT), "cycle");
    ilk_semaphore_signal(&items, 1);
    thread_join(&second);
    thread_join(&first);
    ilk_semaphore_destroy(&items);
}

/* As an inline function of the headers, in a build without optimisation. */
__attribute__((noinline)) static void ilk__called_lock(void) {
    ilk_mutex_lock(&mutex);
    __asm__ __volatile__(""); /* no tail call */
}

__attribute__((noinline)) static void lock_by_header(void *unused) {
    ilk__called_lock();
    ilk_mutex_unlock(&mutex);
}

TEST(the_stack_of_a_wait_begins_outside_the_library) {
#if !defined(__GLIBC__) && !defined(__APPLE__)
    skip_because("without the stacks of glibc or Apple a stack is one frame");
#endif
    ilk_diagnose(ILK_DIAGNOSE_HANG);
    ilk_mutex_init(&mutex, false);
    ilk_mutex_lock(&mutex);
    struct thread other;
    thread_start(&other, lock_by_header, NULL);
    thread_await_sleep(&other);
    check_contains(diagnosis(ILK_AS_TEXT), "\n      0  lock_by_header+0x");
    check_contains(diagnosis(ILK_AS_JSON), "\"stack\": [\"lock_by_header+0x");
    ilk_mutex_unlock(&mutex);
    thread_join(&other);
}

static ilk_semaphore permit;
static void signal_permit(void *unused) {
    ilk_semaphore_signal(&permit, 1);
}
/* contract: ilk_write_diagnosis */
TEST(a_permit_that_another_thread_gave_is_held_by_none) {
    ilk_diagnose(ILK_DIAGNOSE_HANG);
    ilk_semaphore_init(&permit, 1);
    ilk_semaphore_wait(&permit);
    char holds[64];
    snprintf(holds, sizeof holds, "  holds semaphore %p (write) for ", (void *)&permit);
    check_contains(diagnosis(ILK_AS_TEXT), holds);
    check_contains(diagnosis(ILK_AS_JSON), "\"holds\": [{");
    struct thread other;
    thread_start(&other, signal_permit, NULL);
    thread_join(&other);
    check(strstr(diagnosis(ILK_AS_TEXT), holds) == NULL);
    check(strstr(diagnosis(ILK_AS_JSON), "\"holds\": [{") == NULL);
    ilk_semaphore_destroy(&permit);
}
/* contract: ilk_write_diagnosis */
TEST(names_are_escaped) {
    ilk_diagnose(ILK_DIAGNOSE_CONTENTION);
    ilk_mutex_init(&mutex, false);
    check_equal(ilk_set_name(&mutex, "a \"b\" \\ <script> \n \xff \xc3\xa9"), ILK_OK);
    const char *json = diagnosis(ILK_AS_JSON);
    check_contains(json, "\"name\": \"a \\\"b\\\" \\\\ \\u003cscript> \\u000a \xEF\xBF\xBD \xc3\xa9\"");
    check(strstr(json, "<script") == NULL);
    check_equal(ilk_set_name(&mutex, NULL), ILK_OK);
}

/* The JSON is one element of the page, which it cannot leave: names_are_escaped. The viewer is a file of its own. */
TEST(a_page_carries_the_json_and_not_the_viewer) {
    ilk_diagnose(ILK_DIAGNOSE_CONTENTION);
    const size_t json = strlen(diagnosis(ILK_AS_JSON));
    const char *page = diagnosis(ILK_AS_PAGE);
    check(strncmp(page, "<!DOCTYPE html>\n", 16) == 0);
    check_contains(page, "<script type=\"application/json\" id=\"report\">\n{\n \"interlock\": ");
    check_contains(page, "\n}\n</script>\n");
    check_contains(page, "\"diagnosis.html\"");
    check(strlen(page) < json + 2048);
}

/* Each byte that begins no character of UTF-8 becomes U+FFFD: halves of surrogate pairs, forms longer than they need
 * be, what is beyond U+10FFFF, a character that another follows too soon, and one that the end of the name cuts. */
/* contract: ilk_write_diagnosis */
TEST(the_json_is_utf8_whatever_the_names_are) {
#define BAD "\xEF\xBF\xBD"
    static const char *const names[][2] = {
        {"\xED\x9F\xBF|\xED\xA0\x80|\xEE\x80\x80", "\xED\x9F\xBF|" BAD BAD BAD "|\xEE\x80\x80"},
        {"\xED\xBF\xBF", BAD BAD BAD},
        {"\xC1\xBF|\xE0\x9F\xBF|\xE0\xA0\x80", BAD BAD "|" BAD BAD BAD "|\xE0\xA0\x80"},
        {"\xF0\x8F\xBF\xBF|\xF0\x90\x80\x80", BAD BAD BAD BAD "|\xF0\x90\x80\x80"},
        {"\xF4\x8F\xBF\xBF|\xF4\x90\x80\x80", "\xF4\x8F\xBF\xBF|" BAD BAD BAD BAD},
        {"\xC3(|\xE2\x82|", BAD "(|" BAD BAD "|"},
        {"123456789 123456789 123456789 123456789 123456789 123456789 12\xC3\xA9",
         "123456789 123456789 123456789 123456789 123456789 123456789 12"},
        {"123456789 123456789 123456789 123456789 123456789 123456789 \xF0\x90\x80\x80",
         "123456789 123456789 123456789 123456789 123456789 123456789 "},
        {"123456789 123456789 123456789 123456789 123456789 12345678 \xF0\x90\x80\x80.",
         "123456789 123456789 123456789 123456789 123456789 12345678 \xF0\x90\x80\x80"},
    };
    ilk_diagnose(ILK_DIAGNOSE_CONTENTION);
    ilk_mutex_init(&mutex, false);
    for (size_t index = 0; index < sizeof names / sizeof *names; index++) {
        char expected[256];
        snprintf(expected, sizeof expected, "\"name\": \"%s\", \"acquisitions\"", names[index][1]);
        check_equal(ilk_set_name(&mutex, names[index][0]), ILK_OK);
        check_contains(diagnosis(ILK_AS_JSON), expected);
    }
#undef BAD
    check_equal(ilk_set_name(&mutex, NULL), ILK_OK);
}

static bool cuts_writes;
ssize_t __real_write(int file, const void *bytes, size_t count);
ssize_t __wrap_write(int file, const void *bytes, size_t count);
ssize_t __wrap_write(int file, const void *bytes, size_t count) {
    static unsigned writes;
    if (cuts_writes && writes++ % 2 == 0) {
        errno = EINTR;
        return -1;
    }
    return __real_write(file, bytes, cuts_writes && count > 1000 ? 1000 : count);
}

/* As pipes are written, and signals come. It is longer than its buffer. */
/* contract: ilk_write_diagnosis */
TEST(a_report_is_whole_in_whatever_pieces_the_system_takes_it) {
    enum { MUTEXES = 1000 };
    static ilk_mutex mutexes[MUTEXES];
    static char text[1 << 20];
    static const char object[] = "\"kind\": \"mutex\"";
    ilk_diagnose(ILK_DIAGNOSE_CONTENTION);
    for (unsigned index = 0; index < MUTEXES; index++) {
        ilk_mutex_init(&mutexes[index], false);
    }
    FILE *file = tmpfile();
    check(file != NULL);
    cuts_writes = true;
    check_equal(ilk_write_diagnosis(fileno(file), ILK_AS_JSON), ILK_OK);
    cuts_writes = false;
    rewind(file);
    const size_t length = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    unsigned objects = 0;
    for (const char *at = text; (at = strstr(at, object)) != NULL; at++) {
        objects++;
    }
    check_equal(objects, MUTEXES);
    check(length > 100000 && strcmp(text + length - 3, "\n}\n") == 0);
}
/* contract: ilk_set_hang_limit, ilk_set_hang_signal, ilk_write_diagnosis */
TEST(writing_that_fails_is_told) {
    errno = 0;
    check_equal(ilk_write_diagnosis(-1, ILK_AS_TEXT), ILK_INVALID);
    check_equal(errno, EBADF);
    const int full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    check(full >= 0);
    check_equal(ilk_write_diagnosis(full, ILK_AS_JSON), ILK_INVALID);
    check_equal(errno, ENOSPC);
    close(full);
    check_equal(ilk_set_hang_signal(SIGKILL), ILK_INVALID);
}

/* A signal handler that interrupts diagnosis itself may use what it may use elsewhere. */
static ilk_mutex of_handler;
static void lock_in_handler(int number) {
    if (ilk_mutex_try_lock(&of_handler)) {
        ilk_mutex_unlock(&of_handler);
    }
}

static void interrupt_often(void *target) {
    for (int round = stress_rounds(20000); round > 0; round--) {
        pthread_kill(*(pthread_t *)target, SIGUSR1);
    }
}

TEST(handlers_may_interrupt_diagnosis) {
    ilk_diagnose(ILK_DIAGNOSE_ALL);
    ilk_mutex_init(&of_handler, false);
    ilk_mutex_init(&mutex, false);
    struct sigaction action = {.sa_handler = lock_in_handler};
    check_equal(sigaction(SIGUSR1, &action, NULL), 0);
    pthread_t self = pthread_self();
    struct thread other;
    thread_start(&other, interrupt_often, &self);
    while (!thread_is_done(&other)) {
        ilk_mutex_lock(&mutex);
        ilk_mutex_unlock(&mutex);
    }
    thread_join(&other);
    check_contains(diagnosis(ILK_AS_JSON), "\"holds\": [], \"waits\": null");
}

/* A child has its thread's record, and no other's. */
static void report_in_child(void *unused) {
    (void)ilk_write_diagnosis(STDERR_FILENO, ILK_AS_TEXT);
    ilk_mutex_unlock(&mutex);
    ilk_rwlock_write_lock(&lock);
    (void)ilk_write_diagnosis(STDERR_FILENO, ILK_AS_TEXT);
}

static ilk_mutex of_another;
static void hold_another(void *latch) {
    ilk_mutex_lock(&of_another);
    check_equal(ilk_latch_wait_until(latch, ILK_FOREVER), ILK_OK);
    ilk_mutex_unlock(&of_another);
}

TEST(a_child_of_fork_reports_its_own_thread) {
    ilk_diagnose(ILK_DIAGNOSE_ALL);
    ilk_latch latch;
    ilk_latch_init(&latch, 1);
    ilk_mutex_init(&of_another, false);
    struct thread another;
    thread_start(&another, hold_another, &latch);
    thread_await_sleep(&another);
    ilk_mutex_init(&mutex, false);
    ilk_rwlock_init(&lock);
    ilk_mutex_lock(&mutex);
    check_equal(ilk_set_hang_limit(MILLISECONDS(1000000)), ILK_OK); /* a thread that the child has not */
    char output[16 * 1024];
    const int status = child_run(report_in_child, NULL, output, sizeof output);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    char expected[256];
    snprintf(expected, sizeof expected, "  holds mutex %p (write)", (void *)&mutex);
    check_contains(output, expected);
    snprintf(expected, sizeof expected, "  holds rwlock %p (write)", (void *)&lock);
    check_contains(output, expected);
    check(strstr(output, "interlock-watch") == NULL);
    snprintf(expected, sizeof expected, "  holds mutex %p", (void *)&of_another);
    check(strstr(output, expected) == NULL);
    ilk_latch_count_down(&latch);
    thread_join(&another);
    check_equal(ilk_set_hang_limit(0), ILK_OK);
    ilk_mutex_unlock(&mutex);
}
