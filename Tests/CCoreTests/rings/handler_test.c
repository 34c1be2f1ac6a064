/* SPDX-License-Identifier: Apache-2.0
 *
 * What a signal handler may call, of both rings: at every instruction of the call that it interrupts. The
 * processor's trap flag stops the thread there, and SIGTRAP's handler makes the calls.
 */
#include "support/test.h"
#include <interlock/mpmc.h>
#include <interlock/spsc.h>
#include <signal.h>
#include <string.h>
#include <ucontext.h>

typedef uint64_t item;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__) || !defined(__x86_64__)
#define CANNOT_STEP 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define CANNOT_STEP 1
#endif
#endif

#if !defined(CANNOT_STEP)

/* ---- Steps ---- */

static volatile bool steps;
static volatile long instruction, stop_at;
static void (*volatile interruption)(void);

static void step(int number, siginfo_t *info, void *context) {
    (void)number;
    (void)info;
    const long long trap_flag = 0x100;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    if (steps && instruction++ == stop_at) {
        void (*const handler)(void) = interruption;
        steps = false;
        interruption = NULL;
        handler();
    }
    registers[REG_EFL] = steps ? registers[REG_EFL] | trap_flag : registers[REG_EFL] & ~trap_flag;
}

/* Each of the first 256; then at growing distances, for waits spin for thousands. */
static long next_stop(long stop) {
    return stop + 1 + stop / 256 * (stop / 3);
}

/* `call`, with `handler` at its instruction `stop`. False: it has fewer. */
static bool interrupt_at(long stop, void (*call)(void), void (*handler)(void)) {
    const struct sigaction action = {.sa_sigaction = step, .sa_flags = SA_SIGINFO};
    check_equal(sigaction(SIGTRAP, &action, NULL), 0);
    instruction = 0;
    stop_at = stop;
    interruption = handler;
    steps = true;
    check_equal(raise(SIGTRAP), 0);
    call();
    steps = false;
    return interruption == NULL;
}

/* ---- What goes in and comes out ---- */

enum { CAPACITY = 3, MOST_ITEMS = 64 };

static ilk_spsc *spsc;
static ilk_mpmc *mpmc;
static item pushed;                 /* items 1 to this are or were in the ring */
static unsigned popped[MOST_ITEMS]; /* how often each came out */
static item last_popped;            /* of ilk_spsc, in order */
static bool in_order, closed;
static int verb; /* of the handler's, in turn */

static void note_popped(item value) {
    check(value >= 1 && value < MOST_ITEMS);
    popped[value]++;
    in_order = in_order && value == last_popped + 1;
    last_popped = value;
}

static void begin(size_t filled, int turn) {
    check_equal(ilk_spsc_create(&spsc, CAPACITY, sizeof(item)), ILK_OK);
    check_equal(ilk_mpmc_create(&mpmc, CAPACITY, sizeof(item)), ILK_OK);
    pushed = last_popped = 0;
    memset(popped, 0, sizeof popped);
    in_order = true;
    closed = false;
    verb = turn;
    for (size_t i = 0; i < filled; i++) {
        const item value = ++pushed;
        check(ilk_spsc_try_push(spsc, &value, sizeof value));
        check(ilk_mpmc_try_push(mpmc, &value, sizeof value));
    }
}

/* The calls of one ring, by name. */
#define VERBS(ring)                                                                                          \
    static void ring##_try_push(void) {                                                                      \
        const item value = pushed + 1;                                                                       \
        pushed += ilk_##ring##_try_push(ring, &value, sizeof value) ? 1 : 0;                                 \
    }                                                                                                        \
    static void ring##_push_until(void) {                                                                    \
        const item value = pushed + 1;                                                                       \
        pushed += ilk_##ring##_push_until(ring, &value, sizeof value, 0) == ILK_OK ? 1 : 0;                  \
    }                                                                                                        \
    static void ring##_push_many(void) {                                                                     \
        const item values[2] = {pushed + 1, pushed + 2};                                                     \
        pushed += ilk_##ring##_try_push_many(ring, values, 2, sizeof *values);                               \
    }                                                                                                        \
    static void ring##_push_in_place(void) {                                                                 \
        size_t count = 1;                                                                                    \
        item *slot = ilk_##ring##_reserve(ring, &count);                                                     \
        if (slot != NULL) {                                                                                  \
            *slot = ++pushed;                                                                                \
            ilk_##ring##_commit(ring, 1);                                                                    \
        }                                                                                                    \
    }                                                                                                        \
    static void ring##_try_pop(void) {                                                                       \
        item value;                                                                                          \
        if (ilk_##ring##_try_pop(ring, &value, sizeof value)) {                                              \
            note_popped(value);                                                                              \
        }                                                                                                    \
    }                                                                                                        \
    static void ring##_pop_until(void) {                                                                     \
        item value;                                                                                          \
        const ilk_status status = ilk_##ring##_pop_until(ring, &value, sizeof value, 0);                     \
        if (status == ILK_OK) {                                                                              \
            note_popped(value);                                                                              \
        }                                                                                                    \
        check(status != ILK_CLOSED || closed);                                                               \
    }                                                                                                        \
    static void ring##_pop_many(void) {                                                                      \
        item values[2];                                                                                      \
        const size_t count = ilk_##ring##_try_pop_many(ring, values, 2, sizeof *values);                     \
        for (size_t i = 0; i < count; i++) {                                                                 \
            note_popped(values[i]);                                                                          \
        }                                                                                                    \
    }                                                                                                        \
    static void ring##_pop_in_place(void) {                                                                  \
        size_t count = 1;                                                                                    \
        const item *slot = ilk_##ring##_peek(ring, &count);                                                  \
        if (slot != NULL) {                                                                                  \
            note_popped(*slot);                                                                              \
            ilk_##ring##_release(ring, 1);                                                                   \
        }                                                                                                    \
    }                                                                                                        \
    static void ring##_close(void) {                                                                         \
        ilk_##ring##_close(ring);                                                                            \
        closed = true;                                                                                       \
    }                                                                                                        \
    static void ring##_ask(void) {                                                                           \
        check(ilk_##ring##_count(ring) <= ilk_##ring##_capacity(ring));                                      \
        check(!ilk_##ring##_is_closed(ring) || closed);                                                      \
    }                                                                                                        \
    static void ring##_drain(void) {                                                                         \
        for (item before = 0; before != last_popped || ilk_##ring##_count(ring) > 0;) {                      \
            before = last_popped;                                                                            \
            ring##_try_pop();                                                                                \
        }                                                                                                    \
    }

