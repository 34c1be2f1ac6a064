/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_wait_set, by its answers: each member answered is ready, and a wait that times out found none, and no wake.
 */
/* contract: wait_set.A, wait_set.E */
#include "../history/members.h"
#include "work.h"

static void setup(void) {
    ex_history_reset();
    begin_members(2);
}
static void serve_two(void) {
    for (int left = 2 - serve(1, SOON); left > 0;) {
        left -= serve(EX_MEMBERS, ILK_FOREVER);
    }
}
static void push_first(void) {
    give(0);
}
static void push_second(void) {
    give(1);
}
static void push_second_and_wake(void) {
    give(1);
    wake();
}
static void signal(void) {
    give(SEMAPHORE);
}
static void open_latch(void) {
    give(LATCH);
}
static void check(void) {
    while (serve(EX_MEMBERS, 0) > 0) {
    }
    ex_history_check(&ex_ready_set, &taken_from);
    end_members();
}

#define ANSWERS(identifier, text, ...)                                                                       \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "wait_set-answers-" text, .claim = "what is answered is ready, and nothing is missed",       \
        .setup = setup, .threads = {serve_two, __VA_ARGS__}, .check = check, .timeouts = 1,                  \
        .spurious_wakeups = 1                                                                                \
    }

ANSWERS(rings, "push-push", push_first, push_second);
ANSWERS(woken, "push-push-wake", push_first, push_second_and_wake);
ANSWERS(permit, "push-signal", push_first, signal);
ANSWERS(latch, "signal-open", signal, open_latch);

EX_MUST_REACH(states){
    {"wait_set-answers-*", {EX_INBOX_SLEEPS, EX_INBOX_WAKES, EX_SLEEPER_LATE}},
};
