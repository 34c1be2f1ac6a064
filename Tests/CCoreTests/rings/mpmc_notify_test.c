/* SPDX-License-Identifier: Apache-2.0
 *
 * The hook of ilk_mpmc: both rings' tests, and many threads a side.
 */
#include "rings/mpmc_face.h"

#include "rings/ring_notify_arm.h"
/* contract: notify.A */
TEST(overwriting_sets_the_hook_off) {
    struct calls calls;
    ilk_mpmc *ring = make_with_hook(1, &calls);
    uint64_t value = 1, evicted;
    check(ilk_mpmc_arm_pop(ring));
    check(!ilk_mpmc_push_overwriting(ring, &value, sizeof value, &evicted));
    check_equal(stage_now(&calls.readable), 1);
    ilk_mpmc_destroy(ring);
}

/* Two threads arm at once. The arm that answers false must not take the other's with it.
 *   this thread                      another consumer
 *   arm_pop: raises its flag
 *                                    arm_pop: finds nothing, answers true
 *                                    (an element is published; its push has not read the flags)
 *   finds it: answers false
 *                                    the push reads them: calls */
static void arm_then_publish_and_stop(void *context) {
    ilk_mpmc *ring = context;
    check(ilk_mpmc_arm_pop(ring));
    publish_and_stop(ring);
}
/* contract: notify.B */
TEST(an_arm_that_answers_false_leaves_anothers_up) {
    struct calls calls;
    uint64_t value;
    ilk_mpmc *ring = make_with_hook(4, &calls);
    place(arm_then_publish_and_stop, ring);
    check(!ilk_mpmc_arm_pop(ring));
    check_equal(stage_now(&calls.readable), 0);
    ring_finish_push(ring);
    check_equal(stage_now(&calls.readable), 1);
    check(pop(ring, &value) && push(ring, 2)); /* it went off: no second call */
    check_equal(stage_now(&calls.readable), 1);
    ilk_mpmc_destroy(ring);
}

/* A thread that leaves the arm call may have to wake a sleeper, but must not call the hook: its caller may
 * hold a lock that the hook takes.
 *   this thread              another consumer           producer
 *                            pop_until: registered
 *   arm_pop: raises its flag
 *                                                       publishes, and stops
 *   finds the element, leaves */
struct stop {
    ilk_mpmc *ring;
    struct stage stage; /* 1: registered as a waiter; 2: go on */
};

static void stop_until_released(void *context) {
    struct stop *stop = context;
    stage_reach(&stop->stage, 1);
    stage_await(&stop->stage, 2);
}

static void pop_slowly(void *context) {
    struct stop *stop = context;
    uint64_t value;
    place(stop_until_released, stop);
    check_equal(ilk_mpmc_pop_until(stop->ring, &value, sizeof value, ILK_FOREVER), ILK_OK);
}

static __thread bool is_arming;
static void must_not_be_arming(void *context, ilk_ring_event event) {
    check(!is_arming);
}
/* contract: notify.C */
TEST(the_hook_never_runs_on_the_thread_that_arms) {
    struct calls calls;
    ilk_mpmc *ring = make_with_hook(4, &calls);
    ilk_mpmc_set_notify(ring, must_not_be_arming, NULL);
    struct stop stop = {ring, STAGE_INIT};
    struct thread consumer;
    thread_start(&consumer, pop_slowly, &stop);
    stage_await(&stop.stage, 1);
    place(publish_and_stop, ring);
    is_arming = true;
    check(!ilk_mpmc_arm_pop(ring));
    is_arming = false;
    stage_reach(&stop.stage, 2);
    ring_finish_push(ring);
    thread_join(&consumer);
    ilk_mpmc_destroy(ring);
}

/* Close wakes both sides' sleepers before it calls the hook, which may wait for them. */
static void push_and_be_refused(void *context) {
    ilk_mpmc *ring = context;
    uint64_t value = 1;
    check_equal(ilk_mpmc_push_until(ring, &value, sizeof value, ILK_FOREVER), ILK_CLOSED);
}

static void join_in_hook(void *context, ilk_ring_event event) {
    check_equal(event, ILK_READABLE);
    thread_join(context);
}
/* contract: notify.C */
TEST(close_has_woken_everyone_when_it_calls_the_hook) {
    struct calls calls;
    ilk_mpmc *ring = make_with_hook(1, &calls);
    static struct thread producer;
    ilk_mpmc_set_notify(ring, join_in_hook, &producer);
    size_t count = 1;
    uint64_t *slot = ilk_mpmc_reserve(ring, &count);
    check(slot != NULL);
    *slot = 5;
    check(ilk_mpmc_arm_pop(ring));
    thread_start(&producer, push_and_be_refused, ring);
    thread_await_sleep(&producer);
    ilk_mpmc_close(ring);
    ilk_mpmc_commit(ring, 1);
    ilk_mpmc_destroy(ring);
}

/* ---- A waiter that leaves, and the hook ---- */

/* Leaving passes a wake-up on to the next waiter; the hook is foreign code, and may take its time.
 *   consumer                         producer
 *                                    sleeps: full
 *   pops all; arms
 *     wakes it
 *                                    pushes; leaves its wait; calls the hook                         */
struct leaving {
    ilk_mpmc *ring;
    struct calls calls;
};

static void hear_once_left(void *context, ilk_ring_event event) {
    struct leaving *leaving = context;
    const uint64_t waiting = ilk_atomic_load(&leaving->ring->producers_waiting, memory_order_relaxed);
    check_equal(waiting & ILK__MPMC_THREADS, 0);
    count_call(&leaving->calls, event);
}

static void push_asleep(void *context) {
    const item value = 1;
    check_equal(ilk_mpmc_push_until(context, &value, sizeof value, ILK_FOREVER), ILK_OK);
}

static void arm_now(void *context) {
    check(ilk_mpmc_arm_pop(context));
}

TEST(a_waiter_has_left_its_wait_before_it_calls_the_hook) {
    enum { COUNT = 2 };
    static struct leaving leaving;
    leaving.ring = make_with_hook(COUNT, &leaving.calls);
    ilk_mpmc_set_notify(leaving.ring, hear_once_left, &leaving);
    check(push(leaving.ring, 1) && push(leaving.ring, 2));
    struct thread producer;
    thread_start(&producer, push_asleep, leaving.ring);
    thread_await_sleep(&producer);
    before_wake = (struct placed){arm_now, leaving.ring};
    item values[COUNT];
    check_equal(ilk_mpmc_try_pop_many(leaving.ring, values, COUNT, sizeof *values), COUNT);
    thread_join(&producer);
    check_equal(stage_now(&leaving.calls.readable), 1);
    ilk_mpmc_destroy(leaving.ring);
}
