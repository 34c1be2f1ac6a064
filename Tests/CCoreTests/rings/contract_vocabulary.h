/* SPDX-License-Identifier: Apache-2.0
 *
 * Both rings: any sequence of verbs on one thread is a bounded queue, with reservations and peeks open beside
 * the other side's verbs. The model is two counts: in and out.
 */
#ifndef INTERLOCK_TESTS_RINGS_CONTRACT_VOCABULARY_H
#define INTERLOCK_TESTS_RINGS_CONTRACT_VOCABULARY_H

#include "rings/ring_test.h"

enum { MOST_IN_A_BATCH = 6 };

struct sequence {
    ring_type *ring;
    size_t capacity;
    item in, out; /* the next to push and to pop */
    item *reserved;
    const item *shown;
    size_t reserved_count, shown_count;
    uint32_t random;
};

static inline size_t room_in(const struct sequence *now) {
    return now->capacity - (size_t)(now->in - now->out);
}

static inline size_t batch_size(struct sequence *now) {
    return next_random(&now->random) % MOST_IN_A_BATCH + 1;
}

static void step_try_push(struct sequence *now) {
    const bool pushed = push(now->ring, now->in);
    check_equal(pushed, room_in(now) > 0);
    now->in += pushed;
}

static void step_push_many(struct sequence *now) {
    item batch[MOST_IN_A_BATCH];
    const size_t count = batch_size(now);
    for (size_t i = 0; i < count; i++) {
        batch[i] = now->in + i;
    }
    const size_t pushed = RING(try_push_many)(now->ring, batch, count, sizeof *batch);
    check_equal(pushed, count < room_in(now) ? count : room_in(now));
    now->in += pushed;
}

static void step_push_until(struct sequence *now) {
    const bool pushed = RING(push_until)(now->ring, &now->in, sizeof now->in, 0) == ILK_OK;
    check_equal(pushed, room_in(now) > 0);
    now->in += pushed;
}

static void step_reserve_or_commit(struct sequence *now) {
    if (now->reserved == NULL) {
        now->reserved_count = batch_size(now);
        now->reserved = RING(reserve)(now->ring, &now->reserved_count);
        check_equal(now->reserved != NULL, room_in(now) > 0);
        return;
    }
    for (size_t i = 0; i < now->reserved_count; i++) {
        now->reserved[i] = now->in++;
    }
    RING(commit)(now->ring, now->reserved_count);
    now->reserved = NULL;
}

static void step_try_pop(struct sequence *now) {
    item value;
    const bool popped = RING(try_pop)(now->ring, &value, sizeof value);
    check_equal(popped, now->in != now->out);
    check(!popped || value == now->out);
    now->out += popped;
}

static void step_pop_many(struct sequence *now) {
    item batch[MOST_IN_A_BATCH];
    const size_t count = batch_size(now);
    const size_t popped = RING(try_pop_many)(now->ring, batch, count, sizeof *batch);
    check_equal(popped, count < now->in - now->out ? count : now->in - now->out);
    for (size_t i = 0; i < popped; i++) {
        check_equal(batch[i], now->out++);
    }
}

static void step_pop_until(struct sequence *now) {
    item value;
    const bool popped = RING(pop_until)(now->ring, &value, sizeof value, 0) == ILK_OK;
    check_equal(popped, now->in != now->out);
    check(!popped || value == now->out);
    now->out += popped;
}

static void step_peek_or_release(struct sequence *now) {
    if (now->shown == NULL) {
        now->shown_count = batch_size(now);
        now->shown = RING(peek)(now->ring, &now->shown_count);
        check_equal(now->shown != NULL, now->in != now->out);
        return;
    }
    for (size_t i = 0; i < now->shown_count; i++) {
        check_equal(now->shown[i], now->out++);
    }
    RING(release)(now->ring, now->shown_count);
    now->shown = NULL;
}

/* Which side's steps an open reservation or peek forbids. */
enum side_in_use { OF_PRODUCER, OF_CONSUMER, OF_NEITHER };

static const struct {
    const char *name;
    enum side_in_use forbidden_in_place;
    void (*step)(struct sequence *now);
} steps[] = {
    {"try_push", OF_PRODUCER, step_try_push},     {"try_push_many", OF_PRODUCER, step_push_many},
    {"push_until", OF_PRODUCER, step_push_until}, {"reserve or commit", OF_NEITHER, step_reserve_or_commit},
    {"try_pop", OF_CONSUMER, step_try_pop},       {"try_pop_many", OF_CONSUMER, step_pop_many},
    {"pop_until", OF_CONSUMER, step_pop_until},   {"peek or release", OF_NEITHER, step_peek_or_release},
};
/* contract: ilk_mpmc_reserve, ilk_spsc_close, ilk_spsc_peek, ilk_spsc_reserve, spsc.D, spsc.F */
TEST(any_sequence_of_verbs_is_a_bounded_queue) {
    const int rounds = stress_rounds(5000);
    for (uint32_t seed = 1; seed <= 60; seed++) {
        struct sequence now = {.capacity = seed % 9 + 1, .random = seed};
        now.ring = make(now.capacity);
        for (int round = 0; round < rounds; round++) {
            const size_t next = next_random(&now.random) % (sizeof steps / sizeof *steps);
            check_during(steps[next].name, seed);
            if (!(steps[next].forbidden_in_place == OF_PRODUCER && now.reserved != NULL) &&
                !(steps[next].forbidden_in_place == OF_CONSUMER && now.shown != NULL)) {
                steps[next].step(&now);
            }
        }
        RING(commit)(now.ring, now.reserved == NULL ? 0 : now.reserved_count);
        RING(release)(now.ring, now.shown == NULL ? 0 : now.shown_count);
        RING(destroy)(now.ring);
    }
}

#endif
