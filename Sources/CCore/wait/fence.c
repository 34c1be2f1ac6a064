/* SPDX-License-Identifier: Apache-2.0
 *
 * The heavy fence (<interlock/inline/fence.h>), and the choice between the forms of the asymmetric fence.
 *
 *   membarrier_works   leaving     light fence         heavy fence
 *   true               0           compiler barrier    membarrier; refused: to the next row
 *   false              1           fence               waits until the threads that read true have come through
 *   false              0           fence               fence
 * Must not happen: a heavy fence relies on light fences that are fences (third row) while a thread that read true is
 * still in a compiler barrier. So `leaving` goes up before membarrier_works goes down, and down after the wait. Where
 * several threads leave at once, the wait of one serves all. A child of fork waits for no thread.
 */
#include "wait/fence.h"
#include "platform/membarrier.h"
#include "platform/reaches.h"
#include "platform/stores.h"
#include <interlock/inline/fence.h>
#include <pthread.h>
#include <stdint.h>

ILK_ATOMIC(bool) ilk__membarrier_works = false;
static ILK_ATOMIC(uint32_t) leaving;

static void fence_after_fork_in_child(void) {
    ilk_atomic_store(&leaving, 0, memory_order_relaxed); /* FN4: no thread that was leaving is here */
}

__attribute__((constructor)) static void choose(void) {
    /* FN4 relaxed: no other thread of ours runs yet; one that does reads false and fences (FN1). */
    ilk_atomic_store(&ilk__membarrier_works, ilk__membarrier_register(), memory_order_relaxed);
    (void)pthread_atfork(NULL, NULL, fence_after_fork_in_child);
}

static void stop_relying_on_membarrier(void) {
    ILK__REACHES(FENCE_LEAVES, true);
    ilk_atomic_store(&leaving, 1, memory_order_relaxed); /* FN4: published by FN6 */
    /* FN6 release, pairs with FN5.
     * Carries: that we are leaving.
     * If weaker: a heavy fence relies on light fences that are still compiler barriers. */
    ilk_atomic_store(&ilk__membarrier_works, false, memory_order_release);
    ilk__wait_for_stores();
    /* FN8 release, pairs with FN7.
     * Carries: that the threads that saw true have come through, and what they did.
     * If weaker: as FN6. */
    ilk_atomic_store(&leaving, 0, memory_order_release);
}

void ilk__fence_heavy(void) {
    /* FN3 seq_cst, pairs with FN2 (a light fence that is a fence) and RS12 (the owner of a slot that must fence).
     * It stands in both forms: so a light fence that has not read yet that membarrier works is ordered too. */
    ilk_atomic_fence(memory_order_seq_cst);
    /* FN5 acquire, pairs with FN6: false: the leaver has begun, and FN7 tells how far it is. */
    if (ilk_atomic_load(&ilk__membarrier_works, memory_order_acquire)) {
        if (!ilk__membarrier()) {
            stop_relying_on_membarrier();
        }
        /* FN7 acquire, pairs with FN8: not 0: the threads that saw true have come through. */
    } else if (ilk_atomic_load(&leaving, memory_order_acquire) != 0) {
        ILK__REACHES(FENCE_AWAITS_LEAVER, true);
        ilk__wait_for_stores();
    }
    ilk_atomic_fence(memory_order_seq_cst); /* FN3 */
}

bool ilk__fence_heavy_try(void) {
    return ilk__membarrier(); /* a fence on the calling thread too */
}

void ilk__fence_heavy_alone(void) {
    if (ilk__fence_heavy_try()) {
        return;
    }
    ilk_atomic_fence(memory_order_seq_cst); /* FN3 */
    if (ilk__fence_heavy_is_cheap()) {
        stop_relying_on_membarrier();
    } else {
        ilk__wait_for_stores();
    }
    ilk_atomic_fence(memory_order_seq_cst); /* FN3 */
}
