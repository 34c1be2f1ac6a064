/* SPDX-License-Identifier: Apache-2.0
 *
 * Reservations of ilk_spsc that end without an element, on an open ring: no arm goes down, and a sleeper sleeps on.
 * Beside a close: spsc_notify.c.
 */
#include "spsc_face.h"

#include "notify_clients.h"

static void reserve_nothing(void) {
    size_t count = 1;
    if (ilk_spsc_reserve(s.ring, &count) != NULL) {
        ilk_spsc_commit(s.ring, 0);
    }
}
static void reserve_nothing_then_push(void) {
    reserve_nothing();
    push_one();
}

/*   producer                         consumer
 *   reserve: finds a full ring
 *                                    pops the last element; arms: raises ARMING, finds nothing
 *   gives up: leaves ARMING alone
 *                                    ARMED: true                                                     */
static void pop_then_arm(void) {
    uint32_t before;
    install(ILK_READABLE);
    pop_one();
    ex_expect(arm(ILK_READABLE, &before), "nothing has come, and arm answers false");
}
static void full(unsigned capacity, bool membarrier) {
    begin(capacity, membarrier);
    ex_assert(try_push());
}
static void setup_full(void) {
    full(1, true);
}
static void setup_full_refused(void) {
    full(1, false);
}
static void setup_half(void) {
    full(2, true);
}
static void check_not_called(void) {
    ex_expect(s.calls.begun == 0, "nothing has come, and the hook is called");
    check();
}

#define GIVEN_UP(identifier, text, start)                                                                    \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "spsc-given_up-" text, .claim = "a reservation given up on an open ring sets nothing off",   \
        .setup = start, .check = check_not_called, .threads = {reserve_nothing, pop_then_arm},               \
        .titles = {"producer", "hook's consumer"},                                                           \
    }
GIVEN_UP(full_ring, "full", setup_full);
GIVEN_UP(full_refused, "full-membarrier-refused", setup_full_refused);
GIVEN_UP(with_room, "with-room", setup_half);

/* The consumer sleeps through the reservation, not through the push. */
static void pop_two(void) {
    pop_one();
    pop_one();
}
EX_SCENARIO(sleeper){
    .name = "spsc-given_up-then-push",
    .claim = "a push behind a reservation given up wakes the consumer",
    .setup = setup_full,
    .check = check,
    .threads = {reserve_nothing_then_push, pop_two},
};
