/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_wait_set, the rest: no permit is lost; a member, and the set, may be freed as soon as <interlock/wait_set.h> says
 * so; wakes; and a set whose descriptor or function is waited for.
 */
/* contract: wait_set.A, wait_set.C, wait_set.D, wait_set.E */
#include "wait_set_state.h"

/* ---- Semaphores and latches ---- */

static void signal(void) {
    do_work(2);
    ilk_semaphore_signal(&s.semaphore, 1);
}
static void take_by_set(void) {
    ex_assert(wait_on(s.set) == &s.semaphore);
    see_work(2, 1);
    s.taken++;
}
static void take_by_set_soon(void) {
    void *key;
    size_t count;
    s.taken += ilk_wait_set_wait_until(s.set, &key, 1, &count, SOON) == ILK_OK ? 1 : 0;
    ilk_wait_set_destroy(s.set);
    s.set = NULL;
}
static void take_by_thread_soon(void) {
    s.taken += ilk_semaphore_wait_until(&s.semaphore, SOON) == ILK_OK ? 1 : 0;
}
static void take_again(void) {
    take_by_set();
    ilk_semaphore_signal(&s.semaphore, 1);
    s.taken--;
    take_by_set();
}
static void remove_semaphore_and_wake(void) {
    ex_assert(ilk_wait_set_remove(s.set, &s.semaphore));
    ilk_wait_set_wake(s.set);
}
static void take_or_be_woken(void) {
    s.taken += wait_on(s.set) != NULL ? 1 : 0;
}
EX_SCENARIO(semaphore_set){
    .name = "wait_set-signal",
    .claim = "a permit is taken for the waiting thread, which sees what came before",
    .setup = setup_semaphore,
    .threads = {take_by_set, signal},
    .check = check_permit,
};
EX_SCENARIO(semaphore_again){
    .name = "wait_set-signal-signal",
    .claim = "a member is not armed anew under the thread that hands over",
    .setup = setup_semaphore,
    .threads = {take_again, signal},
    .check = check_permit,
};
EX_SCENARIO(semaphore_late){
    .name = "wait_set-signal-beside-late-wait-and-destroy",
    .claim = "a permit goes to one of them, or stays",
    .setup = setup_semaphore,
    .threads = {take_by_set_soon, signal, take_by_thread_soon},
    .check = check_permit,
    .timeouts = 2,
};
EX_SCENARIO(semaphore_removed){
    .name = "wait_set-signal-remove",
    .claim = "a permit that was not answered goes back",
    .setup = setup_semaphore,
    .threads = {take_or_be_woken, signal, remove_semaphore_and_wake},
    .check = check_permit,
};

static void open_latch(void) {
    do_work(2);
    ilk_latch_count_down(s.latch);
}
static void await_remove_and_free(void) {
    ex_assert(wait_on(s.set) == s.latch);
    see_work(2, 1);
    ex_assert(ilk_wait_set_remove(s.set, s.latch));
    ex_free(s.latch);
}
static void await_by_thread(void) {
    ex_assert(ilk_latch_wait_until(s.latch, ILK_FOREVER) == ILK_OK);
}
static void await_by_set(void) {
    ex_assert(wait_on(s.set) == s.latch);
    see_work(2, 1);
}
EX_SCENARIO(latch_freed){
    .name = "wait_set-latch-freed",
    .claim = "a latch that was answered may be freed once it is removed",
    .setup = setup_latch,
    .threads = {await_remove_and_free, open_latch},
    .check = end,
};
static void add_latch_and_await(void) {
    ex_assert(ilk_wait_set_add_latch(s.set, s.latch, s.latch) == ILK_OK);
    await_by_set();
}
EX_SCENARIO(latch_added){
    .name = "wait_set-latch-added",
    .claim = "an opener that finds the mark finds the member",
    .setup = setup_none,
    .threads = {add_latch_and_await, open_latch},
    .check = end,
};
EX_SCENARIO(latch_beside){
    .name = "wait_set-latch-beside-sleeper",
    .claim = "a set and a thread are told of an open latch",
    .setup = setup_latch,
    .threads = {await_by_set, open_latch, await_by_thread},
    .check = end,
};

/* ---- Removal, wakes, destruction ---- */

