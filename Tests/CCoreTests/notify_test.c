/* SPDX-License-Identifier: Apache-2.0
 *
 * The rings' hook for those who do not sleep in a thread: armed, it goes off once something comes; nothing
 * between the last look and arming is missed. Every claim for both rings.
 */
#include "support/test.h"
#include <interlock/mpmc.h>
#include <interlock/spsc.h>

/* Both rings behind one face, for the verbs used here. */
struct ring {
    ilk_spsc *spsc; /* one of the two */
    ilk_mpmc *mpmc;
};

static bool push(struct ring *ring, uint64_t value) {
    return ring->spsc != NULL ? ilk_spsc_try_push(ring->spsc, &value, sizeof value)
                              : ilk_mpmc_try_push(ring->mpmc, &value, sizeof value);
}

static bool pop(struct ring *ring, uint64_t *value) {
    return ring->spsc != NULL ? ilk_spsc_try_pop(ring->spsc, value, sizeof *value)
                              : ilk_mpmc_try_pop(ring->mpmc, value, sizeof *value);
}

static bool arm_pop(struct ring *ring) {
    return ring->spsc != NULL ? ilk_spsc_arm_pop(ring->spsc) : ilk_mpmc_arm_pop(ring->mpmc);
}

static bool arm_push(struct ring *ring) {
    return ring->spsc != NULL ? ilk_spsc_arm_push(ring->spsc) : ilk_mpmc_arm_push(ring->mpmc);
}

static void close_ring(struct ring *ring) {
    if (ring->spsc != NULL) {
        ilk_spsc_close(ring->spsc);
    } else {
        ilk_mpmc_close(ring->mpmc);
    }
}

static void set_hook(struct ring *ring, ilk_notify hook, void *context) {
    if (ring->spsc != NULL) {
        ilk_spsc_set_notify(ring->spsc, hook, context);
    } else {
        ilk_mpmc_set_notify(ring->mpmc, hook, context);
    }
}

/* What the hook was called for. */
struct calls {
    struct stage readable, writable;
};

static void count_call(void *context, ilk_ring_event event) {
    struct calls *calls = context;
    stage_advance(event == ILK_READABLE ? &calls->readable : &calls->writable);
}

static void make(struct ring *ring, int which, size_t capacity, struct calls *calls) {
    *ring = (struct ring){NULL, NULL};
    *calls = (struct calls){STAGE_INIT, STAGE_INIT};
    if (which == 0) {
        check_equal(ilk_spsc_create(&ring->spsc, capacity, sizeof(uint64_t)), ILK_OK);
    } else {
        check_equal(ilk_mpmc_create(&ring->mpmc, capacity, sizeof(uint64_t)), ILK_OK);
    }
    set_hook(ring, count_call, calls);
}

static void destroy(struct ring *ring) {
    ilk_spsc_destroy(ring->spsc);
    ilk_mpmc_destroy(ring->mpmc);
}

static void an_armed_hook_goes_off_for_an_element_once(void **state) {
    (void)state;
    for (int which = 0; which < 2; which++) {
        struct ring ring;
        struct calls calls;
        make(&ring, which, 4, &calls);
        check(push(&ring, 1)); /* not armed: no call */
        uint64_t value;
        check(pop(&ring, &value));
        check_equal(stage_now(&calls.readable), 0);
        check(arm_pop(&ring));
        check(arm_pop(&ring)); /* again is harmless */
        check_equal(stage_now(&calls.readable), 0);
        check(push(&ring, 2));
        check_equal(stage_now(&calls.readable), 1);
        check(push(&ring, 3)); /* it went off: no second call */
        check_equal(stage_now(&calls.readable), 1);
        check_equal(stage_now(&calls.writable), 0);
        check(!arm_pop(&ring)); /* two are there */
        destroy(&ring);
    }
}

