/* SPDX-License-Identifier: Apache-2.0
 *
 * The park layer, by both backends: sleeping on a word, waking by address, deadlines.
 */
#include "support/test.h"
#include <interlock/park.h>
#include <sys/mman.h>
#include <unistd.h>

struct sleeper {
    ILK_ATOMIC(uint32_t) * word;
    uint64_t deadline_ns;
    ilk_status status;
    bool returned;
    struct thread thread;
};

static void sleep_on_word(void *context) {
    struct sleeper *self = context;
    self->status = ilk_park_wait(self->word, 0, self->deadline_ns);
    self->returned = true;
}

static void start_sleepers(struct sleeper *sleepers, int count, ILK_ATOMIC(uint32_t) * word) {
    for (int i = 0; i < count; i++) {
        sleepers[i] = (struct sleeper){.word = word, .deadline_ns = ILK_FOREVER};
        thread_start(&sleepers[i].thread, sleep_on_word, &sleepers[i]);
        thread_await_sleep(&sleepers[i].thread);
    }
}
/* contract: ilk_park_wait */
TEST(wait_returns_at_once_when_the_word_differs) {
    ILK_ATOMIC(uint32_t) word = 7;
    check_equal(ilk_park_wait(&word, 6, ILK_FOREVER), ILK_OK);
}
/* contract: ilk_park_wait */
TEST(wait_with_a_passed_deadline_answers_timed_out) {
    ILK_ATOMIC(uint32_t) word = 0;
    const uint64_t passed[] = {0, 1, ilk_now_ns() - 1, ilk_now_ns()};
    for (size_t i = 0; i < sizeof passed / sizeof *passed; i++) {
        check_equal(ilk_park_wait(&word, 0, passed[i]), ILK_TIMEDOUT);
    }
}
/* contract: ilk_park_wait */
TEST(a_word_that_differs_does_not_sleep_whatever_the_deadline) {
    ILK_ATOMIC(uint32_t) word = 7;
    const uint64_t deadlines[] = {0, ilk_now_ns(), ilk_deadline_in_ns(MILLISECONDS(3600000)), ILK_FOREVER};
    for (size_t i = 0; i < sizeof deadlines / sizeof *deadlines; i++) {
        ilk_status status = ilk_park_wait(&word, 6, deadlines[i]);
        check(status == ILK_OK || (status == ILK_TIMEDOUT && ilk_now_ns() >= deadlines[i]));
    }
}
/* contract: ilk_park_wait */
TEST(wait_never_times_out_early) {
    ILK_ATOMIC(uint32_t) word = 0;
    for (uint64_t length = 1; length <= MILLISECONDS(8); length *= 2) {
        uint64_t deadline = ilk_deadline_in_ns(length);
        ilk_status status;
        do {
            status = ilk_park_wait(&word, 0, deadline);
        } while (status == ILK_OK); /* spurious */
        check_equal(status, ILK_TIMEDOUT);
        check(ilk_now_ns() >= deadline);
    }
}

/* Deadlines that no clock will reach are neither refused nor in the past. */
/* contract: ilk_park_wait */
TEST(far_deadlines_sleep) {
    const uint64_t far[] = {ILK_FOREVER - 1, UINT64_C(1) << 63, ilk_deadline_in_ns(UINT64_MAX / 2),
                            ILK_FOREVER};
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        ILK_ATOMIC(uint32_t) word = 0;
        struct sleeper sleeper = {.word = &word, .deadline_ns = far[i]};
        thread_start(&sleeper.thread, sleep_on_word, &sleeper);
        thread_await_sleep(&sleeper.thread);
        ilk_park_wake(&word, 1);
        thread_join(&sleeper.thread);
        check_equal(sleeper.status, ILK_OK);
    }
}

/* Waits until `woken` of the sleepers are done; the others must sleep. A wake-up ends a sleep before the call
 * returns, so one too many is seen. */
static void check_woken(struct sleeper *sleepers, int count, int woken) {
    int done, asleep;
    do {
        done = 0;
        asleep = 0;
        for (int i = 0; i < count; i++) {
            asleep += thread_sleeps(&sleepers[i].thread) ? 1 : 0;
            done += thread_is_done(&sleepers[i].thread) ? 1 : 0;
        }
        check(asleep >= count - woken);
    } while (done < woken);
    check_equal(done, woken);
}
/* contract: ilk_park_wake */
TEST(wake_wakes_as_many_as_asked) {
    ILK_ATOMIC(uint32_t) word = 0;
    enum { COUNT = 5 };
    struct sleeper sleepers[COUNT];
    start_sleepers(sleepers, COUNT, &word);
    ilk_park_wake(&word, 0);
    check_woken(sleepers, COUNT, 0);
    ilk_park_wake(&word, 1);
    check_woken(sleepers, COUNT, 1);
    ilk_park_wake(&word, 2);
    check_woken(sleepers, COUNT, 3);
    ilk_park_wake(&word, 2);
    for (int i = 0; i < COUNT; i++) {
        thread_join(&sleepers[i].thread);
        check_equal(sleepers[i].status, ILK_OK);
    }
}
/* contract: ilk_park_wake */
TEST(wake_all_wakes_everyone) {
    ILK_ATOMIC(uint32_t) word = 0;
    enum { COUNT = 5 };
    struct sleeper sleepers[COUNT];
    start_sleepers(sleepers, COUNT, &word);
    ilk_park_wake(&word, ILK_PARK_ALL);
    for (int i = 0; i < COUNT; i++) {
        thread_join(&sleepers[i].thread);
    }
}

