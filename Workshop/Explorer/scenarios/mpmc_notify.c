/* SPDX-License-Identifier: Apache-2.0
 *
 * The notify hook of ilk_mpmc, beside notify_scenarios.h: clients of the hook run beside threads that wait
 * without one, and beside each other.
 */
#include "mpmc_face.h"

#include "notify_clients.h"

#include "notify_scenarios.h"

static void push_one_by_hook(void) {
    install(ILK_WRITABLE);
    push_by_installed_hook();
}
static void fill_by_hook(void) {
    ex_assert(try_push());
    push_one_by_hook();
}
static void push_soon(void) {
    (void)!push_until(SOON);
}
static void overwrite_one(void) {
    uint64_t element = 1, evicted;
    (void)ilk_mpmc_push_overwriting(s.ring, &element, sizeof element, &evicted);
}
static void pop_soon(void) {
    (void)!pop_until(SOON);
}
static void pop_one_late(void) {
    pop_late(1);
}
static void pop_one_by_batch(void) {
    pop_by_batch(1);
}
static void pop_one_in_place(void) {
    pop_in_place(1);
}

SCENARIO(pop_waits, "pop", setup_1, push_one, pop_one_by_hook);
SCENARIO(pop_waits_refused, "pop-membarrier-refused", setup_refused, push_one, pop_one_by_hook);
SCENARIO(push_waits, "push", setup_1, push_one_by_hook, push_one, pop_one);
SCENARIO(push_waits_refused, "push-membarrier-refused", setup_refused, fill_by_hook, pop_one);
SCENARIO(drain_waits_refused, "drain-close-membarrier-refused", setup_refused, drain_by_hook, close_ring);

/* What the other verbs announce. */
SCENARIO(pushed_batch, "push_many", setup_2, push_batch, pop_one_by_hook, pop_soon);
SCENARIO(pushed_late, "push_until", setup_1, push_one_by_hook, push_soon, pop_one);
SCENARIO(overwritten, "overwrite", setup_1, overwrite_one, overwrite_one, pop_one_by_hook);
SCENARIO(popped_batch, "pop_many", setup_1, fill_by_hook, pop_one_by_batch);
SCENARIO(popped_in_place, "peek", setup_1, fill_by_hook, pop_one_in_place);
SCENARIO(popped_late, "pop_until", setup_1, fill_by_hook, pop_one_late);
REFUSED(arms_once_beside, "arm_once-beside-consumer", setup_2, push_if_room_twice, arm_once_then_pop,
        pop_soon);

/*   hook's consumer               other consumer
 *   arm: reads head = 0
 *                                 pops at 0; the next element stands at 1
 *        slot 0 is not full
 *   "nothing there": must read head once more, or the element at 1 is never announced                */
EX_SCENARIO(beside_sleeper){
    .name = "mpmc-notify-pop-beside-sleeper",
    .claim = "arming does not overlook an element because another consumer took the one before it",
    .setup = setup_2,
    .check = check,
    .threads = {push_two, pop_one_by_hook, pop_one},
    .titles = {"producer", "hook's consumer", "other consumer"},
    .once_failed = {"sc 4:1,11:2,26:1", "weak 16:1,20:1,29:1"},
};

/* One hook for two clients, installed before. */
static void setup_installed(void) {
    setup_2();
    install(ILK_READABLE);
}
EX_SCENARIO(two_clients){
    .name = "mpmc-notify-pop-pop",
    .claim = "an arm that answers false takes no other arm down, and no call is made on the thread that arms",
    .setup = setup_installed,
    .check = check,
    .threads = {push_two, pop_by_installed_hook, pop_by_installed_hook},
    .titles = {"producer", "hook's consumer", "hook's consumer"},
};

/* Three clients, one of which sleeps without the hook: others' arms neither keep it asleep nor wake it. */
static void push_three(void) {
    push_two();
    push_one();
}
EX_SCENARIO(two_clients_beside_sleeper){
    .name = "mpmc-notify-pop-pop-beside-sleeper",
    .claim = "a sleeper is woken beside threads that arm, and the hook is not called on those",
    .setup = setup_installed,
    .check = check,
    .threads = {push_three, pop_by_installed_hook, pop_by_installed_hook, pop_one},
    .titles = {"producer", "hook's consumer", "hook's consumer", "sleeper"},
    .slow = true,
};

EX_MUST_REACH(states){
    {"mpmc-*taken-away", {EX_MPMC_ARMED, EX_MPMC_ARM_TAKEN}},
    {"mpmc-notify-taken-away mpmc-notify-push-taken-away", {EX_CALLS_WAITED_FOR}},
    {"mpmc-notify-*", {EX_MPMC_NOTIFIES}},
    {"mpmc-notify-arm_once", {EX_EVENT_WAKE_PENDS, EX_MPMC_ARM_TAKEN}},
    {"mpmc-notify-arm_once-beside-consumer",
     {EX_MPMC_SLEEPS, EX_EVENT_WAKE_PENDS, EX_MPMC_ARMED, EX_MPMC_ARM_TAKEN}},
    {"mpmc-notify-drain-*", {EX_SLEEPER_WOKEN, EX_MPMC_ARMED}},
    {"mpmc-notify-overwrite",
     {EX_MPMC_ARMED, EX_MPMC_ARM_TAKEN, EX_MPMC_OVERWRITES, EX_MPMC_OVERWRITE_OUTRUN}},
    {"mpmc-notify-peek mpmc-notify-pop mpmc-notify-pop_many mpmc-notify-pop_until "
     "mpmc-notify-reserve",
     {EX_MPMC_ARM_TAKEN}},
    {"mpmc-notify-pop-*", {EX_MPMC_ARMED, EX_MPMC_ARM_TAKEN}},
    {"mpmc-notify-pop-pop mpmc-notify-pop-pop-beside-sleeper", {EX_EVENT_WAKE_PENDS}},
};