static void an_armed_hook_goes_off_for_room_once(void **state) {
    (void)state;
    for (int which = 0; which < 2; which++) {
        struct ring ring;
        struct calls calls;
        make(&ring, which, 2, &calls);
        check(!arm_push(&ring)); /* there is room */
        check(push(&ring, 1) && push(&ring, 2));
        int stray = stage_now(&calls.writable); /* an arm that answered false may still be up */
        check(arm_push(&ring));
        uint64_t value;
        check(pop(&ring, &value));
        check_equal(stage_now(&calls.writable), stray + 1);
        check(pop(&ring, &value));
        check_equal(stage_now(&calls.writable), stray + 1);
        check_equal(stage_now(&calls.readable), 0);
        destroy(&ring);
    }
}

static void close_sets_both_sides_off(void **state) {
    (void)state;
    for (int which = 0; which < 2; which++) {
        struct ring ring;
        struct calls calls;
        make(&ring, which, 1, &calls);
        check(arm_pop(&ring));
        close_ring(&ring);
        check_equal(stage_now(&calls.readable), 1);
        check(!arm_pop(&ring)); /* none will ever come */
        check(!arm_push(&ring));
        destroy(&ring);
        make(&ring, which, 1, &calls);
        check(push(&ring, 1));
        check(arm_push(&ring));
        close_ring(&ring);
        check_equal(stage_now(&calls.writable), 1);
        destroy(&ring);
    }
}

static void every_verb_sets_the_hook_off(void **state) {
    (void)state;
    for (int which = 0; which < 2; which++) {
        struct ring ring;
        struct calls calls;
        make(&ring, which, 2, &calls);
        uint64_t values[2] = {1, 2};
        size_t count = 2;
        check(arm_pop(&ring));
        check_equal(which == 0 ? ilk_spsc_try_push_many(ring.spsc, values, 2, sizeof *values)
                               : ilk_mpmc_try_push_many(ring.mpmc, values, 2, sizeof *values),
                    2);
        check_equal(stage_now(&calls.readable), 1);
        check(arm_push(&ring));
        check_equal(which == 0 ? ilk_spsc_try_pop_many(ring.spsc, values, 2, sizeof *values)
                               : ilk_mpmc_try_pop_many(ring.mpmc, values, 2, sizeof *values),
                    2);
        check_equal(stage_now(&calls.writable), 1);
        check(arm_pop(&ring));
        uint64_t *slots =
            which == 0 ? ilk_spsc_reserve(ring.spsc, &count) : ilk_mpmc_reserve(ring.mpmc, &count);
        check_equal(count, 2);
        slots[0] = 3;
        slots[1] = 4;
        check_equal(stage_now(&calls.readable), 1);
        if (which == 0) {
            ilk_spsc_commit(ring.spsc, 2);
        } else {
            ilk_mpmc_commit(ring.mpmc, 2);
        }
        check_equal(stage_now(&calls.readable), 2);
        check(arm_push(&ring));
        count = 2;
        check((which == 0 ? ilk_spsc_peek(ring.spsc, &count) : ilk_mpmc_peek(ring.mpmc, &count)) != NULL);
        check_equal(stage_now(&calls.writable), 1);
        if (which == 0) {
            ilk_spsc_release(ring.spsc, 2);
        } else {
            ilk_mpmc_release(ring.mpmc, 2);
        }
        check_equal(stage_now(&calls.writable), 2);
        destroy(&ring);
    }
}

static void the_hook_may_be_changed_and_taken_away(void **state) {
    (void)state;
    for (int which = 0; which < 2; which++) {
        struct ring ring;
        struct calls first, second = {STAGE_INIT, STAGE_INIT};
        make(&ring, which, 2, &first);
        set_hook(&ring, count_call, &second);
        check(arm_pop(&ring));
        check(push(&ring, 1));
        check_equal(stage_now(&first.readable), 0);
        check_equal(stage_now(&second.readable), 1);
        set_hook(&ring, NULL, NULL);
        check(push(&ring, 2));
        check_equal(stage_now(&second.readable), 1);
        destroy(&ring);
    }
}

/* A ring is destroyed with its hook armed: nobody is told, and that is no misuse. */
static void an_armed_ring_may_be_destroyed(void **state) {
    (void)state;
    for (int which = 0; which < 2; which++) {
        struct ring ring;
        struct calls calls;
        make(&ring, which, 1, &calls);
        check(arm_pop(&ring));
        check(push(&ring, 1));
        check(arm_push(&ring));
        destroy(&ring);
        check_equal(stage_now(&calls.readable), 1);
        check_equal(stage_now(&calls.writable), 0);
    }
}

