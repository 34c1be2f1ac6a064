/* SPDX-License-Identifier: Apache-2.0
 *
 * Both rings under load: every pushed element comes out once, each producer's in order, also beside
 * time-outs, overwriting and a close. An element has its producer and its number, and both in another form in
 * a second word, so that a torn or early element is seen. It is plain memory: ThreadSanitizer sees a missing
 * order.
 */
#ifndef INTERLOCK_TESTS_RINGS_RING_STRESS_H
#define INTERLOCK_TESTS_RINGS_RING_STRESS_H

#include "rings/ring_test.h"
#include <stdio.h>

struct element {
    uint32_t producer, number;
    uint64_t check;
};

static inline struct element element_of(uint32_t producer, uint32_t number) {
    return (struct element){producer, number, ((uint64_t)producer << 32 | number) * 0x9E3779B9 + 1};
}

/* What one consumer popped, or one producer evicted. */
struct received {
    uint64_t count[MOST_A_SIDE]; /* of each producer */
    uint64_t sum[MOST_A_SIDE];   /* of their numbers */
    uint64_t next[MOST_A_SIDE];  /* the lowest number that may still come */
};

static inline void receive(struct received *received, const struct element *element) {
    struct element expected = element_of(element->producer, element->number);
    check(element->producer < MOST_A_SIDE);
    check_equal(element->check, expected.check);
    /* Guarantee A. */
    check(element->number >= received->next[element->producer]);
    received->next[element->producer] = (uint64_t)element->number + 1;
    received->count[element->producer]++;
    received->sum[element->producer] += element->number;
}

struct load {
    size_t capacity;
    int producers, consumers;
    int count; /* each producer pushes numbers 0 to count - 1 */
    enum push_verb push;
    enum pop_verb pop;
    bool is_cut_short; /* a further thread closes the ring, after `delay` pauses */
    int delay;
    ring_type *ring;
    ILK_ATOMIC(int) producers_left;
};

enum role { PRODUCER, CONSUMER, CLOSER };

struct worker {
    struct load *load;
    enum role role;
    uint32_t index, random;
    uint32_t pushed;
    struct received received;
};

enum { MOST_IN_A_PIECE = 7, SHORT_WAIT_NS = 20000 };

static inline uint64_t soon(struct worker *self) {
    return ilk_deadline_in_ns(next_random(&self->random) % SHORT_WAIT_NS);
}

/* ---- Pushing ---- */

/* A random verb, and the limit of its wait. */
static inline enum push_verb choose_push(struct worker *self, uint64_t *deadline_ns) {
    static const enum push_verb choices[] = {PUSH_UNTIL, PUSH_UNTIL, PUSH_UNTIL, PUSH_UNTIL,
                                             TRY_PUSH,   PUSH_MANY,  PUSH_MANY,  PUSH_IN_PLACE};
    const uint32_t choice = next_random(&self->random) % (sizeof choices / sizeof *choices);
    *deadline_ns = choice == 0 ? soon(self) : ILK_FOREVER;
    return choices[choice];
}

static inline size_t push_some(struct worker *self, size_t wanted) {
    ring_type *ring = self->load->ring;
    struct element batch[MOST_IN_A_PIECE], evicted;
    for (size_t i = 0; i < wanted; i++) {
        batch[i] = element_of(self->index, self->pushed + (uint32_t)i);
    }
    uint64_t deadline_ns = ILK_FOREVER;
    enum push_verb verb = self->load->push;
    switch (verb == ANY_PUSH ? choose_push(self, &deadline_ns) : verb) {
    case TRY_PUSH:
        return RING(try_push)(ring, batch, sizeof *batch) ? 1 : 0;
    case PUSH_UNTIL:
        return RING(push_until)(ring, batch, sizeof *batch, deadline_ns) == ILK_OK ? 1 : 0;
    case PUSH_MANY:
        return RING(try_push_many)(ring, batch, wanted, sizeof *batch);
    case PUSH_IN_PLACE: {
        struct element *slots = RING(reserve)(ring, &wanted);
        for (size_t i = 0; i < wanted; i++) {
            slots[i] = batch[i];
        }
        if (slots != NULL) {
            RING(commit)(ring, wanted);
        }
        return wanted;
    }
    case PUSH_OVERWRITING:
        if (ring_overwrite(ring, batch, sizeof *batch, &evicted)) {
            if (evicted.producer == self->index && evicted.number == self->pushed) {
                return 0; /* handed back: the ring is closed */
            }
            receive(&self->received, &evicted);
        }
        return 1;
    case ANY_PUSH:
        break;
    }
    return 0;
}

