/* SPDX-License-Identifier: Apache-2.0
 *
 * A semaphore that serves by tickets: a permit belongs to the oldest one. Broken: a count of permits and
 * wakes.
 */
#include "../explorer.h"
#include <platform/futex.h>

static struct {
    ILK_ATOMIC(uint32_t) tickets, served;  /* right */
    ILK_ATOMIC(uint32_t) permits, waiting; /* broken */
    ILK_ATOMIC(uint32_t) queued;           /* the first user is waiting */
} s;

static void setup(void) {
    s.tickets = s.served = s.permits = s.waiting = s.queued = 0;
}

static void wait_with_ticket(void) {
    uint32_t mine = ilk_atomic_fetch_add(&s.tickets, 1, memory_order_relaxed);
    ilk_atomic_store(&s.queued, 1, memory_order_release);
    for (;;) {
        uint32_t served = ilk_atomic_load(&s.served, memory_order_acquire);
        if (mine < served) {
            return;
        }
        ilk__futex_wait(&s.served, served, UINT64_MAX);
    }
}

static bool try_with_ticket(void) {
    uint32_t ticket = ilk_atomic_load(&s.tickets, memory_order_relaxed);
    return ticket < ilk_atomic_load(&s.served, memory_order_acquire) &&
           ilk_atomic_compare_exchange(&s.tickets, &ticket, ticket + 1, memory_order_relaxed,
                                       memory_order_relaxed);
}

static void signal_ticket(void) {
    ilk_atomic_fetch_add(&s.served, 1, memory_order_release);
    ilk__futex_wake(&s.served, UINT32_MAX);
}

static bool try_permit(void) {
    uint32_t permits = ilk_atomic_load(&s.permits, memory_order_relaxed);
    return permits > 0 && ilk_atomic_compare_exchange(&s.permits, &permits, permits - 1, memory_order_acquire,
                                                      memory_order_relaxed);
}

static void wait_for_permit(void) {
    ilk_atomic_fetch_add(&s.waiting, 1, memory_order_relaxed);
    ilk_atomic_store(&s.queued, 1, memory_order_release);
    while (!try_permit()) {
        ilk__futex_wait(&s.permits, 0, UINT64_MAX);
    }
}

static void signal_permit(void) {
    ilk_atomic_fetch_add(&s.permits, 1, memory_order_release);
    ilk__futex_wake(&s.permits, 1);
}

/* Comes later than the first user, if it saw it queued. Gives back what it took. */
static void latecomer(bool (*try_wait)(void), void (*signal)(void)) {
    bool behind = ilk_atomic_load(&s.queued, memory_order_acquire) == 1;
    if (try_wait()) {
        ex_expect(!behind, "the permit of a queued thread was taken by one that came later");
        signal();
    }
}

static void latecomer_right(void) {
    latecomer(try_with_ticket, signal_ticket);
}
static void latecomer_broken(void) {
    latecomer(try_permit, signal_permit);
}

EX_SCENARIO(right){
    .name = "first-come-semaphore",
    .claim = "a permit goes to the thread that has waited longest",
    .setup = setup,
    .threads = {wait_with_ticket, latecomer_right, signal_ticket},
    .titles = {"first", "latecomer", "signaller"},
    .sc_bound = EX_UNBOUNDED,
};

EX_SCENARIO(broken){
    .name = "first-come-semaphore-broken",
    .claim = "a latecomer takes the permit before its owner has woken up",
    .setup = setup,
    .threads = {wait_for_permit, latecomer_broken, signal_permit},
    .titles = {"first", "latecomer", "signaller"},
    .finds = EX_ASSERTION,
};