VERBS(spsc)
VERBS(mpmc)

typedef void call(void);

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* At each instruction of each of `calls`, `handler`; then every item that was pushed comes out once. */
static void interrupt_everywhere(call *const *calls, size_t count, call *handler, call *drain, bool ordered) {
    for (size_t which = 0; which < count; which++) {
        for (size_t filled = 0; filled <= CAPACITY; filled += CAPACITY) {
            bool was_there = true;
            for (long stop = 0; was_there; stop = next_stop(stop)) {
                begin(filled, (int)stop);
                was_there = interrupt_at(stop, calls[which], handler);
                drain();
                for (item value = 1; value <= pushed; value++) {
                    check_equal(popped[value], 1);
                }
                check_equal(popped[pushed + 1], 0);
                check(!ordered || in_order);
                ilk_spsc_destroy(spsc);
                ilk_mpmc_destroy(mpmc);
            }
        }
    }
}

/* ---- ilk_spsc: the side that the thread is not in ---- */

static call *const spsc_pushes[] = {spsc_try_push, spsc_push_until, spsc_push_many, spsc_push_in_place};
static call *const spsc_pops[] = {spsc_try_pop, spsc_pop_until, spsc_pop_many, spsc_pop_in_place};

/* Not the waits. */
static void spsc_produce(void) {
    static call *const turns[] = {spsc_try_push, spsc_push_many, spsc_push_in_place};
    turns[(size_t)verb % COUNT(turns)]();
    spsc_ask();
}

static void spsc_consume(void) {
    static call *const turns[] = {spsc_try_pop, spsc_pop_many, spsc_pop_in_place};
    turns[(size_t)verb % COUNT(turns)]();
    spsc_ask();
}

static void a_handler_may_be_the_producer_of_spsc(void **state) {
    (void)state;
    interrupt_everywhere(spsc_pops, COUNT(spsc_pops), spsc_produce, spsc_drain, true);
}

static void a_handler_may_be_the_consumer_of_spsc(void **state) {
    (void)state;
    interrupt_everywhere(spsc_pushes, COUNT(spsc_pushes), spsc_consume, spsc_drain, true);
}

static void a_handler_may_close_a_ring(void **state) {
    (void)state;
    static call *const mpmc_calls[] = {mpmc_try_push, mpmc_push_until, mpmc_push_many, mpmc_push_in_place,
                                       mpmc_try_pop,  mpmc_pop_until,  mpmc_pop_many,  mpmc_pop_in_place};
    interrupt_everywhere(spsc_pushes, COUNT(spsc_pushes), spsc_close, spsc_drain, true);
    interrupt_everywhere(spsc_pops, COUNT(spsc_pops), spsc_close, spsc_drain, true);
    interrupt_everywhere(mpmc_calls, COUNT(mpmc_calls), mpmc_close, mpmc_drain, true);
}

/* ---- ilk_mpmc: single elements and batches ---- */

/* The value of an interrupted push is chosen: the handler's are others. */
static void mpmc_use(void) {
    const item first = pushed + 10;
    const item values[2] = {first, first + 1};
    item out[2];
    size_t in = ilk_mpmc_try_push(mpmc, values, sizeof *values) ? 1 : 0;
    if (in == 1) {
        in += ilk_mpmc_try_push_many(mpmc, values + 1, 1, sizeof *values);
    }
    for (size_t i = 0; i < in; i++) {
        popped[first + i]--; /* to come out */
    }
    if (verb % 2 == 0) {
        const size_t count = ilk_mpmc_try_pop_many(mpmc, out, 2, sizeof *out);
        for (size_t i = 0; i < count; i++) {
            popped[out[i]]++;
        }
    }
    if (verb % 3 == 0 && ilk_mpmc_try_pop(mpmc, out, sizeof *out)) {
        popped[*out]++;
    }
    mpmc_ask();
}