static inline void produce(struct worker *self) {
    struct load *load = self->load;
    while (self->pushed < (uint32_t)load->count) {
        const size_t left = (size_t)load->count - self->pushed;
        const size_t wanted = next_random(&self->random) % MOST_IN_A_PIECE + 1;
        const size_t pushed = push_some(self, wanted < left ? wanted : left);
        self->pushed += (uint32_t)pushed;
        if (pushed == 0 && load->is_cut_short && RING(is_closed)(load->ring)) {
            return;
        }
    }
    if (ilk_atomic_fetch_sub(&load->producers_left, 1, memory_order_relaxed) == 1) {
        RING(close)(load->ring);
    }
}

/* ---- Popping ---- */

static inline enum pop_verb choose_pop(struct worker *self, uint64_t *deadline_ns) {
    static const enum pop_verb choices[] = {POP_UNTIL, POP_UNTIL, POP_UNTIL, POP_UNTIL,
                                            TRY_POP,   POP_MANY,  POP_MANY,  POP_IN_PLACE};
    const uint32_t choice = next_random(&self->random) % (sizeof choices / sizeof *choices);
    *deadline_ns = choice == 0 ? soon(self) : ILK_FOREVER;
    return choices[choice];
}

static inline ilk_status pop_and_receive(struct worker *self, uint64_t deadline_ns) {
    struct element element;
    ilk_status status = RING(pop_until)(self->load->ring, &element, sizeof element, deadline_ns);
    if (status == ILK_OK) {
        receive(&self->received, &element);
    }
    return status;
}

/* ILK_OK if it popped any; ILK_CLOSED if none will come. */
static inline ilk_status pop_some(struct worker *self) {
    ring_type *ring = self->load->ring;
    struct element batch[MOST_IN_A_PIECE];
    size_t count = next_random(&self->random) % MOST_IN_A_PIECE + 1;
    uint64_t deadline_ns = ILK_FOREVER;
    const enum pop_verb verb = self->load->pop == ANY_POP ? choose_pop(self, &deadline_ns) : self->load->pop;
    if (verb == POP_UNTIL) {
        return pop_and_receive(self, deadline_ns);
    }
    if (verb == POP_IN_PLACE) {
        const struct element *shown = RING(peek)(ring, &count);
        for (size_t i = 0; i < count; i++) {
            receive(&self->received, &shown[i]);
        }
        if (shown != NULL) {
            RING(release)(ring, count);
        }
    } else {
        count = verb == POP_MANY ? RING(try_pop_many)(ring, batch, count, sizeof *batch)
                                 : RING(try_pop)(ring, batch, sizeof *batch);
        for (size_t i = 0; i < count; i++) {
            receive(&self->received, &batch[i]);
        }
    }
    return count > 0 ? ILK_OK : ILK_TIMEDOUT;
}

static inline void consume(struct worker *self) {
    for (ilk_status status = ILK_OK; status != ILK_CLOSED;) {
        status = pop_some(self);
        if (status == ILK_TIMEDOUT && self->load->pop != ANY_POP) {
            status = pop_and_receive(self, ILK_FOREVER);
        }
    }
}

/* ---- Loads ---- */

static inline void work(void *context) {
    struct worker *self = context;
    switch (self->role) {
    case PRODUCER:
        produce(self);
        break;
    case CONSUMER:
        consume(self);
        break;
    case CLOSER:
        for (int i = 0; i < self->load->delay; i++) {
            ilk_cpu_relax();
        }
        RING(close)(self->load->ring);
    }
}

static inline void run_load(struct load load) {
    const uint32_t seed = (uint32_t)ilk_now_ns();
    check_during(push_name(load.push), seed);
    if (!load.is_cut_short) {
        printf("capacity %zu, %d producers, %d consumers, %s, %s, seed %u\n", load.capacity, load.producers,
               load.consumers, push_name(load.push), pop_name(load.pop), (unsigned)seed);
        fflush(stdout);
    }
    load.count = stress_rounds(load.count);
    ilk_atomic_store(&load.producers_left, load.producers, memory_order_relaxed);
    load.ring = make_of(load.capacity, sizeof(struct element));
    struct worker workers[2 * MOST_A_SIDE + 1];
    memset(workers, 0, sizeof workers);
    const int both_sides = load.producers + load.consumers;
    for (int i = 0; i <= both_sides; i++) {
        workers[i].load = &load;
        workers[i].role = i < load.producers ? PRODUCER : i < both_sides ? CONSUMER : CLOSER;
        workers[i].index = (uint32_t)i;
        workers[i].random = (seed + (uint32_t)i * 2654435761U) | 1;
    }
    threads_run(both_sides + (load.is_cut_short ? 1 : 0), work, workers, sizeof *workers);
    for (int producer = 0; producer < load.producers; producer++) {
        const uint64_t pushed = workers[producer].pushed;
        uint64_t received = 0, sum = 0;
        for (int i = 0; i < both_sides; i++) {
            received += workers[i].received.count[producer];
            sum += workers[i].received.sum[producer];
        }
        check(load.is_cut_short || pushed == (uint64_t)load.count);
        check_equal(received, pushed);
        check_equal(sum, pushed * (pushed - 1) / 2);
    }
    check_equal(RING(count)(load.ring), 0);
    RING(destroy)(load.ring);
}

