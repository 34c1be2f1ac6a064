/* SPDX-License-Identifier: Apache-2.0
 *
 * What a signal handler may call, of both rings: after every instruction of the call that it interrupts
 * (support/stepping.h).
 */
#include "support/stepping.h"
#include "wait/spin.h"
#include <interlock/mpmc.h>
#include <interlock/spsc.h>
#include <signal.h>
#include <string.h>

typedef uint64_t item;

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
    /* Waits that do not spin: a spin repeats the try calls, and takes a minute to step through. */
    spsc->push_failed_spins = spsc->pop_failed_spins = ILK__MOST_FAILED_SPINS;
    ilk_atomic_store(&mpmc->producers_failed_spins, ILK__MOST_FAILED_SPINS, memory_order_relaxed);
    ilk_atomic_store(&mpmc->consumers_failed_spins, ILK__MOST_FAILED_SPINS, memory_order_relaxed);
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

struct interruption {
    call *interrupted, *handler, *drain;
    size_t filled;
    int turn; /* the handler's verb goes on from run to run */
    bool ordered;
};

static void prepare(void *context) {
    struct interruption *self = context;
    begin(self->filled, self->turn++);
}

static void interrupted(void *context) {
    ((struct interruption *)context)->interrupted();
}

static void handle(void *context) {
    ((struct interruption *)context)->handler();
}

/* Every item that was pushed comes out once. */
static void settle(void *context) {
    const struct interruption *self = context;
    self->drain();
    for (item value = 1; value <= pushed; value++) {
        check_equal(popped[value], 1);
    }
    check_equal(popped[pushed + 1], 0);
    check(!self->ordered || in_order);
    ilk_spsc_destroy(spsc);
    ilk_mpmc_destroy(mpmc);
}

/* After each instruction of each of `calls`, on an empty ring and a full one. */
static void interrupt_everywhere(call *const *calls, size_t count, call *handler, call *drain, bool ordered) {
    skip_unless_stepping();
    const struct stepped stepped = {prepare, interrupted, handle, settle};
    for (size_t which = 0; which < count; which++) {
        for (size_t filled = 0; filled <= CAPACITY; filled += CAPACITY) {
            struct interruption self = {calls[which], handler, drain, filled, 0, ordered};
            (void)step_everywhere(&stepped, &self);
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
/* contract: ilk_spsc_close */
TEST(a_handler_may_be_the_producer_of_spsc) {
    interrupt_everywhere(spsc_pops, COUNT(spsc_pops), spsc_produce, spsc_drain, true);
}
/* contract: ilk_spsc_close */
TEST(a_handler_may_be_the_consumer_of_spsc) {
    interrupt_everywhere(spsc_pushes, COUNT(spsc_pushes), spsc_consume, spsc_drain, true);
}
/* contract: ilk_mpmc_close, ilk_spsc_close */
TEST(a_handler_may_close_a_ring) {
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
/* contract: ilk_mpmc_close */
TEST(a_handler_may_try_calls_of_mpmc) {
    static call *const calls[] = {mpmc_try_push, mpmc_push_until, mpmc_push_many, mpmc_push_in_place,
                                  mpmc_try_pop,  mpmc_pop_until,  mpmc_pop_many,  mpmc_pop_in_place};
    interrupt_everywhere(calls, COUNT(calls), mpmc_use, mpmc_drain_all, false);
}

/* ---- Arm calls: the handler is the other side, or closes ---- */

static bool armed;
static unsigned hook_calls;

static void hear(void *context, ilk_ring_event event) {
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

struct arming {
    call *arm, *handler;
    size_t filled;
    bool handled;
};

static void prepare_arming(void *context) {
    struct arming *self = context;
    begin(self->filled, 0);
    ilk_spsc_set_notify(spsc, hear, NULL);
    ilk_mpmc_set_notify(mpmc, hear, NULL);
    hook_calls = 0;
    self->handled = false;
}

static void arm(void *context) {
    ((struct arming *)context)->arm();
}

static void handle_beside_arming(void *context) {
    struct arming *self = context;
    self->handled = true;
    self->handler();
}

/* Armed: what the handler did has called the hook. Not armed: the arm call has found it. */
static void settle_arming(void *context) {
    const struct arming *self = context;
    check(armed || self->handled);
    check_equal(hook_calls, armed && self->handled ? 1 : 0);
    ilk_spsc_destroy(spsc);
    ilk_mpmc_destroy(mpmc);
}
/* contract: ilk_mpmc_close, ilk_spsc_close */
TEST(a_handler_may_interrupt_an_arm_call) {
    skip_unless_stepping();
    static struct arming cases[] = {
        {.arm = spsc_arm_pop, .handler = spsc_try_push},
        {.arm = spsc_arm_pop, .handler = spsc_close},
        {.arm = spsc_arm_push, .handler = spsc_try_pop, .filled = CAPACITY},
        {.arm = spsc_arm_push, .handler = spsc_close, .filled = CAPACITY},
        {.arm = mpmc_arm_pop, .handler = mpmc_try_push},
        {.arm = mpmc_arm_pop, .handler = mpmc_close},
        {.arm = mpmc_arm_push, .handler = mpmc_try_pop, .filled = CAPACITY},
        {.arm = mpmc_arm_push, .handler = mpmc_close, .filled = CAPACITY},
    };
    const struct stepped stepped = {prepare_arming, arm, handle_beside_arming, settle_arming};
    for (size_t which = 0; which < COUNT(cases); which++) {
        (void)step_everywhere(&stepped, &cases[which]);
    }
}

/* ---- A thread that sleeps in the call ---- */

static ilk_mpmc *slept_in;

static void push_in_handler(int number) {
    const item value = 7;
    (void)!ilk_mpmc_try_push(slept_in, &value, sizeof value);
}

static void pop_asleep(void *context) {
    item *value = context;
    check_equal(ilk_mpmc_pop_until(slept_in, value, sizeof *value, ILK_FOREVER), ILK_OK);
}
/* contract: ilk_mpmc_close */
TEST(a_push_in_a_handler_ends_the_sleep_that_it_interrupted) {
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
