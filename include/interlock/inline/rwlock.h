/* SPDX-License-Identifier: Apache-2.0
 *
 * The fast paths of ilk_rwlock: one compare-and-swap each on an uncontended lock. Contracts are in
 * <interlock/rwlock.h>; everything else is in Sources/CCore/rwlock. A fast path only ever moves
 * between states in which nobody waits or watches; every other state goes to the slow path.
 *
 * The word, from the low end:
 *   bit 0   QUEUE_LOCKED     some thread is changing the queue. Set and cleared by slow paths.
 *   bit 1   QUEUE_CONTENDED  someone sleeps for bit 0. Only a hint to wake; see park/queue_lock.h.
 *   bit 2   HAS_WAITERS      the queue is not empty. Changes under bit 0 only. Unlocking goes slow.
 *   bit 3   READERS_HELD     a writer or an upgrade is queued. Changes under bit 0 only. New readers
 *                            queue: guarantee B.
 *   bit 4   OBSERVED         every call takes the slow path, where diagnosis lives.
 *   bit 5   UPGRADABLE       held upgradable.
 *   bit 6   WRITER           held for writing; excludes UPGRADABLE and readers.
 *   bit 7   unused, zero.
 *   bits 8 to 30             number of readers.
 *   bit 31  guard: set by nobody; a reader count that would carry into it goes slow and is reported.
 */
#ifndef INTERLOCK_INLINE_RWLOCK_H
#define INTERLOCK_INLINE_RWLOCK_H

#include <interlock/rwlock.h>

ILK_BEGIN_DECLARATIONS

#define ILK__RWLOCK_QUEUE_LOCKED UINT32_C(0x01)
#define ILK__RWLOCK_QUEUE_CONTENDED UINT32_C(0x02)
#define ILK__RWLOCK_HAS_WAITERS UINT32_C(0x04)
#define ILK__RWLOCK_READERS_HELD UINT32_C(0x08)
#define ILK__RWLOCK_OBSERVED UINT32_C(0x10)
#define ILK__RWLOCK_UPGRADABLE UINT32_C(0x20)
#define ILK__RWLOCK_WRITER UINT32_C(0x40)
#define ILK__RWLOCK_ONE_READER UINT32_C(0x100)
#define ILK__RWLOCK_READERS UINT32_C(0x7FFFFF00)

/* May a reader come in without queueing? One test covers writer, held-back readers, diagnosis. */
static inline bool ilk__rwlock_admits_reader(uint32_t word) ILK_NONBLOCKING {
    return (word & (ILK__RWLOCK_WRITER | ILK__RWLOCK_READERS_HELD | ILK__RWLOCK_OBSERVED)) == 0 &&
           (word & ILK__RWLOCK_READERS) != ILK__RWLOCK_READERS;
}

/* May a reader leave by decrement alone? Not if someone could be waiting for it to be the last. */
static inline bool ilk__rwlock_lets_reader_go(uint32_t word) ILK_NONBLOCKING {
    return (word & (ILK__RWLOCK_HAS_WAITERS | ILK__RWLOCK_OBSERVED)) == 0 &&
           (word & ILK__RWLOCK_READERS) != 0;
}

/* Slow paths: contended, observed, or misuse. */
ILK_COLD void ilk__rwlock_read_lock_slow(ilk_rwlock *lock);
ILK_COLD bool ilk__rwlock_try_read_lock_slow(ilk_rwlock *lock) ILK_NONBLOCKING;
ILK_COLD void ilk__rwlock_read_unlock_slow(ilk_rwlock *lock);
ILK_COLD void ilk__rwlock_write_lock_slow(ilk_rwlock *lock);
ILK_COLD bool ilk__rwlock_try_write_lock_slow(ilk_rwlock *lock) ILK_NONBLOCKING;
ILK_COLD void ilk__rwlock_write_unlock_slow(ilk_rwlock *lock);
ILK_COLD void ilk__rwlock_downgrade_slow(ilk_rwlock *lock);
ILK_COLD void ilk__rwlock_upgradable_lock_slow(ilk_rwlock *lock);
ILK_COLD void ilk__rwlock_upgradable_unlock_slow(ilk_rwlock *lock);
ILK_COLD void ilk__rwlock_upgrade_slow(ilk_rwlock *lock);

/* One attempt to move the word from a state read earlier to another. */
static inline bool ilk__rwlock_enter(ilk_rwlock *lock, uint32_t from, uint32_t to) ILK_NONBLOCKING {
    /* RW1 acquire, pairs with RW2 and RW5 (release, giving up).
     * Carries: everything the holders before us wrote.
     * If weaker: we read the guarded data as it was before their write. */
    return ilk_atomic_compare_exchange(&lock->word, &from, to, memory_order_acquire, memory_order_relaxed);
}

