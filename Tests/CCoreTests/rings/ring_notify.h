/* SPDX-License-Identifier: Apache-2.0
 *
 * The hook of both rings: armed, it is called once when something comes. See also ring_notify_arm.h.
 */
/* contract: notify.h */
#ifndef INTERLOCK_TESTS_RINGS_RING_NOTIFY_H
#define INTERLOCK_TESTS_RINGS_RING_NOTIFY_H

#include "rings/ring_test.h"

struct calls {
    struct stage readable, writable;
};

static inline void count_call(void *context, ilk_ring_event event) {
    struct calls *calls = context;
    stage_advance(event == ILK_READABLE ? &calls->readable : &calls->writable);
}

static inline ring_type *make_with_hook(size_t capacity, struct calls *calls) {
    ring_type *ring = make(capacity);
    *calls = (struct calls){STAGE_INIT, STAGE_INIT};
    RING(set_notify)(ring, count_call, calls);
    return ring;
}

static inline bool pop(ring_type *ring, item *value) {
    return RING(try_pop)(ring, value, sizeof *value);
}
/* contract: ilk_mpmc_arm_pop, ilk_mpmc_arm_push, ilk_spsc_arm_pop, ilk_spsc_arm_push */
TEST(an_armed_hook_goes_off_for_an_element_once) {
    struct calls calls;
    ring_type *ring = make_with_hook(4, &calls);
    check(push(ring, 1)); /* not armed: no call */
    uint64_t value;
    check(pop(ring, &value));
    check_equal(stage_now(&calls.readable), 0);
    check(RING(arm_pop)(ring));
    check(RING(arm_pop)(ring)); /* again is harmless */
    check_equal(stage_now(&calls.readable), 0);
    check(push(ring, 2));
    check_equal(stage_now(&calls.readable), 1);
    check(push(ring, 3)); /* it went off: no second call */
    check_equal(stage_now(&calls.readable), 1);
    check_equal(stage_now(&calls.writable), 0);
    check(!RING(arm_pop)(ring)); /* two are there */
    RING(destroy)(ring);
}

TEST(an_armed_hook_goes_off_for_room_once) {
    struct calls calls;
    ring_type *ring = make_with_hook(2, &calls);
    check(!RING(arm_push)(ring)); /* there is room */
    check(push(ring, 1) && push(ring, 2));
    check(RING(arm_push)(ring));
    uint64_t value;
    check(pop(ring, &value));
    check_equal(stage_now(&calls.writable), 1);
    check(pop(ring, &value));
    check_equal(stage_now(&calls.writable), 1);
    check_equal(stage_now(&calls.readable), 0);
    RING(destroy)(ring);
}
/* contract: ilk_mpmc_arm_pop, ilk_mpmc_arm_push, ilk_spsc_arm_pop, ilk_spsc_arm_push */
TEST(close_sets_both_sides_off) {
    struct calls calls;
    ring_type *ring = make_with_hook(1, &calls);
    check(RING(arm_pop)(ring));
    RING(close)(ring);
    check_equal(stage_now(&calls.readable), 1);
    check(!RING(arm_pop)(ring)); /* none will ever come */
    check(!RING(arm_push)(ring));
    RING(destroy)(ring);
    ring = make_with_hook(1, &calls);
    check(push(ring, 1));
    check(RING(arm_push)(ring));
    RING(close)(ring);
    check_equal(stage_now(&calls.writable), 1);
    RING(destroy)(ring);
}

/* All verbs of a side: one call, with the commit and the release. */
/* contract: mpmc.E, notify.A, spsc.E */
TEST(every_verb_sets_the_hook_off) {
    enum { COUNT = 2 };
    item values[COUNT] = {1, 2};
    for (enum push_verb verb = TRY_PUSH; verb < push_verbs(); verb++) {
        check_during(push_name(verb), 0);
        struct calls calls;
        ring_type *ring = make_with_hook(COUNT, &calls);
        check(RING(arm_pop)(ring));
        if (verb == PUSH_IN_PLACE) {
            reserve_all(ring, values, COUNT);
            check_equal(stage_now(&calls.readable), 0);
            RING(commit)(ring, COUNT);
        } else {
            push_all(ring, verb, values, COUNT);
        }
        check_equal(stage_now(&calls.readable), 1);
        RING(destroy)(ring);
    }
    for (enum pop_verb verb = TRY_POP; verb < ANY_POP; verb++) {
        check_during(pop_name(verb), 0);
        struct calls calls;
        ring_type *ring = make_with_hook(COUNT, &calls);
        push_all(ring, PUSH_MANY, values, COUNT);
        check(RING(arm_push)(ring));
        if (verb == POP_IN_PLACE) {
            size_t count = COUNT;
            check(RING(peek)(ring, &count) != NULL);
            check_equal(stage_now(&calls.writable), 0);
            RING(release)(ring, count);
        } else {
            pop_all(ring, verb, values, COUNT);
        }
        check_equal(stage_now(&calls.writable), 1);
        RING(destroy)(ring);
    }
}
/* contract: ilk_mpmc_set_notify, ilk_spsc_set_notify */
TEST(the_hook_may_be_changed_and_taken_away) {
    struct calls first, second = {STAGE_INIT, STAGE_INIT};
    ring_type *ring = make_with_hook(2, &first);
    RING(set_notify)(ring, count_call, &second);
    check(RING(arm_pop)(ring));
    check(push(ring, 1));
    check_equal(stage_now(&first.readable), 0);
    check_equal(stage_now(&second.readable), 1);
    RING(set_notify)(ring, NULL, NULL);
    check(push(ring, 2));
    check_equal(stage_now(&second.readable), 1);
    RING(destroy)(ring);
}