/* The hook runs after the operation that set it off and outside every lock, so it may go on with the ring:
 * here it takes what came, puts something in its place and arms anew. */
struct client {
    struct ring ring;
    uint64_t sum;
    int calls;
};

static void use_ring_in_hook(void *context, ilk_ring_event event) {
    struct client *client = context;
    uint64_t value = 0;
    client->calls++;
    if (event == ILK_READABLE) {
        check(pop(&client->ring, &value)); /* the push has been completed */
        client->sum += value;
        check(!pop(&client->ring, &value));
        check(arm_pop(&client->ring));
    } else {
        check(push(&client->ring, 7)); /* the pop has been completed */
        check(!push(&client->ring, 8));
        check(arm_push(&client->ring));
    }
}

static void the_hook_may_use_the_ring(void **state) {
    (void)state;
    for (int which = 0; which < 2; which++) {
        struct client client = {.sum = 0};
        struct calls calls;
        make(&client.ring, which, 1, &calls);
        set_hook(&client.ring, use_ring_in_hook, &client);
        check(arm_pop(&client.ring));
        for (uint64_t value = 1; value <= 10; value++) {
            check(push(&client.ring, value)); /* always room: the hook has emptied it */
        }
        check_equal(client.sum, 55);
        check_equal(client.calls, 10);
        destroy(&client.ring);
        make(&client.ring, which, 1, &calls);
        set_hook(&client.ring, use_ring_in_hook, &client);
        check(push(&client.ring, 7));
        check(arm_push(&client.ring));
        for (int pops = 0; pops < 10; pops++) {
            uint64_t value = 0;
            check(pop(&client.ring, &value)); /* always an element: the hook has filled it */
            check_equal(value, 7);
        }
        check_equal(client.calls, 20);
        destroy(&client.ring);
    }
}

/* Arming for both sides at once: each goes off for its own event. */
static void both_sides_may_be_armed(void **state) {
    (void)state;
    for (int which = 0; which < 2; which++) {
        struct ring ring;
        struct calls calls;
        make(&ring, which, 1, &calls);
        check(push(&ring, 1));
        check(arm_push(&ring));
        check(!arm_pop(&ring));
        uint64_t value;
        int stray = stage_now(&calls.readable);
        check(pop(&ring, &value));
        check_equal(stage_now(&calls.writable), 1);
        check(arm_pop(&ring));
        check(push(&ring, 2));
        check_equal(stage_now(&calls.readable), stray + 1);
        check_equal(stage_now(&calls.writable), 1);
        destroy(&ring);
    }
}

/* SPSC only: who waits for the end of a closed ring hears that the last reservation was given up. */
static void giving_the_last_reservation_up_sets_the_hook_off(void **state) {
    (void)state;
    struct ring ring;
    struct calls calls;
    make(&ring, 0, 1, &calls);
    size_t count = 1;
    check(ilk_spsc_reserve(ring.spsc, &count) != NULL);
    close_ring(&ring);
    uint64_t value;
    check_equal(ilk_spsc_pop_until(ring.spsc, &value, sizeof value, 0), ILK_TIMEDOUT);
    check(arm_pop(&ring)); /* one may follow */
    int before = stage_now(&calls.readable);
    ilk_spsc_commit(ring.spsc, 0);
    check_equal(stage_now(&calls.readable), before + 1);
    check(!arm_pop(&ring));
    check_equal(ilk_spsc_pop_until(ring.spsc, &value, sizeof value, 0), ILK_CLOSED);
    destroy(&ring);
}

static void overwriting_sets_the_hook_off(void **state) {
    (void)state;
    struct ring ring;
    struct calls calls;
    make(&ring, 1, 1, &calls);
    uint64_t value = 1, evicted;
    check(arm_pop(&ring));
    check(!ilk_mpmc_push_overwriting(ring.mpmc, &value, sizeof value, &evicted));
    check_equal(stage_now(&calls.readable), 1);
    destroy(&ring);
}

