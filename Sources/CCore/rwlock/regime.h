/* SPDX-License-Identifier: Apache-2.0
 *
 * Which regime a lock should be in: guesses from counts, made rarely. Nothing here decides who holds the
 * lock; a wrong guess costs time only.
 */
#ifndef INTERLOCK_RWLOCK_REGIME_H
#define INTERLOCK_RWLOCK_REGIME_H

#include <interlock/inline/rwlock.h>

/* A reader found the tally of reads full: should readers move to slots? */
bool ilk__regime_wants_slots(ilk_rwlock *lock);

/* A reader has used its slot many times: should readers leave out their fence? Any reader's call. */
bool ilk__regime_wants_fence_free(ilk_rwlock *lock, struct ilk__slot_block *block);

/* Writes between two looks: enough that an average means something, for the gap between two writes does not.
 * A look takes some eighty nanoseconds, so it comes more rarely where nothing is in doubt. */
enum { ILK__WRITES_PER_LOOK = 32, ILK__WRITES_WITHOUT_DOUBT = 512 };

#define ILK__REGIME_DOUBT UINT32_C(0x0F000000)

/* A writer holds the lock, whose word has SLOTS: one write more. True: it should look what they cost. */
static inline bool ilk__regime_count_write(ilk_rwlock *lock, uint32_t word) {
    /* The count is the lowest part of the note, and carries into the next once in sixteen million writes,
     * which does no harm there. */
    uint32_t note = ilk_atomic_load(&lock->regime_note, memory_order_relaxed) + 1; /* RG1 */
    ilk_atomic_store(&lock->regime_note, note, memory_order_relaxed);              /* RG1 */
    bool doubtful = (note & ILK__REGIME_DOUBT) != 0 || (word & ILK__RWLOCK_FENCE_FREE) != 0;
    return note % ILK__WRITES_PER_LOOK == 0 && (doubtful || note % ILK__WRITES_WITHOUT_DOUBT == 0);
}

/* That writer has drained the lock: which regime bits should go? `paid` is what its membarrier took in clock
 * ticks, 0 without. */
uint32_t ilk__regime_to_leave(ilk_rwlock *lock, uint32_t word, uint32_t paid, uint32_t drained_in);

#endif
