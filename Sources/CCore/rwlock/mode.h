/* SPDX-License-Identifier: Apache-2.0
 *
 * Which mode a lock should be in: guesses from counts, made rarely. Nothing here decides who holds the
 * lock; a wrong guess costs time only.
 */
#ifndef INTERLOCK_RWLOCK_MODE_H
#define INTERLOCK_RWLOCK_MODE_H

#include <interlock/inline/rwlock.h>

/* A reader that may wait, off the fast path: gets a block of reader slots if the thread has none, moves a lock that
 * is read a lot to them, and lets one that is hardly written leave out the fence. The last measures a membarrier once
 * in a while. */
void ilk__mode_decide(ilk_rwlock *lock);

/* The second of those decisions: should readers of the lock, whose read samples are full, move to slots? */
bool ilk__mode_wants_slots(ilk_rwlock *lock);

/* Writes between two looks: enough that an average means something, for the gap between two writes does not.
 * A look takes some eighty nanoseconds, so it comes more rarely where nothing is in doubt. */
enum { ILK__WRITES_PER_PROBE = 32, ILK__WRITES_PER_CALM_PROBE = 512 };

#define ILK__MODE_PENALTY UINT32_C(0x0F000000)

/* A writer holds the lock, whose word has SLOTS: one write more. True: it should look what they cost. */
static inline bool ilk__mode_count_write(ilk_rwlock *lock, uint32_t word) {
    /* The count is the lowest part of the note, and carries into the next once in sixteen million writes,
     * which does no harm there. */
    uint32_t state = ilk_atomic_load(&lock->mode_state, memory_order_relaxed) + 1; /* RG1 */
    ilk_atomic_store(&lock->mode_state, state, memory_order_relaxed);              /* RG1 */
    bool penalised = (state & ILK__MODE_PENALTY) != 0 || (word & ILK__RWLOCK_FENCE_FREE) != 0;
    return state % ILK__WRITES_PER_PROBE == 0 && (penalised || state % ILK__WRITES_PER_CALM_PROBE == 0);
}

/* That writer has drained the lock: which mode bits should go? `paid` is what its membarrier took in clock
 * ticks, 0 without. */
uint32_t ilk__mode_to_leave(ilk_rwlock *lock, uint32_t word, uint32_t paid, uint32_t drained_in);

#endif
