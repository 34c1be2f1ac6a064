/* SPDX-License-Identifier: Apache-2.0
 *
 * The hook of both rings beside another thread. The first arm of a ring executes a heavy fence between raising its
 * flag and probing the ring. The linker puts __wrap_ilk__fence_heavy_alone there (CMakeLists.txt), for a test to
 * place what another thread does.
 */
/* contract: notify.h, spsc.h */
#ifndef INTERLOCK_TESTS_RINGS_RING_NOTIFY_ARM_H
#define INTERLOCK_TESTS_RINGS_RING_NOTIFY_ARM_H

#include "rings/ring_notify.h"
#include <interlock/inline/fence.h>

/* What the next such fence, and the next wake-up, of this thread call first; once. */
struct placed {
    void (*body)(void *context);
    void *context;
};
static __thread struct placed before_fence, before_wake;

static inline void run_placed(struct placed *placed) {
    void (*body)(void *context) = placed->body;
    placed->body = NULL;
    if (body != NULL) {
        body(placed->context);
    }
}

void __real_ilk__fence_heavy_alone(void);
void __wrap_ilk__fence_heavy_alone(void);
void __wrap_ilk__fence_heavy_alone(void) {
    run_placed(&before_fence);
    __real_ilk__fence_heavy_alone();
}

/* How many wake-ups this thread has sent to one word. */
static __thread const void *counted_word;
static __thread int counted_wakes;

void __real_ilk_park_wake(const ILK_ATOMIC(uint32_t) * word, uint32_t count);
void __wrap_ilk_park_wake(const ILK_ATOMIC(uint32_t) * word, uint32_t count);
void __wrap_ilk_park_wake(const ILK_ATOMIC(uint32_t) * word, uint32_t count) {
    counted_wakes += (const void *)word == counted_word ? 1 : 0;
    run_placed(&before_wake);
    __real_ilk_park_wake(word, count);
}

static inline void place(void (*body)(void *context), void *context) {
    before_fence = (struct placed){body, context};
}

/*   arming thread                    another thread
 *   arm_pop: finds nothing
 *   raises its flag
 *                                    pushes an element
 *   fences; finds the element:
 *   answers false                                                                                    */
static inline void push_one(void *context) {
    ring_type *ring = context;
    check(push(ring, 1));
}
/* contract: notify.B */
TEST(an_arm_that_answers_false_arms_nothing) {
    struct calls calls;
    uint64_t value;
    ring_type *ring = make_with_hook(4, &calls);
    place(push_one, ring);
    check(!RING(arm_pop)(ring));
    int before = stage_now(&calls.readable);
    check(pop(ring, &value) && push(ring, 2)); /* no call */
    check_equal(stage_now(&calls.readable), before);
    RING(destroy)(ring);
    ring = make_with_hook(1, &calls);
    check(push(ring, 1));
    check(!RING(arm_pop)(ring)); /* one is there */
    check(pop(ring, &value) && push(ring, 2));
    check_equal(stage_now(&calls.readable), 0);
    RING(destroy)(ring);
}

/*   arming thread                    producer
 *   arm_pop: finds nothing
 *                                    publishes an element
 *   raises its flag, finds the
 *   element: answers false
 *                                    reads the flags: does not call                                  */
static inline void publish_and_stop(void *context) {
    ring_publish_first(context);
}
/* contract: notify.B */
TEST(after_false_a_late_push_calls_no_thread) {
    struct calls calls;
    uint64_t value;
    ring_type *ring = make_with_hook(4, &calls);
    place(publish_and_stop, ring);
    check(!RING(arm_pop)(ring));
    check(pop(ring, &value));
    RING(set_notify)(ring, NULL, NULL); /* nothing is armed, so it may go */
    ring_finish_push(ring);
    check_equal(stage_now(&calls.readable), 0);
    check(push(ring, 2));
    check_equal(stage_now(&calls.readable), 0);
    RING(destroy)(ring);
}

/*   arming thread                    others
 *   arm_pop: raises its flag
 *                                    push an element, and take it out again
 *   finds nothing: if it answers true, the next element must call                                    */
static inline void push_and_pop_one(void *context) {
    ring_type *ring = context;
    uint64_t value;
    check(push(ring, 1));
    check(pop(ring, &value));
}
/* contract: notify.A */
TEST(an_arm_that_answers_true_is_up) {
    struct calls calls;
    ring_type *ring = make_with_hook(4, &calls);
    place(push_and_pop_one, ring);
    bool armed = RING(arm_pop)(ring);
    for (int again = 0; !armed && again < 3; again++) {
        armed = RING(arm_pop)(ring); /* no thread is beside it now */
    }
    check(armed);
    int before = stage_now(&calls.readable);
    check(push(ring, 2));
    check_equal(stage_now(&calls.readable), before + 1);
    RING(destroy)(ring);
}

/*   arming thread                    other side
 *   arms: raises its flag
 *                                    moves no element: a commit, or a release, of none
 *   finds nothing: answers true, and nothing calls                                                   */
static inline void commit_none(void *context) {
    RING(commit)(context, 0);
}
static inline void release_none(void *context) {
    RING(release)(context, 0);
}

TEST(what_moves_no_element_sets_nothing_off) {
    struct calls calls;
    ring_type *ring = make_with_hook(1, &calls);
    place(commit_none, ring);
    check(RING(arm_pop)(ring));
    commit_none(ring);
    check_equal(stage_now(&calls.readable), 0);
    check(push(ring, 1));
    check_equal(stage_now(&calls.readable), 1);
    place(release_none, ring);
    check(RING(arm_push)(ring));
    release_none(ring);
    check_equal(stage_now(&calls.writable), 0);
    RING(destroy)(ring);
}

