/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_wait_set and rings: no wake-up is lost between a set and what it watches, beside other sets, hooks and sleepers.
 */
/* contract: wait_set.A, wait_set.F */
#include "wait_set_state.h"

#include "ring/watch.h"
#include <string.h>

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
    (void)!ilk_mpmc_arm_pop(s.mpmc);
    ilk_mpmc_set_notify(s.mpmc, NULL, NULL);
}
static void change_spsc_hook(void) {
    ilk_spsc_set_notify(s.spsc, count_hook, NULL);
    ilk_spsc_set_notify(s.spsc, NULL, NULL);
}
RINGS(mpmc_beside_hook, "mpmc-push-beside-hook", setup_rings, serve_one, push_mpmc, change_hook);
RINGS(spsc_beside_hook, "spsc-push-beside-hook", setup_rings, serve_one, push_spsc, change_spsc_hook);

/* The hook tells of the element: the consumer takes it, and everything away. */
static void tell(void *context, ilk_ring_event event) {
    (void)context;
    (void)event;
    ilk_atomic_store(&s.called, 1, memory_order_release);
}
static void setup_hook_and_watch(void) {
    void *key;
    size_t count;
    setup_rings();
    ex_assert(ilk_wait_set_wait_until(s.set, &key, 1, &count, 0) == ILK_TIMEDOUT);
    ilk_mpmc_set_notify(s.mpmc, tell, NULL);
    ex_assert(ilk_mpmc_arm_pop(s.mpmc));
}
static void take_everything_away(void) {
    while (ilk_atomic_load(&s.called, memory_order_acquire) == 0) {
        ilk_cpu_relax();
    }
    ex_assert(pop(s.mpmc));
    ilk_mpmc_set_notify(s.mpmc, NULL, NULL);
    ex_assert(ilk_wait_set_remove(s.set, s.mpmc) && ilk_wait_set_remove(s.second, s.mpmc));
    ilk_mpmc_destroy(s.mpmc);
    s.mpmc = NULL;
}
EX_SCENARIO(mpmc_hook_and_destroy){
    .name = "wait_set-mpmc-hook-destroy",
    .claim = "a push does not touch the ring once its hook has been called, beside a set",
    .setup = setup_hook_and_watch,
    .threads = {take_everything_away, push_mpmc},
    .check = end,
};

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

EX_MUST_REACH(states){
    {"wait_set-spsc-p*",
     {EX_INBOX_SLEEPS, EX_INBOX_WAKES, EX_SPSC_NOTIFIES_SETS, EX_WAIT_SET_READY_AS_IT_ARMS}},
    {"wait_set-mpmc-p*",
     {EX_INBOX_SLEEPS, EX_INBOX_WAKES, EX_MPMC_NOTIFIES_SETS, EX_WAIT_SET_READY_AS_IT_ARMS}},
    {"wait_set-spsc-push wait_set-spsc-push-two-sets", {EX_SPSC_WATCH_FENCES_HEAVILY}},
    {"wait_set-spsc-push-mpmc-push wait_set-add-push wait_set-descriptor", {EX_INBOX_COMES_AS_IT_RESTS}},
};