TEST(an_armed_ring_may_be_destroyed) {
    struct calls calls;
    ring_type *ring = make_with_hook(1, &calls);
    check(RING(arm_pop)(ring));
    check(push(ring, 1));
    check(RING(arm_push)(ring));
    RING(destroy)(ring);
    check_equal(stage_now(&calls.readable), 1);
    check_equal(stage_now(&calls.writable), 0);
}

/* The hook runs outside every lock: it pops or pushes, and arms anew. */
struct client {
    ring_type *ring;
    uint64_t sum;
    int calls;
};

static inline void use_ring_in_hook(void *context, ilk_ring_event event) {
    struct client *client = context;
    uint64_t value = 0;
    client->calls++;
    if (event == ILK_READABLE) {
        check(pop(client->ring, &value)); /* the push has been completed */
        client->sum += value;
        check(!pop(client->ring, &value));
        check(RING(arm_pop)(client->ring));
    } else {
        check(push(client->ring, 7)); /* the pop has been completed */
        check(!push(client->ring, 8));
        check(RING(arm_push)(client->ring));
    }
}
/* contract: notify.C */
TEST(the_hook_may_use_the_ring) {
    struct client client = {.sum = 0};
    struct calls calls;
    client.ring = make_with_hook(1, &calls);
    RING(set_notify)(client.ring, use_ring_in_hook, &client);
    check(RING(arm_pop)(client.ring));
    for (uint64_t value = 1; value <= 10; value++) {
        check(push(client.ring, value)); /* always room: the hook has emptied it */
    }
    check_equal(client.sum, 55);
    check_equal(client.calls, 10);
    RING(destroy)(client.ring);
    client.ring = make_with_hook(1, &calls);
    RING(set_notify)(client.ring, use_ring_in_hook, &client);
    check(push(client.ring, 7));
    check(RING(arm_push)(client.ring));
    for (int pops = 0; pops < 10; pops++) {
        uint64_t value = 0;
        check(pop(client.ring, &value)); /* the hook has filled it */
        check_equal(value, 7);
    }
    check_equal(client.calls, 20);
    RING(destroy)(client.ring);
}

/* Each goes off for its own event. */
TEST(both_sides_may_be_armed) {
    struct calls calls;
    ring_type *ring = make_with_hook(1, &calls);
    check(push(ring, 1));
    check(RING(arm_push)(ring));
    check(!RING(arm_pop)(ring));
    uint64_t value;
    check(pop(ring, &value));
    check_equal(stage_now(&calls.writable), 1);
    check(RING(arm_pop)(ring));
    check(push(ring, 2));
    check_equal(stage_now(&calls.readable), 1);
    check_equal(stage_now(&calls.writable), 1);
    RING(destroy)(ring);
}

static inline void arm_pop_without_a_hook(void *context) {
    (void)!RING(arm_pop)(make(1));
}

static inline void arm_push_without_a_hook(void *context) {
    (void)!RING(arm_push)(make(1));
}
/* contract: ilk_mpmc_arm_pop, ilk_mpmc_arm_push, ilk_spsc_arm_pop, ilk_spsc_arm_push */
TEST(arming_without_a_hook_is_misuse) {
    expect_misuse(arm_pop_without_a_hook, NULL, RING_CALL(arm_pop), "hook");
    expect_misuse(arm_push_without_a_hook, NULL, RING_CALL(arm_push), "hook");
}

/* Both sides sleep only on what the hook advances: a missed call is a hang. */
struct stream {
    ring_type *ring;
    struct calls calls;
    uint64_t count;
};

static inline void push_by_hook(void *context) {
    struct stream *stream = context;
    for (uint64_t next = 0; next < stream->count;) {
        int heard = stage_now(&stream->calls.writable);
        if (push(stream->ring, next)) {
            next++;
        } else if (RING(arm_push)(stream->ring)) {
            stage_await(&stream->calls.writable, heard + 1);
        }
    }
    RING(close)(stream->ring);
}

static inline void pop_by_hook(void *context) {
    struct stream *stream = context;
    uint64_t next = 0;
    while (next < stream->count) {
        int heard = stage_now(&stream->calls.readable);
        uint64_t value;
        if (pop(stream->ring, &value)) {
            check_equal(value, next);
            next++;
        } else if (RING(arm_pop)(stream->ring)) {
            stage_await(&stream->calls.readable, heard + 1);
        }
    }
}

TEST(no_call_is_missed) {
    for (size_t capacity = 1; capacity <= 3; capacity++) {
        static struct stream stream;
        stream.ring = make_with_hook(capacity, &stream.calls);
        stream.count = (uint64_t)stress_rounds(20000);
        struct thread producer, consumer;
        thread_start(&consumer, pop_by_hook, &stream);
        thread_start(&producer, push_by_hook, &stream);
        thread_join(&producer);
        thread_join(&consumer);
        RING(destroy)(stream.ring);
    }
}

#endif