/* False: nothing is ready. */
static bool poll(void **key) {
    size_t count;
    *key = NULL;
    return ilk_wait_set_wait_until(s.set, key, 1, &count, 0) == ILK_OK;
}

static void free_latch_and_wake(void) {
    ex_assert(ilk_wait_set_remove(s.set, s.latch));
    ex_free(s.latch);
    ilk_wait_set_wake(s.set);
}
static void be_woken(void) {
    ex_assert(wait_on(s.set) == NULL);
}
static void await_wake(void) {
    while (wait_on(s.set) != NULL) {
        ilk_cpu_relax();
    }
}
static void remove_ring_and_wake(void) {
    ex_assert(ilk_wait_set_remove(s.set, s.spsc));
    ilk_wait_set_wake(s.set);
}
EX_SCENARIO(removed_and_freed){
    .name = "wait_set-remove",
    .claim = "what was removed may be freed beside the wait",
    .setup = setup_latch,
    .threads = {be_woken, free_latch_and_wake},
    .check = end,
};
EX_SCENARIO(removed_beside_push){
    .name = "wait_set-remove-push",
    .claim = "a member removed while it is notified is touched no more",
    .setup = setup_rings,
    .threads = {await_wake, push_spsc, remove_ring_and_wake},
    .check = end,
};

static void wake(void) {
    ilk_wait_set_wake(s.set);
}
static void wait_and_destroy(void) {
    (void)wait_on(s.set);
    ilk_wait_set_destroy(s.set);
    s.set = NULL;
}
static void find_ready_and_destroy(void) {
    ex_assert(wait_on(s.set) != NULL);
    ilk_wait_set_destroy(s.set);
    s.set = NULL;
}
EX_SCENARIO(woken_and_destroyed){
    .name = "wait_set-wake-destroy",
    .claim = "the woken thread may destroy the set",
    .setup = setup_none,
    .threads = {wait_and_destroy, wake},
    .check = end,
};
EX_SCENARIO(answered_and_destroyed){
    .name = "wait_set-push-destroy",
    .claim = "the answered thread may destroy the set",
    .setup = setup_rings,
    .threads = {find_ready_and_destroy, push_spsc},
    .check = end,
};
/* By a thread that no wait has answered: the members may be marked until they have left. */
static void setup_armed(void) {
    void *key;
    setup_rings();
    ex_assert(!poll(&key));
}
static void destroy_unanswered(void) {
    ilk_wait_set_destroy(s.set);
    s.set = NULL;
}
EX_SCENARIO(notified_and_destroyed){
    .name = "wait_set-push-beside-destroy",
    .claim = "a set may be destroyed while its members are notified",
    .setup = setup_armed,
    .threads = {destroy_unanswered, push_spsc},
    .check = end,
};
EX_SCENARIO(taken_and_destroyed){
    .name = "wait_set-signal-destroy",
    .claim = "the thread that got a permit may destroy the set",
    .setup = setup_semaphore,
    .threads = {find_ready_and_destroy, signal},
    .check = end,
};
EX_SCENARIO(woken_twice){
    .name = "wait_set-wake-push",
    .claim = "a wake and an element are both answered",
    .setup = setup_rings,
    .threads = {serve_one, push_spsc, wake},
    .check = end,
};

/* ---- Without a thread ---- */

extern ILK_ATOMIC(uint32_t) ex_descriptor_word; /* of the model */

