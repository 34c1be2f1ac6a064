/* SPDX-License-Identifier: Apache-2.0
 *
 * A consumer that sleeps when the ring is empty, with a flag that tells the producer. Raising the flag and
 * rechecking is store-then-load, as pushing and probing the flag is; without fences both may probe too early
 * (JDK 6822370). Only weak memory shows it.
 */
#include "../explorer.h"
#include <platform/futex.h>

static struct {
    ILK_ATOMIC(uint32_t) pushed; /* elements so far; they have no values here */
    ILK_ATOMIC(uint32_t) sleeps;
} s;

static void setup(void) {
    s.pushed = 0;
    s.sleeps = 0;
}

static void push(bool fenced) {
    ilk_atomic_store(&s.pushed, 1, memory_order_release);
    if (fenced) {
        ilk_atomic_fence(memory_order_seq_cst);
    }
    if (ilk_atomic_load(&s.sleeps, memory_order_relaxed) != 0) {
        ilk_atomic_store(&s.sleeps, 0, memory_order_relaxed);
        ilk__futex_wake(&s.sleeps, 1);
    }
}

static bool is_empty(void) {
    return ilk_atomic_load(&s.pushed, memory_order_acquire) == 0;
}

static void pop(bool rechecks, bool fenced) {
    while (is_empty()) {
        ilk_atomic_store(&s.sleeps, 1, memory_order_relaxed);
        if (fenced) {
            ilk_atomic_fence(memory_order_seq_cst);
        }
        if (!rechecks || is_empty()) {
            ilk__futex_wait(&s.sleeps, 1, UINT64_MAX);
        }
    }
}

static void producer(void) {
    push(true);
}
static void consumer(void) {
    pop(true, true);
}
static void consumer_without_recheck(void) {
    pop(false, true);
}
static void producer_without_fence(void) {
    push(false);
}
static void consumer_without_fence(void) {
    pop(true, false);
}

EX_SCENARIO(right){
    .name = "blocking-ring",
    .claim = "a push is never slept through",
    .setup = setup,
    .threads = {producer, consumer},
    .titles = {"producer", "consumer"},
    .sc_bound = EX_UNBOUNDED,
    .weak_bound = EX_UNBOUNDED,
    .spurious_wakeups = 1,
};

EX_SCENARIO(no_recheck){
    .name = "blocking-ring-broken-no-recheck",
    .claim = "the consumer does not recheck after raising its flag",
    .setup = setup,
    .threads = {producer, consumer_without_recheck},
    .titles = {"producer", "consumer"},
    .finds = EX_DEADLOCK,
};

EX_SCENARIO(no_fence){
    .name = "blocking-ring-broken-no-fence",
    .claim = "nothing orders raising the flag before the recheck",
    .setup = setup,
    .threads = {producer_without_fence, consumer_without_fence},
    .titles = {"producer", "consumer"},
    .finds = EX_DEADLOCK,
    .finds_in = EX_WEAK,
};