/* ---- Taking the hook away ---- */

struct slow_hook {
    ring_type *ring;
    struct stage stage; /* 1: inside; 2: may leave */
    struct stage ended;
    struct calls calls;
};

static inline void stay_inside(void *context, ilk_ring_event event) {
    struct slow_hook *slow = context;
    stage_reach(&slow->stage, 1);
    stage_await(&slow->stage, 2);
    stage_reach(&slow->ended, 1);
}

static inline void push_into(void *context) {
    struct slow_hook *slow = context;
    check(push(slow->ring, 1));
}

static inline void take_hook_away(void *context) {
    struct slow_hook *slow = context;
    RING(set_notify)(slow->ring, count_call, &slow->calls);
    check_equal(stage_now(&slow->ended), 1); /* its context may be freed now */
}
/* contract: ilk_mpmc_set_notify, ilk_spsc_set_notify, mpmc.E, notify.D, spsc.E */
TEST(set_notify_waits_for_a_call_that_runs) {
    static struct slow_hook slow;
    slow = (struct slow_hook){.stage = STAGE_INIT, .ended = STAGE_INIT};
    slow.ring = make_with_hook(4, &slow.calls);
    RING(set_notify)(slow.ring, stay_inside, &slow);
    check(RING(arm_pop)(slow.ring));
    struct thread producer, owner;
    thread_start(&producer, push_into, &slow);
    stage_await(&slow.stage, 1);
    thread_start(&owner, take_hook_away, &slow);
    while (!thread_sleeps(&owner) && !thread_is_done(&owner)) {
    }
    stage_reach(&slow.stage, 2);
    thread_join(&owner);
    thread_join(&producer);
    uint64_t value;
    counted_word = (const void *)&slow.ring->hook_calls;
    for (int calls = 1; calls <= 3;
         calls++) { /* the ring goes on with the new one, which nothing waits for */
        check(pop(slow.ring, &value) && RING(arm_pop)(slow.ring));
        check(push(slow.ring, 2));
        check_equal(stage_now(&slow.calls.readable), calls);
    }
    check_equal(counted_wakes, 0);
    RING(destroy)(slow.ring);
}

static inline void take_itself_away(void *context, ilk_ring_event event) {
    struct slow_hook *slow = context;
    stage_advance(&slow->ended);
    RING(set_notify)(slow->ring, NULL, NULL);
}
/* contract: ilk_mpmc_set_notify, ilk_spsc_set_notify, notify.D */
TEST(a_hook_may_take_itself_away) {
    static struct slow_hook slow;
    slow = (struct slow_hook){.ended = STAGE_INIT};
    slow.ring = make_with_hook(4, &slow.calls);
    RING(set_notify)(slow.ring, take_itself_away, &slow);
    check(RING(arm_pop)(slow.ring));
    check(push(slow.ring, 1));
    check(push(slow.ring, 2));
    check_equal(stage_now(&slow.ended), 1);
    RING(destroy)(slow.ring);
}
/* contract: ilk_mpmc_set_notify, ilk_spsc_set_notify */
TEST(a_new_hook_finds_nothing_armed) {
    struct calls first, second = {STAGE_INIT, STAGE_INIT};
    uint64_t value;
    ring_type *ring = make_with_hook(1, &first);
    check(RING(arm_pop)(ring));
    check(push(ring, 1)); /* full, and the arm gone off */
    check(RING(arm_push)(ring));
    RING(set_notify)(ring, count_call, &second);
    check(pop(ring, &value));
    check_equal(stage_now(&second.writable), 0);
    check(RING(arm_pop)(ring));
    RING(set_notify)(ring, count_call, &first);
    check(push(ring, 1));
    check_equal(stage_now(&second.readable), 0);
    check_equal(stage_now(&first.readable), 1);
    RING(destroy)(ring);
}

/* ---- What an arm leaves behind ---- */

/* Within 1,024 elements and one batch, for batches of every size, copied and in place. */
enum { FENCED_ELEMENTS = 1024, LARGEST_BATCH = 16 };

static inline size_t push_batch(ring_type *ring, enum push_verb verb, size_t count) {
    const item values[LARGEST_BATCH] = {0};
    if (verb == PUSH_MANY) {
        return RING(try_push_many)(ring, values, count, sizeof *values);
    }
    item *slots = RING(reserve)(ring, &count);
    check(slots != NULL);
    memcpy(slots, values, count * sizeof *slots);
    RING(commit)(ring, count);
    return count;
}

TEST(the_fences_of_a_sleep_end_whatever_the_batch) {
    static const enum push_verb verbs[] = {PUSH_MANY, PUSH_IN_PLACE};
    for (size_t batch = 1; batch <= LARGEST_BATCH; batch++) {
        for (size_t i = 0; i < sizeof verbs / sizeof *verbs; i++) {
            check_during(push_name(verbs[i]), 0);
            struct calls calls;
            ring_type *ring = make_with_hook(64, &calls);
            check(RING(arm_pop)(ring));
            size_t pushed = 0;
            while (ring_is_fenced(ring) && pushed <= FENCED_ELEMENTS + batch) {
                const size_t count = push_batch(ring, verbs[i], batch);
                item values[LARGEST_BATCH];
                pop_all(ring, POP_MANY, values, count);
                pushed += count;
            }
            check(!ring_is_fenced(ring));
            RING(destroy)(ring);
        }
    }
}

#endif
