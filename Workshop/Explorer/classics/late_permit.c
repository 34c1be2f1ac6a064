/* SPDX-License-Identifier: Apache-2.0
 *
 * A permit granted to a waiter whose deadline has just passed. The waiter leaves by an atomic step that fails
 * if the permit was granted.
 */
#include "../explorer.h"
#include <platform/futex.h>

enum { WAITING, GRANTED, GONE };

static struct {
    ILK_ATOMIC(uint32_t) waiter;  /* the state of the one waiter */
    ILK_ATOMIC(uint32_t) permits; /* not granted to the waiter */
    bool taken;
} s;

static void setup(void) {
    s.waiter = WAITING;
    s.permits = 0;
    s.taken = false;
}

static void sleep_until_late(void) {
    while (ilk_atomic_load(&s.waiter, memory_order_acquire) == WAITING &&
           ilk__futex_wait(&s.waiter, WAITING, 5000) == 0) {
    }
}

static void waiter(void) {
    sleep_until_late();
    uint32_t state = WAITING;
    s.taken =
        !ilk_atomic_compare_exchange(&s.waiter, &state, GONE, memory_order_acquire, memory_order_acquire);
}

static void careless_waiter(void) {
    sleep_until_late();
    s.taken = ilk_atomic_load(&s.waiter, memory_order_acquire) == GRANTED;
    ilk_atomic_store(&s.waiter, GONE, memory_order_relaxed);
}

static void signaller(void) {
    uint32_t state = WAITING;
    if (ilk_atomic_compare_exchange(&s.waiter, &state, GRANTED, memory_order_release, memory_order_relaxed)) {
        ilk__futex_wake(&s.waiter, 1);
    } else {
        ilk_atomic_fetch_add(&s.permits, 1, memory_order_relaxed);
    }
}

static void check(void) {
    ex_expect(s.taken + s.permits == 1, "of one permit %u are left", s.taken + s.permits);
}

EX_SCENARIO(right){
    .name = "late-permit",
    .claim = "a permit is taken or still there, also after a time-out",
    .setup = setup,
    .threads = {waiter, signaller},
    .titles = {"waiter", "signaller"},
    .check = check,
    .timeouts = 1,
    .sc_bound = EX_UNBOUNDED,
    .weak_bound = EX_UNBOUNDED,
};

EX_SCENARIO(broken){
    .name = "late-permit-broken",
    .claim = "the waiter probes, and leaves afterwards",
    .setup = setup,
    .threads = {careless_waiter, signaller},
    .titles = {"waiter", "signaller"},
    .check = check,
    .timeouts = 1,
    .finds = EX_ASSERTION,
};
