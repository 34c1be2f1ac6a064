/* SPDX-License-Identifier: Apache-2.0
 *
 * The notify hook of ilk_spsc, beside notify_scenarios.h.
 */
/* contract: spsc.B */
#include "spsc_face.h"

#include "notify_clients.h"

#include "notify_scenarios.h"

static void push_two_by_hook(void) {
    install(ILK_WRITABLE);
    push_by_installed_hook();
    push_by_installed_hook();
}
/* The deadlines may pass, over and over. */
static void push_two_late(void) {
    for (unsigned pushed = 0; pushed < 2;) {
        pushed += push_until(SOON) == ILK_OK ? 1 : 0;
    }
}
static void pop_two_by_hook(void) {
    install(ILK_READABLE);
    pop_by_installed_hook();
    pop_by_installed_hook();
}
/* Sleeps first: FENCED may make the producer read the flags while the arm goes up. */
static void pop_then_by_hook(void) {
    pop_one();
    pop_one_by_hook();
}
static void pop_two(void) {
    pop_one();
    pop_one();
}
static void pop_two_late(void) {
    pop_late(2);
}
static void pop_two_by_batch(void) {
    pop_by_batch(2);
}
static void pop_two_in_place(void) {
    pop_in_place(2);
}
static void reserve_and_give_up(void) {
    size_t count = 1;
    if (ilk_spsc_reserve(s.ring, &count) != NULL) {
        ilk_spsc_commit(s.ring, 0);
    }
}

SCENARIO(pop_waits, "pop", setup_1, push_two, pop_two_by_hook);
SCENARIO(pop_waits_refused, "pop-membarrier-refused", setup_refused, push_two, pop_two_by_hook);
SCENARIO(pop_waits_slept, "pop-after-sleep", setup_1, push_two, pop_then_by_hook);
SCENARIO(push_waits, "push", setup_1, push_two_by_hook, pop_two);
SCENARIO(push_waits_refused, "push-membarrier-refused", setup_refused, push_two_by_hook, pop_two);
SCENARIO(drain_waits_refused, "drain-close-membarrier-refused", setup_refused, push_if_room, drain_by_hook,
         close_ring);
SCENARIO(give_up, "drain-reserve-close", setup_1, reserve_and_give_up, drain_by_hook, close_ring);
SCENARIO(give_up_refused, "drain-reserve-close-membarrier-refused", setup_refused, reserve_and_give_up,
         drain_by_hook, close_ring);

/* What the other verbs announce. */
SCENARIO(pushed_batch, "push_many", setup_2, push_batch, pop_two_by_hook);
SCENARIO(pushed_late, "push_until", setup_1, push_two_late, pop_two_by_hook);
SCENARIO(in_place_refused, "reserve-membarrier-refused", setup_refused, push_in_place, pop_one_by_hook);
SCENARIO(popped_batch, "pop_many", setup_1, push_two_by_hook, pop_two_by_batch);
SCENARIO(popped_in_place, "peek", setup_1, push_two_by_hook, pop_two_in_place);
SCENARIO(popped_late, "pop_until", setup_1, push_two_by_hook, pop_two_late);
REFUSED(arms_once_refused, "arm_once-membarrier-refused", setup_refused, push_if_room_twice,
        arm_once_then_pop);

EX_MUST_REACH(states){
    {"spsc-*taken-away", {EX_SLEEPER_WOKEN, EX_CALLS_WAITED_FOR, EX_SPSC_ARMED, EX_SPSC_ARM_TAKEN}},
    {"spsc-notify-*", {EX_SPSC_NOTIFIES}},
    {"spsc-notify-*membarrier-refused", {EX_SPSC_ARMED}},
    {"spsc-notify-drain-*", {EX_SLEEPER_WOKEN, EX_SPSC_ARMED, EX_SPSC_ARM_TAKEN}},
    {"spsc-notify-drain-close spsc-notify-drain-close-membarrier-refused "
     "spsc-notify-takes-itself-away",
     {EX_SPSC_PUSH_BESIDE_CLOSE}},
    {"spsc-notify-drain-reserve-close spsc-notify-drain-reserve-close-membarrier-refused",
     {EX_SPSC_CLOSED_OVER_RESERVATION}},
    {"spsc-notify-pop spsc-notify-push_until",
     {EX_SPSC_SLEEPS, EX_SPSC_FENCED_UP, EX_SPSC_ARMED, EX_SPSC_ARM_TAKEN}},
    {"spsc-notify-pop-*", {EX_SPSC_SLEEPS, EX_SPSC_ARMED, EX_SPSC_ARM_TAKEN}},
    {"spsc-notify-push-close",
     {EX_SLEEPER_WOKEN, EX_SPSC_PUSH_BESIDE_CLOSE, EX_SPSC_ARMED, EX_SPSC_ARM_TAKEN}},
};