static void setup_descriptor(void) {
    setup_rings();
    ex_descriptor_word = 0;
    int descriptor;
    ex_assert(ilk_wait_set_descriptor(s.set, &descriptor) == ILK_OK);
}
static void await_descriptor(void) {
    while (ilk_atomic_fetch_add(&ex_descriptor_word, 0, memory_order_acquire) == 0) {
        (void)ilk_park_wait(&ex_descriptor_word, 0, ILK_FOREVER);
    }
}
/* A loop as in epoll: one wait each time the descriptor is readable. */
static void serve_two_by_descriptor(void) {
    while (s.popped < 2) {
        void *key;
        await_descriptor();
        if (poll(&key) && key != NULL) {
            (void)pop(key);
        }
    }
}
static void setup_late_descriptor(void) {
    setup_rings();
    ex_descriptor_word = 0;
}
static void make_descriptor_and_serve(void) {
    int descriptor;
    ex_assert(ilk_wait_set_descriptor(s.set, &descriptor) == ILK_OK);
    while (s.popped < 1) {
        void *key;
        await_descriptor();
        if (poll(&key) && key != NULL) {
            (void)pop(key);
        }
    }
}
EX_SCENARIO(descriptor){
    .name = "wait_set-descriptor",
    .claim = "a descriptor is readable while a member may be ready",
    .setup = setup_descriptor,
    .threads = {serve_two_by_descriptor, push_spsc, push_mpmc},
    .check = end,
};
static void setup_no_descriptor(void) {
    setup_none();
    ex_descriptor_word = 0;
}
static void make_descriptor_and_be_woken(void) {
    int descriptor;
    void *key;
    ex_assert(ilk_wait_set_descriptor(s.set, &descriptor) == ILK_OK);
    await_descriptor();
    ex_assert(poll(&key) && key == NULL);
}
EX_SCENARIO(woken_by_descriptor){
    .name = "wait_set-descriptor-wake",
    .claim = "a waker finds the descriptor that it is told of",
    .setup = setup_no_descriptor,
    .threads = {make_descriptor_and_be_woken, wake},
    .check = end,
};
EX_SCENARIO(late_descriptor){
    .name = "wait_set-descriptor-made-late",
    .claim = "a descriptor made beside a notifier is readable",
    .setup = setup_late_descriptor,
    .threads = {make_descriptor_and_serve, push_spsc},
    .check = end,
};

static void be_called(void *context) {
    (void)context;
    ilk_atomic_store(&s.called, 1, memory_order_release);
    ilk_park_wake(&s.called, ILK_PARK_ALL);
}
static void setup_called(void) {
    setup_semaphore();
    ilk__wait_set_notify(s.set, be_called, NULL);
}
static void take_without_a_thread(void) {
    for (;;) {
        void *key;
        ilk_atomic_store(&s.called, 0, memory_order_relaxed);
        if (poll(&key)) {
            ex_assert(key == &s.semaphore);
            see_work(2, 1);
            s.taken++;
            return;
        }
        while (ilk_atomic_fetch_add(&s.called, 0, memory_order_acquire) == 0) {
            (void)ilk_park_wait(&s.called, 0, ILK_FOREVER);
        }
    }
}
EX_SCENARIO(called){
    .name = "wait_set-notified",
    .claim = "a wait that found nothing is followed by a call",
    .setup = setup_called,
    .threads = {take_without_a_thread, signal},
    .check = check_permit,
};

/* ---- Handlers: not with the pthread park backend, which wakes under a mutex ---- */

#if !defined(ILK_PARK_BACKEND_PTHREAD)

static void signal_in_handler(void) {
    ilk_semaphore_signal(&s.semaphore, 1);
    ilk_wait_set_wake(s.set);
}
static void take_or_be_woken_then_poll(void) {
    void *key;
    if (wait_on(s.set) != NULL || poll(&key)) {
        s.taken++;
    }
}
EX_SCENARIO(handler){
    .name = "wait_set-handler",
    .claim = "a handler signals and wakes between any two steps of a wait",
    .setup = setup_semaphore,
    .threads = {take_or_be_woken_then_poll, wake},
    .check = end,
    .handler = signal_in_handler,
};
EX_MUST_REACH(handler_states){
    {"wait_set-handler", {EX_HANDLER_RAN}},
};
#endif

EX_MUST_REACH(states){
    {"wait_set-wake-push", {EX_INBOX_PENDS}},
    {"wait_set-signal wait_set-signal-signal", {EX_INBOX_SLEEPS, EX_WAIT_SET_BESIDE_HAND_OVER}},
    {"wait_set-signal-remove", {EX_WAIT_SET_GIVES_BACK, EX_WAIT_SET_REMOVES_MARKED}},
    {"wait_set-signal-beside-late-wait-and-destroy", {EX_WAIT_SET_GIVES_BACK, EX_SEMAPHORE_LATE_AND_SERVED}},
    {"wait_set-latch-*", {EX_INBOX_SLEEPS, EX_INBOX_WAKES, EX_LATCH_WAKES}},
    {"wait_set-remove-push", {EX_WAIT_SET_REMOVES_MARKED}},
    {"wait_set-wake-destroy", {EX_CALLS_WAITED_FOR}},
};
