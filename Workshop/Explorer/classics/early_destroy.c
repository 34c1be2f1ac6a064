/* SPDX-License-Identifier: Apache-2.0
 *
 * A semaphore whose only waiter frees it with its permit. After giving the permit the signal must only wake
 * by address. Broken: glibc's bug 12674, a race in every schedule: nothing orders the read before the
 * memory's end.
 */
#include "../explorer.h"
#include <platform/futex.h>

struct semaphore {
    ILK_ATOMIC(uint32_t) permits;
    ILK_ATOMIC(uint32_t) waiting;
};

static struct { struct semaphore *semaphore; } s;

static void setup(void) {
    s.semaphore = ex_allocate(sizeof *s.semaphore, 16);
    s.semaphore->permits = 0;
    s.semaphore->waiting = 0;
}

static void waiter(void) {
    struct semaphore *semaphore = s.semaphore;
    ilk_atomic_fetch_add(&semaphore->waiting, 1, memory_order_relaxed);
    uint32_t permits = 1;
    while (!ilk_atomic_compare_exchange(&semaphore->permits, &permits, 0, memory_order_acquire,
                                        memory_order_relaxed)) {
        ilk__futex_wait(&semaphore->permits, 0, UINT64_MAX);
        permits = 1;
    }
    ex_free(semaphore);
}

static void signaller(void) {
    struct semaphore *semaphore = s.semaphore;
    ilk_atomic_fetch_add(&semaphore->permits, 1, memory_order_release);
    ilk__futex_wake(&semaphore->permits, 1); /* by address: the memory may be gone */
}

static void probing_signaller(void) {
    struct semaphore *semaphore = s.semaphore;
    do {
        ilk_atomic_fetch_add(&semaphore->permits, 1, memory_order_release);
        ilk__futex_wake(&semaphore->permits, 1);
    } while (ilk_atomic_load(&semaphore->waiting, memory_order_relaxed) > 1);
}

EX_SCENARIO(right){
    .name = "early-destroy",
    .claim = "the thread that has the permit may free the semaphore",
    .setup = setup,
    .threads = {waiter, signaller},
    .titles = {"waiter", "signaller"},
    .sc_bound = EX_UNBOUNDED,
    .weak_bound = EX_UNBOUNDED,
};

EX_SCENARIO(broken){
    .name = "early-destroy-broken",
    .claim = "the signal reads the semaphore after giving the permit",
    .setup = setup,
    .threads = {waiter, probing_signaller},
    .titles = {"waiter", "signaller"},
    .finds = EX_RACE,
};
