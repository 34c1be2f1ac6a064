/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_mpmc after long use: both rings' tests, and its sleepers' event counts of 32 bits.
 */
#include "rings/mpmc_face.h"

#include "rings/ring_long.h"

enum { SLEEPS = 6 };

static void pop_often(void *context) {
    for (item expected = 0; expected < SLEEPS; expected++) {
        item value;
        check_equal(ilk_mpmc_pop_until(context, &value, sizeof value, ILK_FOREVER), ILK_OK);
        check_equal(value, expected);
    }
}

/*   popper                           this thread
 *   sleeps on the event count 2^32 - 4
 *                                    pushes: the event count goes two steps, to 2^32 - 2
 *   pops, sleeps
 *                                    pushes: 0, and so on                        */
TEST(wake_ups_may_wrap) {
    ilk_mpmc *ring = make(1);
    ilk_atomic_store(&ring->not_empty, UINT32_MAX - 3, memory_order_relaxed);
    struct thread popper;
    thread_start(&popper, pop_often, ring);
    for (item value = 0; value < SLEEPS; value++) {
        thread_await_sleep(&popper);
        check(push(ring, value));
        while (ilk_mpmc_count(ring) > 0) { /* or it would seem to sleep still */
            (void)sched_yield();
        }
    }
    thread_join(&popper);
    check_equal(ilk_atomic_load(&ring->not_empty, memory_order_relaxed) % 2, 0);
    check(ilk_atomic_load(&ring->not_empty, memory_order_relaxed) < 2 * SLEEPS);
    ilk_mpmc_destroy(ring);
}
