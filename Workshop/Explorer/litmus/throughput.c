/* SPDX-License-Identifier: Apache-2.0
 *
 * Measures the engine's speed: two threads, ten operations, no fault, and a bound that depth-first does not
 * exhaust soon.
 */
#include "../explorer.h"

static struct {
    ILK_ATOMIC(uint32_t) x, y;
    uint32_t seen;
} s;

static void setup(void) {
    s.x = 0;
    s.y = 0;
}

static void one(void) {
    ilk_atomic_store(&s.x, 1, memory_order_release);
    (void)ilk_atomic_load(&s.y, memory_order_acquire);
    ilk_atomic_fetch_add(&s.x, 1, memory_order_acq_rel);
    ilk_atomic_store(&s.y, 2, memory_order_relaxed);
    (void)ilk_atomic_load(&s.y, memory_order_acquire);
}

static void two(void) {
    ilk_atomic_store(&s.y, 1, memory_order_release);
    (void)ilk_atomic_load(&s.x, memory_order_acquire);
    ilk_atomic_fetch_add(&s.y, 1, memory_order_acq_rel);
    ilk_atomic_store(&s.x, 2, memory_order_relaxed);
    (void)ilk_atomic_load(&s.x, memory_order_acquire);
}

EX_SCENARIO(throughput){
    .name = "throughput-two-threads-ten-operations",
    .claim = "measures executions a second; nothing to find",
    .setup = setup,
    .threads = {one, two},
    .sc_bound = EX_UNBOUNDED,
    .weak_bound = EX_UNBOUNDED,
};
