/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_wait_set: no wake-up is lost between a set and what it watches, beside other sets, hooks and sleepers; no permit is
 * lost; a member, and the set, may be freed as soon as <interlock/wait_set.h> says so.
 */
/* contract: wait_set.A, wait_set.C, wait_set.D, wait_set.E, wait_set.F */
#include "ring/watch.h"
#include "work.h"
#include <interlock/inline/fence.h>
#include <interlock/inline/notified_set.h>
#include <interlock/park.h>
#include <string.h>

static struct {
    ilk_wait_set *set, *second;
    ilk_spsc *spsc;
    ilk_mpmc *mpmc;
    ilk_semaphore semaphore;
    ilk_latch *latch;
    unsigned popped;
    uint32_t taken; /* permits that a thread has got */
    ILK_ATOMIC(uint32_t) called;
} s;

/* ---- Beginning and end ---- */

static void begin(bool membarrier) {
    s.popped = 0;
    s.taken = 0;
    s.called = 0;
    begin_work();
    ilk__membarrier_works = membarrier;
    ilk_semaphore_init(&s.semaphore, 0);
    s.latch = ex_allocate(sizeof *s.latch, 16);
    ilk_latch_init(s.latch, 1);
    ex_assert(ilk_wait_set_create(&s.set) == ILK_OK);
    ex_assert(ilk_wait_set_create(&s.second) == ILK_OK);
    ex_assert(ilk_spsc_create(&s.spsc, 2, sizeof(uint64_t)) == ILK_OK);
    ex_assert(ilk_mpmc_create(&s.mpmc, 2, sizeof(uint64_t)) == ILK_OK);
}
static void setup_none(void) {
    begin(true);
}
static void add_elements(void) {
    ex_assert(ilk_wait_set_add_spsc(s.set, s.spsc, ILK_READABLE, s.spsc) == ILK_OK);
    ex_assert(ilk_wait_set_add_spsc(s.second, s.spsc, ILK_READABLE, s.spsc) == ILK_OK);
    ex_assert(ilk_wait_set_add_mpmc(s.set, s.mpmc, ILK_READABLE, s.mpmc) == ILK_OK);
    ex_assert(ilk_wait_set_add_mpmc(s.second, s.mpmc, ILK_READABLE, s.mpmc) == ILK_OK);
}
static void setup_rings(void) {
    begin(true);
    add_elements();
}
static void setup_refused(void) {
    begin(false);
    add_elements();
}
static void setup_room(void) {
    const uint64_t element = 1;
    begin(true);
    for (int i = 0; i < 2; i++) {
        ex_assert(ilk_spsc_try_push(s.spsc, &element, sizeof element));
        ex_assert(ilk_mpmc_try_push(s.mpmc, &element, sizeof element));
    }
    ex_assert(ilk_wait_set_add_spsc(s.set, s.spsc, ILK_WRITABLE, s.spsc) == ILK_OK);
    ex_assert(ilk_wait_set_add_mpmc(s.set, s.mpmc, ILK_WRITABLE, s.mpmc) == ILK_OK);
}
static void setup_semaphore(void) {
    begin(true);
    ex_assert(ilk_wait_set_add_semaphore(s.set, &s.semaphore, &s.semaphore) == ILK_OK);
}
static void setup_latch(void) {
    begin(true);
    ex_assert(ilk_wait_set_add_latch(s.set, s.latch, s.latch) == ILK_OK);
}
static void end(void) {
    ilk_wait_set_destroy(s.set);
    ilk_wait_set_destroy(s.second);
    ilk_spsc_destroy(s.spsc);
    ilk_mpmc_destroy(s.mpmc);
}
/* Each permit given has been got, or is there. */
static void check_permit(void) {
    end();
    ex_expect(ilk_semaphore_value(&s.semaphore) + s.taken == 1, "%d permits there, %u taken",
              (int)ilk_semaphore_value(&s.semaphore), (unsigned)s.taken);
    ilk_semaphore_destroy(&s.semaphore);
}