/* The pthread backend's table puts some of the words into one bucket. */
/* contract: ilk_park_wake */
TEST(wake_wakes_sleepers_of_its_own_address_only) {
    enum { COUNT = 200 };
    static ILK_ATOMIC(uint32_t) words[COUNT];
    struct sleeper sleeper;
    start_sleepers(&sleeper, 1, &words[0]);
    for (int i = 1; i < COUNT; i++) {
        ilk_park_wake(&words[i], ILK_PARK_ALL);
    }
    check(!thread_is_done(&sleeper.thread));
    check(thread_sleeps(&sleeper.thread));
    ilk_park_wake(&words[0], 1);
    thread_join(&sleeper.thread);
}

/* Guarantee C. */
/* contract: ilk_park_wake, park.B, park.C, park.D */
TEST(wake_of_unmapped_memory_is_no_error) {
    size_t size = (size_t)sysconf(_SC_PAGESIZE);
    void *page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(page != MAP_FAILED);
    check_equal(munmap(page, size), 0);
    ilk_park_wake(page, ILK_PARK_ALL);
}

static void wait_until_timed_out(void *context) {
    struct sleeper *self = context;
    do {
        self->status = ilk_park_wait(self->word, 0, self->deadline_ns);
    } while (self->status == ILK_OK);
    check(ilk_now_ns() >= self->deadline_ns);
}

/* A wait that restarted its clock at each signal would not end: signals come until it has ended. */
/* contract: park.B, park.C, park.D */
TEST(signals_do_not_move_the_deadline) {
    thread_allow_interrupts();
    ILK_ATOMIC(uint32_t) word = 0;
    struct sleeper sleeper = {.word = &word, .deadline_ns = ilk_deadline_in_ns(MILLISECONDS(50))};
    thread_start(&sleeper.thread, wait_until_timed_out, &sleeper);
    while (!thread_is_done(&sleeper.thread)) {
        thread_interrupt(&sleeper.thread);
    }
    thread_join(&sleeper.thread);
    check_equal(sleeper.status, ILK_TIMEDOUT);
}
/* contract: ilk_barrier_wait, ilk_mutex_lock, ilk_park_wait, ilk_semaphore_wait */
/* contract: ilk_semaphore_wait_until */
TEST(wait_is_not_a_cancellation_point) {
    ILK_ATOMIC(uint32_t) word = 0;
    struct sleeper sleeper;
    start_sleepers(&sleeper, 1, &word);
    check_equal(pthread_cancel(sleeper.thread.id), 0);
    check(thread_sleeps(&sleeper.thread));
    ilk_atomic_store(&word, 1, memory_order_relaxed);
    ilk_park_wake(&word, 1);
    void *result;
    check_equal(pthread_join(sleeper.thread.id, &result), 0);
    check(sleeper.returned);
}

/* Guarantee A under load: each thread wakes the next one only. */
struct relay {
    ILK_ATOMIC(uint32_t) * words;
    uint32_t own, next;
    int rounds;
};

static void pass_the_token_on(void *context) {
    struct relay *relay = context;
    uint64_t deadline = ilk_deadline_in_ns(MILLISECONDS(60000));
    for (int round = 0; round < relay->rounds; round++) {
        while (ilk_atomic_load(&relay->words[relay->own], memory_order_acquire) == 0) {
            check_equal(ilk_park_wait(&relay->words[relay->own], 0, deadline), ILK_OK);
        }
        ilk_atomic_store(&relay->words[relay->own], 0, memory_order_relaxed);
        ilk_atomic_store(&relay->words[relay->next], 1, memory_order_release);
        ilk_park_wake(&relay->words[relay->next], 1);
    }
}
/* contract: park.A */
TEST(no_wake_up_is_lost) {
    enum { COUNT = 3 };
    ILK_ATOMIC(uint32_t) words[COUNT] = {1, 0, 0};
    struct relay relays[COUNT];
    for (uint32_t i = 0; i < COUNT; i++) {
        relays[i] = (struct relay){words, i, (i + 1) % COUNT, stress_rounds(20000)};
    }
    threads_run(COUNT, pass_the_token_on, relays, sizeof *relays);
    check_equal(ilk_atomic_load(&words[0], memory_order_relaxed), 1);
}
