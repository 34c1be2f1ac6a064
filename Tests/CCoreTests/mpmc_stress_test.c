/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_mpmc under load: every element pushed with success comes out once, each producer's in order, also
 * when waits time out, when pushes overwrite, and when the ring is closed at any moment.
 *
 * An element names its producer and its number there; a second word repeats both in another form, so
 * that a torn or early element is seen. It is plain memory: ThreadSanitizer sees an order that is
 * missing.
 */
#include "support/test.h"
#include <interlock/mpmc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_THREADS = 4 };

struct element {
    uint32_t producer, number;
    uint64_t check;
};

static struct element element_of(uint32_t producer, uint32_t number) {
    return (struct element){producer, number, ((uint64_t)producer << 32 | number) * 0x9E3779B9 + 1};
}

/* What one consumer, or one evicting producer, got hold of. */
struct received {
    uint64_t count[MOST_THREADS]; /* of each producer */
    uint64_t sum[MOST_THREADS];   /* of their numbers */
    uint64_t next[MOST_THREADS];  /* the lowest number that may still come, in order */
};

static void receive(struct received *received, const struct element *element) {
    struct element expected = element_of(element->producer, element->number);
    check(element->producer < MOST_THREADS);
    check_equal(element->check, expected.check);
    /* Guarantee A: what one thread pops of one producer comes in that producer's order. */
    check(element->number >= received->next[element->producer]);
    received->next[element->producer] = (uint64_t)element->number + 1;
    received->count[element->producer]++;
    received->sum[element->producer] += element->number;
}

struct load {
    ilk_mpmc *ring;
    uint32_t count; /* each producer pushes numbers 0 to count - 1 */
    int producers;
    ILK_ATOMIC(int) producers_left;
    bool overwrites;
};

struct worker {
    struct load *load;
    bool produces;
    uint32_t index, random;
    struct received received; /* by a consumer; by a producer, what it evicted */
};

static void produce(struct worker *self) {
    struct load *load = self->load;
    ilk_mpmc *ring = load->ring;
    uint32_t next = 0;
    while (next < load->count) {
        struct element batch[4];
        uint32_t choice = next_random(&self->random) % 8;
        size_t want = next_random(&self->random) % 4 + 1;
        want = want < load->count - next ? want : load->count - next;
        for (size_t i = 0; i < want; i++) {
            batch[i] = element_of(self->index, next + (uint32_t)i);
        }
        if (load->overwrites) {
            struct element evicted;
            if (ilk_mpmc_push_overwriting(ring, batch, sizeof *batch, &evicted)) {
                receive(&self->received, &evicted);
            }
            next++;
        } else if (choice < 3) {
            check_equal(ilk_mpmc_push_until(ring, batch, sizeof *batch, ILK_FOREVER), ILK_OK);
            next++;
        } else if (choice < 4) {
            uint64_t soon = ilk_deadline_in_ns(next_random(&self->random) % 20000);
            next += ilk_mpmc_push_until(ring, batch, sizeof *batch, soon) == ILK_OK ? 1 : 0;
        } else if (choice < 5) {
            next += ilk_mpmc_try_push(ring, batch, sizeof *batch) ? 1 : 0;
        } else if (choice < 7) {
            next += (uint32_t)ilk_mpmc_try_push_many(ring, batch, want, sizeof *batch);
        } else {
            struct element *slots = ilk_mpmc_reserve(ring, &want);
            for (size_t i = 0; i < want; i++) {
                slots[i] = batch[i];
            }
            if (slots != NULL) {
                ilk_mpmc_commit(ring, want);
                next += (uint32_t)want;
            }
        }
    }
    if (ilk_atomic_fetch_sub(&load->producers_left, 1, memory_order_relaxed) == 1) {
        ilk_mpmc_close(ring);
    }
}

