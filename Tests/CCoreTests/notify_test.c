/* SPDX-License-Identifier: Apache-2.0
 *
 * The rings' hook for those who do not sleep in a thread: armed, it goes off once something comes; nothing
 * between the last look and arming is missed. Every claim for both rings.
 *
 * The first arm of a ring goes through the heavy fence between raising its flag and probing the ring.
 * The linker puts __wrap_ilk__fence_heavy there (CMakeLists.txt), so that a test can place what another
 * thread does in between.
 */
#include "support/test.h"
#include <interlock/inline/fence.h>
#include <interlock/mpmc.h>
#include <interlock/spsc.h>
#include <string.h>

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

/* What this thread's next heavy fence meets; once. */
static __thread void (*placed)(void *context);
static __thread void *placed_context;

void __real_ilk__fence_heavy(void);
void __wrap_ilk__fence_heavy(void);
void __wrap_ilk__fence_heavy(void) {
    void (*body)(void *context) = placed;
    placed = NULL;
    if (body != NULL) {
        body(placed_context);
    }
    __real_ilk__fence_heavy();
}

static void place(void (*body)(void *context), void *context) {
    placed = body;
    placed_context = context;
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
        check(arm_push(&ring));
        uint64_t value;
        check(pop(&ring, &value));
        check_equal(stage_now(&calls.writable), 1);
        check(pop(&ring, &value));
        check_equal(stage_now(&calls.writable), 1);
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
        check(pop(&ring, &value));
        check_equal(stage_now(&calls.writable), 1);
        check(arm_pop(&ring));
        check(push(&ring, 2));
        check_equal(stage_now(&calls.readable), 1);
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

/* SPSC only: one who has slots or elements open in place need not wait for any. */
static void what_is_reserved_is_room_and_what_is_shown_is_there(void **state) {
    (void)state;
    struct ring ring;
    struct calls calls;
    make(&ring, 0, 1, &calls);
    size_t count = 1;
    uint64_t *slot = ilk_spsc_reserve(ring.spsc, &count);
    check(slot != NULL);
    check(!arm_push(&ring));
    *slot = 1;
    ilk_spsc_commit(ring.spsc, 1);
    check(arm_push(&ring)); /* full */
    count = 1;
    check(ilk_spsc_peek(ring.spsc, &count) != NULL);
    check(!arm_pop(&ring));
    check_equal(stage_now(&calls.writable), 0);
    ilk_spsc_release(ring.spsc, 1);
    check_equal(stage_now(&calls.writable), 1);
    check(arm_pop(&ring)); /* empty */
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

/*   arming thread                    another thread
 *   arm_pop: finds nothing
 *   raises its flag
 *                                    pushes an element
 *   heavy fence; finds the element:
 *   answers false                                                                                    */
static void push_one(void *context) {
    struct ring *ring = context;
    check(push(ring, 1));
}

static void an_arm_that_answers_false_arms_nothing(void **state) {
    (void)state;
    for (int which = 0; which < 2; which++) {
        struct ring ring;
        struct calls calls;
        uint64_t value;
        make(&ring, which, 4, &calls);
        place(push_one, &ring);
        check(!arm_pop(&ring));
        int before = stage_now(&calls.readable);
        check(pop(&ring, &value) && push(&ring, 2)); /* calls nobody */
        check_equal(stage_now(&calls.readable), before);
        destroy(&ring);
        make(&ring, which, 1, &calls);
        check(push(&ring, 1));
        check(!arm_pop(&ring)); /* one is there */
        check(pop(&ring, &value) && push(&ring, 2));
        check_equal(stage_now(&calls.readable), 0);
        destroy(&ring);
    }
}

/*   arming thread                    producer
 *   arm_pop: finds nothing
 *                                    publishes an element
 *   raises its flag, finds the
 *   element: answers false
 *                                    reads the flags: calls nobody                                   */
static void publish_and_stop(void *context) {
    struct ring *ring = context;
    if (ring->spsc != NULL) {
        ilk_atomic_store(&ring->spsc->tail, 1, memory_order_release);
    } else {
        uint64_t position = 0;
        ilk_atomic_store(&ring->mpmc->tail, ilk__mpmc_next(ring->mpmc, position), memory_order_relaxed);
        ilk__mpmc_publish(ring->mpmc, position);
    }
}

static void finish_push(struct ring *ring) {
    if (ring->spsc != NULL) {
        check_equal(ilk__spsc_pushed_slow(ring->spsc, 1), 1);
    } else {
        ilk__mpmc_pushed(ring->mpmc);
    }
}

static void after_false_a_late_push_calls_nobody(void **state) {
    (void)state;
    for (int which = 0; which < 2; which++) {
        struct ring ring;
        struct calls calls;
        uint64_t value;
        make(&ring, which, 4, &calls);
        place(publish_and_stop, &ring);
        check(!arm_pop(&ring));
        check(pop(&ring, &value));
        set_hook(&ring, NULL, NULL); /* nothing is armed, so it may go */
        finish_push(&ring);
        check_equal(stage_now(&calls.readable), 0);
        check(push(&ring, 2));
        check_equal(stage_now(&calls.readable), 0);
        destroy(&ring);
    }
}

/*   arming thread                    others
 *   arm_pop: raises its flag
 *                                    push an element, and take it out again
 *   finds nothing: if it answers true, the next element must call                                    */
static void push_and_pop_one(void *context) {
    struct ring *ring = context;
    uint64_t value;
    check(push(ring, 1));
    check(pop(ring, &value));
}

static void an_arm_that_answers_true_is_up(void **state) {
    (void)state;
    for (int which = 0; which < 2; which++) {
        struct ring ring;
        struct calls calls;
        make(&ring, which, 4, &calls);
        place(push_and_pop_one, &ring);
        bool armed = arm_pop(&ring);
        for (int again = 0; !armed && again < 3; again++) {
            armed = arm_pop(&ring); /* nobody is beside it now */
        }
        check(armed);
        int before = stage_now(&calls.readable);
        check(push(&ring, 2));
        check_equal(stage_now(&calls.readable), before + 1);
        destroy(&ring);
    }
}

/* Many to many: two threads arm at the same time. The one that finds an element and answers false must not
 * take the other's arm with it.
 *   this thread                      another consumer
 *   arm_pop: raises its flag
 *                                    arm_pop: finds nothing, answers true
 *                                    (an element is published; its push has not read the flags)
 *   finds it: answers false
 *                                    the push reads them: calls                                      */
static void arm_then_publish_and_stop(void *context) {
    struct ring *ring = context;
    check(arm_pop(ring));
    publish_and_stop(ring);
}

static void an_arm_that_answers_false_leaves_anothers_up(void **state) {
    (void)state;
    struct ring ring;
    struct calls calls;
    uint64_t value;
    make(&ring, 1, 4, &calls);
    place(arm_then_publish_and_stop, &ring);
    check(!arm_pop(&ring));
    check_equal(stage_now(&calls.readable), 0);
    finish_push(&ring);
    check_equal(stage_now(&calls.readable), 1);
    check(pop(&ring, &value) && push(&ring, 2)); /* it went off: no second call */
    check_equal(stage_now(&calls.readable), 1);
    destroy(&ring);
}

/* Many to many: a thread that leaves the arm call may have to wake a sleeper. It must not call the hook: its
 * caller may hold a lock that the hook takes.
 *   this thread              another consumer           producer
 *                            pop_until: counted in
 *   arm_pop: raises its flag
 *                                                       publishes, and stops
 *   finds the element, leaves                                                                        */
struct stop {
    struct ring *ring;
    struct stage stage; /* 1: counted in; 2: go on */
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
    check_equal(ilk_mpmc_pop_until(stop->ring->mpmc, &value, sizeof value, ILK_FOREVER), ILK_OK);
}

static __thread bool is_arming;
static void must_not_be_arming(void *context, ilk_ring_event event) {
    (void)context;
    (void)event;
    check(!is_arming);
}

static void the_hook_never_runs_on_the_thread_that_arms(void **state) {
    (void)state;
    struct ring ring;
    struct calls calls;
    make(&ring, 1, 4, &calls);
    set_hook(&ring, must_not_be_arming, NULL);
    struct stop stop = {&ring, STAGE_INIT};
    struct thread consumer;
    thread_start(&consumer, pop_slowly, &stop);
    stage_await(&stop.stage, 1);
    place(publish_and_stop, &ring);
    is_arming = true;
    check(!arm_pop(&ring));
    is_arming = false;
    stage_reach(&stop.stage, 2);
    finish_push(&ring);
    thread_join(&consumer);
    destroy(&ring);
}

/* Many to many: close wakes the sleepers of both sides before it calls the hook, which may wait for them.
 * Beside a reservation of the only slot there is nothing to pop and no room. */
static void push_and_be_refused(void *context) {
    struct ring *ring = context;
    uint64_t value = 1;
    check_equal(ilk_mpmc_push_until(ring->mpmc, &value, sizeof value, ILK_FOREVER), ILK_CLOSED);
}

static void join_in_hook(void *context, ilk_ring_event event) {
    check_equal(event, ILK_READABLE);
    thread_join(context);
}

static void close_has_woken_everyone_when_it_calls_the_hook(void **state) {
    (void)state;
    struct ring ring;
    struct calls calls;
    make(&ring, 1, 1, &calls);
    static struct thread producer;
    set_hook(&ring, join_in_hook, &producer);
    size_t count = 1;
    uint64_t *slot = ilk_mpmc_reserve(ring.mpmc, &count);
    check(slot != NULL);
    *slot = 5;
    check(arm_pop(&ring));
    thread_start(&producer, push_and_be_refused, &ring);
    thread_await_sleep(&producer);
    close_ring(&ring);
    ilk_mpmc_commit(ring.mpmc, 1);
    destroy(&ring);
}

/* ---- Taking the hook away ---- */

struct slow_hook {
    struct ring ring;
    struct stage stage; /* 1: inside; 2: may leave */
    struct stage ended;
    struct calls calls;
};

static void stay_inside(void *context, ilk_ring_event event) {
    struct slow_hook *slow = context;
    (void)event;
    stage_reach(&slow->stage, 1);
    stage_await(&slow->stage, 2);
    stage_reach(&slow->ended, 1);
}

static void push_into(void *context) {
    struct slow_hook *slow = context;
    check(push(&slow->ring, 1));
}

static void take_hook_away(void *context) {
    struct slow_hook *slow = context;
    set_hook(&slow->ring, count_call, &slow->calls);
    check_equal(stage_now(&slow->ended), 1); /* its context may be freed now */
}

static void set_notify_waits_for_a_call_under_way(void **state) {
    (void)state;
    for (int which = 0; which < 2; which++) {
        static struct slow_hook slow;
        slow = (struct slow_hook){.stage = STAGE_INIT, .ended = STAGE_INIT};
        make(&slow.ring, which, 4, &slow.calls);
        set_hook(&slow.ring, stay_inside, &slow);
        check(arm_pop(&slow.ring));
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
        check(pop(&slow.ring, &value) && arm_pop(&slow.ring));
        check(push(&slow.ring, 2)); /* the ring goes on with the new one */
        check_equal(stage_now(&slow.calls.readable), 1);
        destroy(&slow.ring);
    }
}

static void take_itself_away(void *context, ilk_ring_event event) {
    struct slow_hook *slow = context;
    (void)event;
    stage_advance(&slow->ended);
    set_hook(&slow->ring, NULL, NULL);
}

static void a_hook_may_take_itself_away(void **state) {
    (void)state;
    for (int which = 0; which < 2; which++) {
        static struct slow_hook slow;
        slow = (struct slow_hook){.ended = STAGE_INIT};
        make(&slow.ring, which, 4, &slow.calls);
        set_hook(&slow.ring, take_itself_away, &slow);
        check(arm_pop(&slow.ring));
        check(push(&slow.ring, 1));
        check(push(&slow.ring, 2));
        check_equal(stage_now(&slow.ended), 1);
        destroy(&slow.ring);
    }
}

static void a_new_hook_finds_nothing_armed(void **state) {
    (void)state;
    for (int which = 0; which < 2; which++) {
        struct ring ring;
        struct calls first, second = {STAGE_INIT, STAGE_INIT};
        uint64_t value;
        make(&ring, which, 1, &first);
        check(arm_pop(&ring));
        check(push(&ring, 1)); /* full, and the arm gone off */
        check(arm_push(&ring));
        set_hook(&ring, count_call, &second);
        check(pop(&ring, &value));
        check_equal(stage_now(&second.writable), 0);
        check(arm_pop(&ring));
        set_hook(&ring, count_call, &first);
        check(push(&ring, 1));
        check_equal(stage_now(&second.readable), 0);
        check_equal(stage_now(&first.readable), 1);
        destroy(&ring);
    }
}

/* Once nobody waits, what sends the other side through a fence comes down within 1,024 elements and one
 * batch, whatever the size of the batches, by every kind of push and pop. */
static bool is_fenced(const struct ring *ring) {
    return ring->spsc != NULL
               ? (ilk_atomic_load(&ring->spsc->flags, memory_order_relaxed) & ILK__SPSC_CONSUMER_FENCED) != 0
               : ilk_atomic_load(&ring->mpmc->consumers_waiting, memory_order_relaxed) != 0;
}

static size_t push_batch(struct ring *ring, size_t count, bool in_place) {
    uint64_t values[16] = {0};
    if (!in_place) {
        return ring->spsc != NULL ? ilk_spsc_try_push_many(ring->spsc, values, count, sizeof *values)
                                  : ilk_mpmc_try_push_many(ring->mpmc, values, count, sizeof *values);
    }
    uint64_t *slots =
        ring->spsc != NULL ? ilk_spsc_reserve(ring->spsc, &count) : ilk_mpmc_reserve(ring->mpmc, &count);
    check(slots != NULL);
    memset(slots, 0, count * sizeof *slots);
    if (ring->spsc != NULL) {
        ilk_spsc_commit(ring->spsc, count);
    } else {
        ilk_mpmc_commit(ring->mpmc, count);
    }
    return count;
}

static void the_fences_of_a_sleep_end_whatever_the_batch(void **state) {
    (void)state;
    for (int which = 0; which < 2; which++) {
        for (size_t batch = 1; batch <= 16; batch++) {
            for (int in_place = 0; in_place < 2; in_place++) {
                struct ring ring;
                struct calls calls;
                make(&ring, which, 64, &calls);
                check(arm_pop(&ring));
                size_t pushed = 0;
                while (is_fenced(&ring) && pushed <= 1024 + batch) {
                    const size_t count = push_batch(&ring, batch, in_place != 0);
                    uint64_t values[16];
                    check_equal(which == 0 ? ilk_spsc_try_pop_many(ring.spsc, values, count, sizeof *values)
                                           : ilk_mpmc_try_pop_many(ring.mpmc, values, count, sizeof *values),
                                count);
                    pushed += count;
                }
                check(!is_fenced(&ring));
                destroy(&ring);
            }
        }
    }
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
    cmocka_unit_test(what_is_reserved_is_room_and_what_is_shown_is_there),
    cmocka_unit_test(overwriting_sets_the_hook_off),
    cmocka_unit_test(arming_without_a_hook_is_misuse),
    cmocka_unit_test(an_arm_that_answers_false_arms_nothing),
    cmocka_unit_test(after_false_a_late_push_calls_nobody),
    cmocka_unit_test(an_arm_that_answers_true_is_up),
    cmocka_unit_test(an_arm_that_answers_false_leaves_anothers_up),
    cmocka_unit_test(the_hook_never_runs_on_the_thread_that_arms),
    cmocka_unit_test(close_has_woken_everyone_when_it_calls_the_hook),
    cmocka_unit_test(set_notify_waits_for_a_call_under_way),
    cmocka_unit_test(a_hook_may_take_itself_away),
    cmocka_unit_test(a_new_hook_finds_nothing_armed),
    cmocka_unit_test(the_fences_of_a_sleep_end_whatever_the_batch),
    cmocka_unit_test(no_call_is_missed),
};

TEST_MAIN(tests)