/* ---- The waiting thread ---- */

/* The key, or NULL for a wake. */
static void *wait_on(ilk_wait_set *set) {
    void *key;
    size_t count;
    ex_assert(ilk_wait_set_wait_until(set, &key, 1, &count, ILK_FOREVER) == ILK_OK);
    return count == 1 ? key : NULL;
}
static bool pop(void *ring) {
    uint64_t element;
    const bool popped = ring == s.spsc ? ilk_spsc_try_pop(s.spsc, &element, sizeof element)
                                       : ilk_mpmc_try_pop(s.mpmc, &element, sizeof element);
    if (popped) {
        see_work(ring == s.spsc ? 0 : 1, 1);
        s.popped++;
    }
    return popped;
}
static void serve_one(void) {
    while (!pop(wait_on(s.set))) {
    }
}
static void serve_two(void) {
    serve_one();
    serve_one();
}
static void find_ready(void) {
    ex_assert(wait_on(s.set) != NULL);
}
static void find_ready_in_second(void) {
    ex_assert(wait_on(s.second) != NULL);
}
static void find_closed(void) {
    while (!ilk_spsc_is_closed(s.spsc) || pop(s.spsc)) {
        ex_assert(wait_on(s.set) == s.spsc);
    }
}
static void push_when_ready(void) {
    const uint64_t element = 1;
    for (bool pushed = false; !pushed;) {
        pushed = wait_on(s.set) == s.spsc ? ilk_spsc_try_push(s.spsc, &element, sizeof element)
                                          : ilk_mpmc_try_push(s.mpmc, &element, sizeof element);
    }
}

/* ---- The others ---- */

static void push_spsc(void) {
    const uint64_t element = 1;
    do_work(0);
    ex_assert(ilk_spsc_try_push(s.spsc, &element, sizeof element));
}
static void push_mpmc(void) {
    const uint64_t element = 1;
    do_work(1);
    ex_assert(ilk_mpmc_try_push(s.mpmc, &element, sizeof element));
}
static void push_spsc_twice(void) {
    const uint64_t element = 1;
    push_spsc();
    ex_assert(ilk_spsc_try_push(s.spsc, &element, sizeof element));
}
static void close_spsc(void) {
    ilk_spsc_close(s.spsc);
}
static void close_mpmc(void) {
    ilk_mpmc_close(s.mpmc);
}
static void pop_from_spsc(void) {
    uint64_t element;
    ex_assert(ilk_spsc_try_pop(s.spsc, &element, sizeof element));
}
static void pop_from_mpmc(void) {
    uint64_t element;
    ex_assert(ilk_mpmc_try_pop(s.mpmc, &element, sizeof element));
}

#define RINGS(identifier, title, begins, ...)                                                                \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "wait_set-" title, .claim = "the waiting thread is told of what comes", .setup = begins,     \
        .threads = {__VA_ARGS__}, .check = end,                                                              \
    }

RINGS(spsc_push, "spsc-push", setup_rings, serve_one, push_spsc);
RINGS(spsc_push_twice, "spsc-push-push", setup_rings, serve_two, push_spsc_twice);
RINGS(spsc_push_refused, "spsc-push-membarrier-refused", setup_refused, serve_one, push_spsc);
RINGS(spsc_pop, "spsc-pop", setup_room, push_when_ready, pop_from_spsc);
RINGS(spsc_close, "spsc-close", setup_rings, find_ready, close_spsc);
RINGS(spsc_close_room, "spsc-close-room", setup_room, find_ready, close_spsc);
RINGS(spsc_two_sets, "spsc-push-two-sets", setup_rings, find_ready, push_spsc, find_ready_in_second);
RINGS(mpmc_push, "mpmc-push", setup_rings, serve_one, push_mpmc);
RINGS(mpmc_push_refused, "mpmc-push-membarrier-refused", setup_refused, serve_one, push_mpmc);
RINGS(mpmc_pop, "mpmc-pop", setup_room, push_when_ready, pop_from_mpmc);
RINGS(mpmc_close, "mpmc-close", setup_rings, find_ready, close_mpmc);
RINGS(mpmc_two_sets, "mpmc-push-two-sets", setup_rings, find_ready, push_mpmc, find_ready_in_second);
RINGS(both, "spsc-push-mpmc-push", setup_rings, serve_two, push_spsc, push_mpmc);