static inline bool ilk__rwlock_leave(ilk_rwlock *lock, uint32_t from, uint32_t to) ILK_NONBLOCKING {
    /* RW2 release, pairs with RW1 and RW4 (acquire, taking).
     * Carries: everything we wrote, and that we have finished reading.
     * If weaker: the next writer changes data we are still reading, or the next reader misses ours. */
    return ilk_atomic_compare_exchange(&lock->word, &from, to, memory_order_release, memory_order_relaxed);
}

static inline uint32_t ilk__rwlock_look(ilk_rwlock *lock) ILK_NONBLOCKING {
    /* RW3 relaxed: a hint; the compare-and-swap that follows (RW1, RW2) decides. */
    return ilk_atomic_load(&lock->word, memory_order_relaxed);
}

static inline void ilk_rwlock_read_lock(ilk_rwlock *lock) {
    uint32_t word = ilk__rwlock_look(lock);
    if (ILK_UNLIKELY(!ilk__rwlock_admits_reader(word)) ||
        ILK_UNLIKELY(!ilk__rwlock_enter(lock, word, word + ILK__RWLOCK_ONE_READER))) {
        ilk__rwlock_read_lock_slow(lock);
    }
}

static inline bool ilk_rwlock_try_read_lock(ilk_rwlock *lock) ILK_NONBLOCKING {
    uint32_t word = ilk__rwlock_look(lock);
    if (ILK_LIKELY(ilk__rwlock_admits_reader(word)) &&
        ILK_LIKELY(ilk__rwlock_enter(lock, word, word + ILK__RWLOCK_ONE_READER))) {
        return true;
    }
    return ilk__rwlock_try_read_lock_slow(lock);
}

static inline void ilk_rwlock_read_unlock(ilk_rwlock *lock) {
    uint32_t word = ilk__rwlock_look(lock);
    if (ILK_UNLIKELY(!ilk__rwlock_lets_reader_go(word)) ||
        ILK_UNLIKELY(!ilk__rwlock_leave(lock, word, word - ILK__RWLOCK_ONE_READER))) {
        ilk__rwlock_read_unlock_slow(lock);
    }
}

static inline void ilk_rwlock_write_lock(ilk_rwlock *lock) {
    if (ILK_UNLIKELY(!ilk__rwlock_enter(lock, 0, ILK__RWLOCK_WRITER))) {
        ilk__rwlock_write_lock_slow(lock);
    }
}

static inline bool ilk_rwlock_try_write_lock(ilk_rwlock *lock) ILK_NONBLOCKING {
    if (ILK_LIKELY(ilk__rwlock_enter(lock, 0, ILK__RWLOCK_WRITER))) {
        return true;
    }
    return ilk__rwlock_try_write_lock_slow(lock);
}

static inline void ilk_rwlock_write_unlock(ilk_rwlock *lock) {
    if (ILK_UNLIKELY(!ilk__rwlock_leave(lock, ILK__RWLOCK_WRITER, 0))) {
        ilk__rwlock_write_unlock_slow(lock);
    }
}

static inline void ilk_rwlock_downgrade(ilk_rwlock *lock) {
    if (ILK_UNLIKELY(!ilk__rwlock_leave(lock, ILK__RWLOCK_WRITER, ILK__RWLOCK_ONE_READER))) {
        ilk__rwlock_downgrade_slow(lock);
    }
}

static inline void ilk_rwlock_upgradable_lock(ilk_rwlock *lock) {
    if (ILK_UNLIKELY(!ilk__rwlock_enter(lock, 0, ILK__RWLOCK_UPGRADABLE))) {
        ilk__rwlock_upgradable_lock_slow(lock);
    }
}

static inline void ilk_rwlock_upgradable_unlock(ilk_rwlock *lock) {
    if (ILK_UNLIKELY(!ilk__rwlock_leave(lock, ILK__RWLOCK_UPGRADABLE, 0))) {
        ilk__rwlock_upgradable_unlock_slow(lock);
    }
}

static inline void ilk_rwlock_upgrade(ilk_rwlock *lock) {
    if (ILK_UNLIKELY(!ilk__rwlock_enter(lock, ILK__RWLOCK_UPGRADABLE, ILK__RWLOCK_WRITER))) {
        ilk__rwlock_upgrade_slow(lock);
    }
}

ILK_END_DECLARATIONS

#endif