static void consume(struct worker *self) {
    ilk_mpmc *ring = self->load->ring;
    for (;;) {
        struct element batch[4];
        uint32_t choice = next_random(&self->random) % 8;
        size_t want = next_random(&self->random) % 4 + 1;
        if (choice < 4) {
            uint64_t deadline =
                choice == 3 ? ilk_deadline_in_ns(next_random(&self->random) % 20000) : ILK_FOREVER;
            ilk_status status = ilk_mpmc_pop_until(ring, batch, sizeof *batch, deadline);
            if (status == ILK_CLOSED) {
                return;
            }
            if (status == ILK_OK) {
                receive(&self->received, batch);
            }
        } else if (choice < 5) {
            if (ilk_mpmc_try_pop(ring, batch, sizeof *batch)) {
                receive(&self->received, batch);
            }
        } else if (choice < 7) {
            size_t count = ilk_mpmc_try_pop_many(ring, batch, want, sizeof *batch);
            for (size_t i = 0; i < count; i++) {
                receive(&self->received, &batch[i]);
            }
        } else {
            const struct element *shown = ilk_mpmc_peek(ring, &want);
            for (size_t i = 0; i < want; i++) {
                receive(&self->received, &shown[i]);
            }
            if (shown != NULL) {
                ilk_mpmc_release(ring, want);
            }
        }
    }
}

static void work(void *context) {
    struct worker *self = context;
    if (self->produces) {
        produce(self);
    } else {
        consume(self);
    }
}

static void run_load(size_t capacity, int producers, int consumers, int count, bool overwrites) {
    struct load load = {
        .count = (uint32_t)stress_rounds(count), .producers = producers, .overwrites = overwrites};
    ilk_atomic_store(&load.producers_left, producers, memory_order_relaxed);
    check_equal(ilk_mpmc_create(&load.ring, capacity, sizeof(struct element)), ILK_OK);
    struct worker workers[2 * MOST_THREADS];
    memset(workers, 0, sizeof workers);
    uint32_t seed = (uint32_t)ilk_now_ns();
    printf("capacity %zu, %d producers, %d consumers, seed %u\n", capacity, producers, consumers,
           (unsigned)seed);
    fflush(stdout);
    int threads = producers + consumers;
    for (int i = 0; i < threads; i++) {
        workers[i].load = &load;
        workers[i].produces = i < producers;
        workers[i].index = (uint32_t)i;
        workers[i].random = (seed + (uint32_t)i * 2654435761U) | 1;
    }
    threads_run(threads, work, workers, sizeof *workers);
    for (int producer = 0; producer < producers; producer++) {
        uint64_t received = 0, sum = 0;
        for (int i = 0; i < threads; i++) {
            received += workers[i].received.count[producer];
            sum += workers[i].received.sum[producer];
        }
        check_equal(received, load.count);
        check_equal(sum, (uint64_t)load.count * (load.count - 1) / 2);
    }
    check_equal(ilk_mpmc_count(load.ring), 0);
    ilk_mpmc_destroy(load.ring);
}

static void every_element_comes_out_once_and_in_its_producers_order(void **state) {
    (void)state;
    run_load(1, 1, 1, 20000, false);
    run_load(1, 3, 3, 3000, false);
    run_load(3, 2, 2, 20000, false);
    run_load(64, 4, 4, 20000, false);
    run_load(1000, 2, 2, 40000, false);
}

static void overwriting_loses_nothing_but_what_it_hands_back(void **state) {
    (void)state;
    run_load(1, 2, 1, 20000, true);
    run_load(3, 3, 1, 20000, true);
    run_load(16, 4, 2, 20000, true);
}

/* All sides sleep all the time. One lost wake-up and nobody wakes. */
struct turn {
    ilk_mpmc *from, *to;
    int rounds;
};

static void pass_on(void *context) {
    struct turn *turn = context;
    for (int round = 0; round < turn->rounds; round++) {
        uint64_t token;
        check_equal(ilk_mpmc_pop_until(turn->from, &token, sizeof token, ILK_FOREVER), ILK_OK);
        check_equal(ilk_mpmc_push_until(turn->to, &token, sizeof token, ILK_FOREVER), ILK_OK);
    }
}

