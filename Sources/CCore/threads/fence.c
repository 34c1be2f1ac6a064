/* SPDX-License-Identifier: Apache-2.0
 *
 * The heavy side of the asymmetric fence, and the choice between its two forms, made before main. See
 * <interlock/inline/fence.h>.
 */
#include "threads/membarrier.h"
#include <interlock/inline/fence.h>

ILK_ATOMIC(bool) ilk__membarrier_works = false;

__attribute__((constructor)) static void choose(void) {
    /* FN4 relaxed: no other thread of ours runs yet; one that does reads false and fences (FN1). */
    ilk_atomic_store(&ilk__membarrier_works, ilk__membarrier_register(), memory_order_relaxed);
}

void ilk__fence_heavy(void) {
    /* FN3 seq_cst, pairs with FN2 (the light side where it fences). Executed in both forms, so that a
     * light side which has not yet heard of membarrier is in order too. See FN2 for the outcome. */
    ilk_atomic_fence(memory_order_seq_cst);
    if (ilk_atomic_load(&ilk__membarrier_works, memory_order_relaxed)) { /* FN4 */
        if (!ilk__membarrier()) {
            /* Refused after it was granted. The light sides do not fence, so going on would lose
             * wake-ups without a word. */
            __builtin_trap();
        }
    }
    ilk_atomic_fence(memory_order_seq_cst); /* FN3 */
}