/* ---- Its count beside both sides ---- */

struct counted {
    ring_type *ring;
    enum role role; /* a closer only counts */
    item elements;
};

static inline void push_pop_or_count(void *context) {
    struct counted *self = context;
    for (item i = 0; self->role == PRODUCER && i < self->elements; i++) {
        check_equal(RING(push_until)(self->ring, &i, sizeof i, ILK_FOREVER), ILK_OK);
    }
    if (self->role == PRODUCER) {
        RING(close)(self->ring);
    }
    for (item value; self->role == CONSUMER;) {
        if (RING(pop_until)(self->ring, &value, sizeof value, ILK_FOREVER) == ILK_CLOSED) {
            break;
        }
    }
    while (self->role == CLOSER && !RING(is_closed)(self->ring)) {
        for (int probe = 0; probe < 100; probe++) {
            check(RING(count)(self->ring) <= RING(capacity)(self->ring));
        }
    }
}
/* contract: ilk_mpmc_count, ilk_spsc_count */
TEST(a_count_beside_both_sides_is_at_most_the_capacity) {
    for (size_t capacity = 1; capacity <= 4; capacity++) {
        ring_type *ring = make(capacity);
        const item elements = (item)stress_rounds(100000);
        struct counted all[] = {{ring, PRODUCER, elements}, {ring, CONSUMER, 0}, {ring, CLOSER, 0}};
        threads_run(3, push_pop_or_count, all, sizeof *all);
        RING(destroy)(ring);
    }
}

/* One to one by every pair of verbs, then the most a side by any verb. */
/* contract: mpmc.A, spsc.A */
TEST(every_element_comes_out_once_and_in_its_producers_order) {
    static const struct {
        enum push_verb push;
        enum pop_verb pop;
    } pairs[] = {
        {TRY_PUSH, TRY_POP}, {PUSH_UNTIL, POP_UNTIL}, {PUSH_MANY, POP_MANY}, {PUSH_IN_PLACE, POP_IN_PLACE}};
    static const size_t sizes[] = {1, 3, 64, 1000};
    for (size_t pair = 0; pair < sizeof pairs / sizeof *pairs; pair++) {
        for (size_t size = 0; size < sizeof sizes / sizeof *sizes; size++) {
            run_load((struct load){.capacity = sizes[size],
                                   .producers = 1,
                                   .consumers = 1,
                                   .count = sizes[size] == 1 ? 20000 : 200000,
                                   .push = pairs[pair].push,
                                   .pop = pairs[pair].pop});
        }
    }
    static const struct load crowds[] = {
        {.capacity = 1, .producers = 1, .consumers = 1, .count = 20000},
        {.capacity = 64, .producers = 1, .consumers = 1, .count = 20000},
        {.capacity = 1, .producers = 3, .consumers = 3, .count = 3000},
        {.capacity = 3, .producers = 2, .consumers = 2, .count = 20000},
        {.capacity = 64, .producers = 4, .consumers = 4, .count = 20000},
        {.capacity = 1000, .producers = 2, .consumers = 2, .count = 40000},
    };
    for (size_t crowd = 0; crowd < sizeof crowds / sizeof *crowds; crowd++) {
        if (crowds[crowd].producers <= MOST_A_SIDE && crowds[crowd].consumers <= MOST_A_SIDE) {
            struct load load = crowds[crowd];
            load.push = ANY_PUSH;
            load.pop = ANY_POP;
            run_load(load);
        }
    }
}

/* Capacity 1, so that both sides alternate and sleep: a lost wake-up is a hang. */
/* contract: ilk_mpmc_pop_until, ilk_mpmc_push_until, ilk_spsc_pop_until, ilk_spsc_push_until */
TEST(no_wake_up_is_lost) {
    run_load((struct load){.capacity = 1,
                           .producers = 1,
                           .consumers = 1,
                           .count = 100000,
                           .push = PUSH_UNTIL,
                           .pop = POP_UNTIL});
}

/* Guarantee B. */
/* contract: ilk_mpmc_close, ilk_spsc_close, mpmc.B, spsc.B */
TEST(nothing_pushed_with_success_is_lost_to_a_racing_close) {
    enum { TWO_OR_ONE = MOST_A_SIDE > 1 ? 2 : 1 };
    const int rounds = stress_rounds(5000);
    for (int round = 0; round < rounds; round++) {
        run_load((struct load){.capacity = 1 + (size_t)round % 5,
                               .producers = TWO_OR_ONE,
                               .consumers = TWO_OR_ONE,
                               .count = INT32_MAX,
                               .push = (enum push_verb)(round % (int)push_verbs()),
                               .pop = POP_UNTIL,
                               .is_cut_short = true,
                               .delay = round % 300});
    }
}

#endif