static ilk_mpmc *mpmc_without_a_hook(void) {
    ilk_mpmc *ring = NULL;
    check_equal(ilk_mpmc_create(&ring, 1, 1), ILK_OK);
    return ring;
}

static ilk_spsc *spsc_without_a_hook(void) {
    ilk_spsc *ring = NULL;
    check_equal(ilk_spsc_create(&ring, 1, 1), ILK_OK);
    return ring;
}

static void arm_mpmc_pop(void *context) {
    (void)context;
    (void)!ilk_mpmc_arm_pop(mpmc_without_a_hook());
}
static void arm_mpmc_push(void *context) {
    (void)context;
    (void)!ilk_mpmc_arm_push(mpmc_without_a_hook());
}
static void arm_spsc_pop(void *context) {
    (void)context;
    (void)!ilk_spsc_arm_pop(spsc_without_a_hook());
}
static void arm_spsc_push(void *context) {
    (void)context;
    (void)!ilk_spsc_arm_push(spsc_without_a_hook());
}

static void arming_without_a_hook_is_misuse(void **state) {
    (void)state;
    expect_misuse(arm_mpmc_pop, NULL, "ilk_mpmc_arm_pop", "hook");
    expect_misuse(arm_mpmc_push, NULL, "ilk_mpmc_arm_push", "hook");
    expect_misuse(arm_spsc_pop, NULL, "ilk_spsc_arm_pop", "hook");
    expect_misuse(arm_spsc_push, NULL, "ilk_spsc_arm_push", "hook");
}

/* Both ends sleep by hooks only, on what the hooks advance. One call missed and neither goes on. */
struct stream {
    struct ring ring;
    struct calls calls;
    uint64_t count;
};

static void push_by_hook(void *context) {
    struct stream *stream = context;
    for (uint64_t next = 0; next < stream->count;) {
        int heard = stage_now(&stream->calls.writable);
        if (push(&stream->ring, next)) {
            next++;
        } else if (arm_push(&stream->ring)) {
            stage_await(&stream->calls.writable, heard + 1);
        }
    }
    close_ring(&stream->ring);
}

static void pop_by_hook(void *context) {
    struct stream *stream = context;
    uint64_t next = 0;
    while (next < stream->count) {
        int heard = stage_now(&stream->calls.readable);
        uint64_t value;
        if (pop(&stream->ring, &value)) {
            check_equal(value, next);
            next++;
        } else if (arm_pop(&stream->ring)) {
            stage_await(&stream->calls.readable, heard + 1);
        }
    }
}

static void no_call_is_missed(void **state) {
    (void)state;
    for (int which = 0; which < 2; which++) {
        for (size_t capacity = 1; capacity <= 3; capacity++) {
            static struct stream stream;
            make(&stream.ring, which, capacity, &stream.calls);
            stream.count = (uint64_t)stress_rounds(20000);
            struct thread producer, consumer;
            thread_start(&consumer, pop_by_hook, &stream);
            thread_start(&producer, push_by_hook, &stream);
            thread_join(&producer);
            thread_join(&consumer);
            destroy(&stream.ring);
        }
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(an_armed_hook_goes_off_for_an_element_once),
    cmocka_unit_test(an_armed_hook_goes_off_for_room_once),
    cmocka_unit_test(close_sets_both_sides_off),
    cmocka_unit_test(every_verb_sets_the_hook_off),
    cmocka_unit_test(the_hook_may_be_changed_and_taken_away),
    cmocka_unit_test(an_armed_ring_may_be_destroyed),
    cmocka_unit_test(the_hook_may_use_the_ring),
    cmocka_unit_test(both_sides_may_be_armed),
    cmocka_unit_test(giving_the_last_reservation_up_sets_the_hook_off),
    cmocka_unit_test(overwriting_sets_the_hook_off),
    cmocka_unit_test(arming_without_a_hook_is_misuse),
    cmocka_unit_test(no_call_is_missed),
};

TEST_MAIN(tests)