static void mpmc_drain_all(void) {
    item value;
    while (ilk_mpmc_try_pop(mpmc, &value, sizeof value)) {
        popped[value]++;
    }
    for (item other = pushed + 2; other < MOST_ITEMS; other++) {
        check_equal(popped[other], 0);
    }
}

static void a_handler_may_try_calls_of_mpmc(void **state) {
    (void)state;
    static call *const calls[] = {mpmc_try_push, mpmc_push_until, mpmc_push_many, mpmc_push_in_place,
                                  mpmc_try_pop,  mpmc_pop_until,  mpmc_pop_many,  mpmc_pop_in_place};
    interrupt_everywhere(calls, COUNT(calls), mpmc_use, mpmc_drain_all, false);
}

/* ---- Arm calls: the handler is the other side, or closes ---- */

static bool armed;
static unsigned hook_calls;

static void hear(void *context, ilk_ring_event event) {
    (void)context;
    (void)event;
    hook_calls++;
}

#define ARMS(ring)                                                                                           \
    static void ring##_arm_pop(void) {                                                                       \
        armed = ilk_##ring##_arm_pop(ring);                                                                  \
    }                                                                                                        \
    static void ring##_arm_push(void) {                                                                      \
        armed = ilk_##ring##_arm_push(ring);                                                                 \
    }

ARMS(spsc)
ARMS(mpmc)

/* Armed: what the handler did has called the hook. Not armed: the arm call has found it. */
static void a_handler_may_interrupt_an_arm_call(void **state) {
    (void)state;
    static const struct {
        call *arm, *handler;
        size_t filled;
    } cases[] = {
        {spsc_arm_pop, spsc_try_push, 0},        {spsc_arm_pop, spsc_close, 0},
        {spsc_arm_push, spsc_try_pop, CAPACITY}, {spsc_arm_push, spsc_close, CAPACITY},
        {mpmc_arm_pop, mpmc_try_push, 0},        {mpmc_arm_pop, mpmc_close, 0},
        {mpmc_arm_push, mpmc_try_pop, CAPACITY}, {mpmc_arm_push, mpmc_close, CAPACITY},
    };
    for (size_t which = 0; which < COUNT(cases); which++) {
        bool was_there = true;
        for (long stop = 0; was_there; stop++) {
            begin(cases[which].filled, 0);
            ilk_spsc_set_notify(spsc, hear, NULL);
            ilk_mpmc_set_notify(mpmc, hear, NULL);
            hook_calls = 0;
            was_there = interrupt_at(stop, cases[which].arm, cases[which].handler);
            check(armed || was_there);
            check_equal(hook_calls, armed && was_there ? 1 : 0);
            ilk_spsc_destroy(spsc);
            ilk_mpmc_destroy(mpmc);
        }
    }
}

#else

#define NOT_STEPPED(claim)                                                                                   \
    static void claim(void **state) {                                                                        \
        (void)state;                                                                                         \
        print_message("skipped: instructions are stepped on x86-64 without sanitizers only\n");              \
        skip();                                                                                              \
    }
NOT_STEPPED(a_handler_may_be_the_producer_of_spsc)
NOT_STEPPED(a_handler_may_be_the_consumer_of_spsc)
NOT_STEPPED(a_handler_may_close_a_ring)
NOT_STEPPED(a_handler_may_try_calls_of_mpmc)
NOT_STEPPED(a_handler_may_interrupt_an_arm_call)

#endif

/* ---- A thread that sleeps in the call ---- */

static ilk_mpmc *slept_in;

static void push_in_handler(int number) {
    (void)number;
    const item value = 7;
    (void)!ilk_mpmc_try_push(slept_in, &value, sizeof value);
}

static void pop_asleep(void *context) {
    item *value = context;
    check_equal(ilk_mpmc_pop_until(slept_in, value, sizeof *value, ILK_FOREVER), ILK_OK);
}

static void a_push_in_a_handler_ends_the_sleep_that_it_interrupted(void **state) {
    (void)state;
    struct thread consumer;
    item value = 0;
    check_equal(ilk_mpmc_create(&slept_in, 1, sizeof value), ILK_OK);
    const struct sigaction action = {.sa_handler = push_in_handler};
    check_equal(sigaction(SIGUSR1, &action, NULL), 0);
    thread_start(&consumer, pop_asleep, &value);
    thread_await_sleep(&consumer);
    thread_interrupt(&consumer);
    thread_join(&consumer);
    check_equal(value, 7);
    ilk_mpmc_destroy(slept_in);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_handler_may_be_the_producer_of_spsc),
    cmocka_unit_test(a_handler_may_be_the_consumer_of_spsc),
    cmocka_unit_test(a_handler_may_close_a_ring),
    cmocka_unit_test(a_handler_may_try_calls_of_mpmc),
    cmocka_unit_test(a_handler_may_interrupt_an_arm_call),
    cmocka_unit_test(a_push_in_a_handler_ends_the_sleep_that_it_interrupted),
};

TEST_MAIN(tests)