static void pop_late(void) {
    uint64_t element;
    (void)!ilk_spsc_pop_until(s.spsc, &element, sizeof element, SOON);
}
static void push_and_close(void) {
    push_spsc();
    close_spsc();
}
static void find_something_of_spsc(void) {
    while (!ilk_spsc_is_closed(s.spsc)) { /* the consumer may have the element */
        ex_assert(wait_on(s.set) == s.spsc);
        ilk_cpu_relax();
    }
}
RINGS(spsc_beside_sleeper, "spsc-push-close-beside-sleeper", setup_rings, find_something_of_spsc,
      push_and_close, pop_late);

static void reserve_close_and_end(void) {
    size_t count = 1;
    ex_assert(ilk_spsc_reserve(s.spsc, &count) != NULL);
    close_spsc();
    ilk_spsc_commit(s.spsc, 0);
}
RINGS(spsc_reserved, "spsc-close-reserved", setup_rings, find_closed, reserve_close_and_end);

static void count_hook(void *context, ilk_ring_event event) {
    (void)context;
    (void)event;
}
static void change_hook(void) {
    ilk_mpmc_set_notify(s.mpmc, count_hook, NULL);
    (void)ilk_mpmc_arm_pop(s.mpmc);
    ilk_mpmc_set_notify(s.mpmc, NULL, NULL);
}
static void change_spsc_hook(void) {
    ilk_spsc_set_notify(s.spsc, count_hook, NULL);
    ilk_spsc_set_notify(s.spsc, NULL, NULL);
}
RINGS(mpmc_beside_hook, "mpmc-push-beside-hook", setup_rings, serve_one, push_mpmc, change_hook);
RINGS(spsc_beside_hook, "spsc-push-beside-hook", setup_rings, serve_one, push_spsc, change_spsc_hook);

static void add_late(void) {
    ex_assert(ilk_wait_set_add_spsc(s.set, s.spsc, ILK_READABLE, s.spsc) == ILK_OK);
}
RINGS(added, "add-push", setup_none, serve_one, push_spsc, add_late);

/* ---- Fences: two watchers without their sets ---- */

static struct {
    struct ilk__inbox inbox;
    struct ilk__watcher first, second;
    bool first_is_ready, second_is_ready;
} w;

