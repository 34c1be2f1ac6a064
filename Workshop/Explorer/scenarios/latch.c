/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_latch: histories against a latch, the work that its waiters see, and freeing by a waiter.
 */
/* contract: latch.A, latch.B, latch.C */
#include "../history/models.h"
#include "work.h"
#include <interlock/latch.h>

static struct {
    ilk_latch latch;
    ilk_latch *heap;
} s;

static const uint32_t latch_count = 2;

static void setup_latch(void) {
    ex_history_reset();
    ilk_latch_init(&s.latch, latch_count);
    begin_work();
}

static void count_down(void) {
    size_t operation = ex_begin(EX_COUNT_DOWN, 0);
    ilk_latch_count_down(&s.latch);
    ex_end(operation, EX_DONE);
}
static void count_first(void) {
    do_work(0);
    count_down();
}
static void count_second(void) {
    do_work(1);
    count_down();
}
static void count_both(void) {
    count_first();
    count_second();
}
static void see_all_work(void) {
    see_work(0, 1);
    see_work(1, 1);
}
static void await_by(uint64_t deadline) {
    size_t operation = ex_begin(EX_AWAIT, 0);
    ilk_status status = ilk_latch_wait_until(&s.latch, deadline);
    ex_end(operation, status == ILK_OK ? EX_DONE : EX_TIMEDOUT);
    if (status == ILK_OK) {
        see_all_work();
    }
}
static void await_latch(void) {
    await_by(ILK_FOREVER);
}
static void await_latch_until(void) {
    await_by(SOON);
}
static void try_latch(void) {
    size_t operation = ex_begin(EX_AWAIT, 0);
    bool open = ilk_latch_try_wait(&s.latch);
    ex_end(operation, open ? EX_DONE : EX_REFUSED);
    if (open) {
        see_all_work();
    }
}
static void probe_and_try(void) {
    size_t operation = ex_begin(EX_PROBE, 0);
    uint32_t left = ilk_latch_count(&s.latch);
    ex_end(operation, left);
    try_latch();
}
static void check_latch(void) {
    ex_history_check(&ex_latch, &latch_count);
}

EX_SCENARIO(latch_three){
    .name = "latch-count-count-wait",
    .claim = "a thread that passes the latch sees the work of every thread that counted",
    .setup = setup_latch,
    .threads = {count_first, count_second, await_latch},
    .check = check_latch,
    .spurious_wakeups = 1,
};
EX_SCENARIO(latch_try){
    .name = "latch-count-count-try",
    .claim = "a latch is shut until all have counted, and shows the count that is left",
    .setup = setup_latch,
    .threads = {count_first, count_second, probe_and_try},
    .check = check_latch,
};
EX_SCENARIO(latch_late){
    .name = "latch-count-count-wait_until",
    .claim = "a wait that has timed out found the latch shut",
    .setup = setup_latch,
    .threads = {count_first, count_second, await_latch_until},
    .check = check_latch,
    .timeouts = 1,
    .spurious_wakeups = 1,
};
EX_SCENARIO(latch_waiters){
    .name = "latch-count-wait-wait",
    .claim = "every waiter passes",
    .setup = setup_latch,
    .threads = {count_both, await_latch, await_latch},
    .check = check_latch,
    .spurious_wakeups = 1,
};
EX_SCENARIO(latch_until){
    .name = "latch-count-wait-wait_until",
    .claim = "a waiter that times out does not keep the other's wake-up",
    .setup = setup_latch,
    .threads = {count_both, await_latch, await_latch_until},
    .check = check_latch,
    .timeouts = 1,
};

static void setup_heap_latch(void) {
    s.heap = ex_allocate(sizeof *s.heap, 16);
    ilk_latch_init(s.heap, 1);
}
static void count_heap(void) {
    ilk_latch_count_down(s.heap);
}
static void await_and_free(void) {
    ilk_latch *latch = s.heap;
    ex_assert(ilk_latch_wait_until(latch, ILK_FOREVER) == ILK_OK);
    ex_free(latch);
}
EX_SCENARIO(latch_freed){
    .name = "latch-freed-by-the-waiter",
    .claim = "counting down does not touch the latch after it is open",
    .setup = setup_heap_latch,
    .threads = {await_and_free, count_heap},
};

static void await_until_and_free(void) {
    ilk_latch *latch = s.heap;
    if (ilk_latch_wait_until(latch, SOON) != ILK_OK) {
        ex_assert(ilk_latch_wait_until(latch, ILK_FOREVER) == ILK_OK);
    }
    ex_free(latch);
}
EX_SCENARIO(latch_freed_late){
    .name = "latch-freed-by-the-late-waiter",
    .claim = "the same when the waiter's deadline has just passed",
    .setup = setup_heap_latch,
    .threads = {await_until_and_free, count_heap},
    .timeouts = 1,
};

EX_MUST_REACH(states){
    {"latch-*wait latch-*waiter", {EX_LATCH_SLEEPS, EX_LATCH_WAKES}},
    {"latch-*wait_until", {EX_SLEEPER_LATE, EX_LATCH_SLEEPS, EX_LATCH_WAKES}},
};