static void no_wake_up_is_lost(void **state) {
    (void)state;
    enum { COUNT = 4 };
    ilk_mpmc *rings[2];
    struct turn turns[COUNT];
    uint64_t token = 42;
    for (int i = 0; i < 2; i++) {
        check_equal(ilk_mpmc_create(&rings[i], 1, sizeof token), ILK_OK);
    }
    for (int i = 0; i < COUNT; i++) {
        turns[i] = (struct turn){rings[i % 2], rings[(i + 1) % 2], stress_rounds(20000)};
    }
    check(ilk_mpmc_try_push(rings[0], &token, sizeof token));
    threads_run(COUNT, pass_on, turns, sizeof *turns);
    check(ilk_mpmc_try_pop(rings[0], &token, sizeof token));
    check_equal(token, 42);
    ilk_mpmc_destroy(rings[0]);
    ilk_mpmc_destroy(rings[1]);
}

/* Guarantee B: a close at any moment. */
struct race {
    ilk_mpmc *ring;
    pthread_barrier_t begin;
    bool overwrites;
    ILK_ATOMIC(uint64_t) pushed, popped, sum_pushed, sum_popped;
};

static void push_until_closed(void *context) {
    struct race *race = context;
    pthread_barrier_wait(&race->begin);
    uint64_t count = 0, sum = 0, value = 0;
    for (;;) {
        value++;
        if (race->overwrites) {
            uint64_t evicted;
            if (ilk_mpmc_push_overwriting(race->ring, &value, sizeof value, &evicted)) {
                if (evicted == value && ilk_mpmc_is_closed(race->ring)) {
                    break; /* given back, or an equal one evicted as the ring closed: either way even */
                }
                count--;
                sum -= evicted;
            }
        } else if (ilk_mpmc_push_until(race->ring, &value, sizeof value, ILK_FOREVER) != ILK_OK) {
            break;
        }
        count++;
        sum += value;
    }
    ilk_atomic_fetch_add(&race->pushed, count, memory_order_relaxed);
    ilk_atomic_fetch_add(&race->sum_pushed, sum, memory_order_relaxed);
}

static void pop_until_closed(void *context) {
    struct race *race = context;
    pthread_barrier_wait(&race->begin);
    uint64_t count = 0, sum = 0, value;
    while (ilk_mpmc_pop_until(race->ring, &value, sizeof value, ILK_FOREVER) == ILK_OK) {
        count++;
        sum += value;
    }
    ilk_atomic_fetch_add(&race->popped, count, memory_order_relaxed);
    ilk_atomic_fetch_add(&race->sum_popped, sum, memory_order_relaxed);
}

static void nothing_pushed_with_success_is_lost_to_a_racing_close(void **state) {
    (void)state;
    int rounds = stress_rounds(2000);
    for (int round = 0; round < rounds; round++) {
        struct race race = {.overwrites = round % 2 == 1};
        check_equal(ilk_mpmc_create(&race.ring, 1 + (size_t)round % 5, sizeof(uint64_t)), ILK_OK);
        pthread_barrier_init(&race.begin, NULL, 5);
        struct thread threads[4];
        for (int i = 0; i < 4; i++) {
            thread_start(&threads[i], i % 2 == 0 ? push_until_closed : pop_until_closed, &race);
        }
        pthread_barrier_wait(&race.begin);
        for (int i = 0; i < round % 300; i++) {
            ilk_cpu_relax();
        }
        ilk_mpmc_close(race.ring);
        for (int i = 0; i < 4; i++) {
            thread_join(&threads[i]);
        }
        check_equal(ilk_atomic_load(&race.popped, memory_order_relaxed),
                    ilk_atomic_load(&race.pushed, memory_order_relaxed));
        check_equal(ilk_atomic_load(&race.sum_popped, memory_order_relaxed),
                    ilk_atomic_load(&race.sum_pushed, memory_order_relaxed));
        pthread_barrier_destroy(&race.begin);
        ilk_mpmc_destroy(race.ring);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_element_comes_out_once_and_in_its_producers_order),
    cmocka_unit_test(overwriting_loses_nothing_but_what_it_hands_back),
    cmocka_unit_test(no_wake_up_is_lost),
    cmocka_unit_test(nothing_pushed_with_success_is_lost_to_a_racing_close),
};

TEST_MAIN(tests)
