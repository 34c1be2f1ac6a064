/* SPDX-License-Identifier: Apache-2.0
 *
 * The mode that a lock should be in: guesses from counts, made rarely. A wrong one costs time only: nothing
 * here decides which thread holds the lock.
 */
#ifndef INTERLOCK_RWLOCK_MODE_H
#define INTERLOCK_RWLOCK_MODE_H

#include <interlock/inline/rwlock.h>

/* For a reader that may wait: gets the thread a block, moves a lock that is read a lot to slots, and lets one
 * that is hardly written leave the fence out, for which it measures a membarrier once in a while. */
void ilk__mode_decide(ilk_rwlock *lock);

/* For readers that found the read samples full. */
bool ilk__mode_wants_slots(ilk_rwlock *lock);

/* Enough for an average. A probe takes some eighty nanoseconds: rarer without penalty. */
enum { ILK__WRITES_PER_PROBE = 32, ILK__WRITES_PER_CALM_PROBE = 512 };

#define ILK__MODE_COUNT UINT32_C(0x00FFFFFF)
#define ILK__MODE_PENALTY UINT32_C(0x0F000000)
/* mode_state of a lock that stays central: more failed trials than there ever are. */
#define ILK__MODE_PLAIN UINT32_C(0xF0000000)

/* mode_state of a lock that ILK_RWLOCK_INIT, or ILK_RWLOCK_INIT_PLAIN, has made, before its first
 * call that may wait. */
#define ILK__MODE_FRESH UINT32_C(0xFFFFFFFF)
#define ILK__MODE_FRESH_PLAIN UINT32_C(0xFFFFFFFE)

static inline bool ilk__mode_is_plain(const ilk_rwlock *lock) ILK_NONBLOCKING {
    const uint32_t state = ilk_atomic_load(&lock->mode_state, memory_order_relaxed); /* RG1: plain for good */
    return state >= ILK__MODE_PLAIN && state != ILK__MODE_FRESH;
}

/* Counts one write of a lock with SLOTS. True: its writer should probe what slots cost. */
static inline bool ilk__mode_count_write(ilk_rwlock *lock, uint32_t word) {
    uint32_t state = ilk_atomic_load(&lock->mode_state, memory_order_relaxed); /* RG1 */
    /* A carry would be a penalty that no probe has found, and in the end a plain lock. */
    state = (state & ~ILK__MODE_COUNT) | ((state + 1) & ILK__MODE_COUNT);
    ilk_atomic_store(&lock->mode_state, state, memory_order_relaxed); /* RG1 */
    bool penalised = (state & ILK__MODE_PENALTY) != 0 || (word & ILK__RWLOCK_FENCE_FREE) != 0;
    return state % ILK__WRITES_PER_PROBE == 0 && (penalised || state % ILK__WRITES_PER_CALM_PROBE == 0);
}

/* For the writer that has drained the lock: the mode bits that should go. `paid`: ticks of its membarrier, or
 * 0. */
uint32_t ilk__mode_to_leave(ilk_rwlock *lock, uint32_t word, uint32_t paid, uint32_t drained_in);

#endif