static void setup_watchers(void) {
    begin(true);
    memset(&w, 0, sizeof w);
    w.first.inbox = w.second.inbox = &w.inbox;
    ilk__spsc_watch_begin(s.spsc, ILK_READABLE, &w.first);
    ilk__spsc_watch_begin(s.spsc, ILK_READABLE, &w.second);
}
static void push_quietly(void) {
    const uint64_t element = 1;
    ex_assert(ilk_spsc_try_push(s.spsc, &element, sizeof element));
}
/* The producer has met watchers before: it fences. */
static void setup_fencing(void) {
    setup_watchers();
    ilk__spsc_watch(s.spsc, ILK_READABLE);
    push_quietly();
    pop_from_spsc();
    w.first.marked = w.second.marked = 0;
}
static void watch_by_first(void) {
    ilk__spsc_watch(s.spsc, ILK_READABLE);
    w.first_is_ready = ilk__spsc_is_ready(s.spsc, ILK_READABLE);
}
static void watch_by_second(void) {
    ilk__spsc_watch(s.spsc, ILK_READABLE);
    w.second_is_ready = ilk__spsc_is_ready(s.spsc, ILK_READABLE);
}
static void check_watchers(void) {
    ex_expect(w.first_is_ready || w.first.marked != 0, "the first watcher has missed the element");
    ex_expect(w.second_is_ready || w.second.marked != 0, "the second watcher has missed the element");
    ilk__spsc_watch_end(s.spsc, ILK_READABLE, &w.first);
    ilk__spsc_watch_end(s.spsc, ILK_READABLE, &w.second);
    end();
}
EX_SCENARIO(two_watchers){
    .name = "wait_set-watch-watch-push",
    .claim = "of two watchers neither relies on a fence of the other that is not done",
    .setup = setup_watchers,
    .threads = {push_quietly, watch_by_first, watch_by_second},
    .check = check_watchers,
};
EX_SCENARIO(two_watchers_again){
    .name = "wait_set-watch-watch-push-fenced",
    .claim = "a producer that watchers rely on fences",
    .setup = setup_fencing,
    .threads = {push_quietly, watch_by_first, watch_by_second},
    .check = check_watchers,
};

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
EX_SCENARIO(latch_beside){
    .name = "wait_set-latch-beside-sleeper",
    .claim = "a set and a thread are told of an open latch",
    .setup = setup_latch,
    .threads = {await_by_set, open_latch, await_by_thread},
    .check = end,
};

/* ---- Removal, wakes, destruction ---- */

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

/* 0: nothing is ready. */
static bool poll(void **key) {
    size_t count;
    *key = NULL;
    return ilk_wait_set_wait_until(s.set, key, 1, &count, 0) == ILK_OK;
}
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
static void take_or_be_woken_then_look(void) {
    void *key;
    if (wait_on(s.set) != NULL || poll(&key)) {
        s.taken++;
    }
}
EX_SCENARIO(handler){
    .name = "wait_set-handler",
    .claim = "a handler signals and wakes between any two steps of a wait",
    .setup = setup_semaphore,
    .threads = {take_or_be_woken_then_look, wake},
    .check = end,
    .handler = signal_in_handler,
};
EX_MUST_REACH(handler_states){
    {"wait_set-handler", {EX_HANDLER_RAN, EX_INBOX_SLEEPS}},
};
#endif

EX_MUST_REACH(states){
    {"wait_set-spsc-p*",
     {EX_INBOX_SLEEPS, EX_INBOX_WAKES, EX_SPSC_NOTIFIES_SETS, EX_WAIT_SET_READY_AS_IT_ARMS}},
    {"wait_set-mpmc-p*",
     {EX_INBOX_SLEEPS, EX_INBOX_WAKES, EX_MPMC_NOTIFIES_SETS, EX_WAIT_SET_READY_AS_IT_ARMS}},
    {"wait_set-spsc-push wait_set-spsc-push-two-sets", {EX_SPSC_WATCH_FENCES_HEAVILY}},
    {"wait_set-spsc-push-mpmc-push wait_set-add-push wait_set-descriptor", {EX_INBOX_COMES_AS_IT_RESTS}},
    {"wait_set-wake-push", {EX_INBOX_PENDS}},
    {"wait_set-signal wait_set-signal-signal", {EX_INBOX_SLEEPS, EX_WAIT_SET_BESIDE_HAND_OVER}},
    {"wait_set-signal-remove", {EX_WAIT_SET_GIVES_BACK, EX_WAIT_SET_REMOVES_MARKED}},
    {"wait_set-signal-beside-late-wait-and-destroy", {EX_WAIT_SET_GIVES_BACK, EX_SEMAPHORE_LATE_AND_SERVED}},
    {"wait_set-latch-*", {EX_INBOX_SLEEPS, EX_INBOX_WAKES, EX_LATCH_WAKES}},
    {"wait_set-remove-push", {EX_WAIT_SET_REMOVES_MARKED}},
    {"wait_set-wake-destroy", {EX_CALLS_WAITED_FOR}},
};
