/* SPDX-License-Identifier: Apache-2.0
 *
 * The fast paths of ilk_rwlock. Contracts are in <interlock/rwlock.h>; everything else is in
 * Sources/CCore/rwlock; docs/rwlock.md draws the modes. A fast path only ever moves between states in
 * which nobody waits or watches; every other state goes to the slow path.
 *
 * The word, from the low end:
 *   bit 0   QUEUE_LOCKED     some thread is changing the queue. Set and cleared by slow paths.
 *   bit 1   QUEUE_CONTENDED  someone sleeps for bit 0. Only a hint to wake; see wait/queue_lock.h.
 *   bit 2   HAS_WAITERS      the queue is not empty. Changes under bit 0 only. Unlocking goes slow.
 *   bit 3   READERS_HELD     a writer or an upgrade is queued. Changes under bit 0 only. New readers
 *                            queue (guarantee B).
 *   bit 4   OBSERVED         every call takes the slow path, where diagnosis lives.
 *   bit 5   FENCE_FREE       readers enter slots without a fence; writers pay with a membarrier before
 *                            they look. Only with SLOTS. Set by a reader, cleared by a writer that
 *                            holds the lock and has paid.
 *   bit 6   WRITER           held for writing, or by a writer that waits for the slots to empty;
 *                            excludes UPGRADABLE and counted readers, and new readers of any kind.
 *   bit 7   SLOTS            readers may be in slots; writers must look. Set by a reader, cleared by a
 *                            writer that holds the lock.
 *   bit 8   UPGRADABLE       held upgradable.
 *   bits 9 to 13   the read samples, a hint: reads since somebody last thought about the mode, saturating. 0 with
 *                  SLOTS.
 *   bits 14 to 30            number of counted readers: those that are not in slots.
 *   bit 31  guard: set by nobody; a reader count that would carry into it goes slow and is reported.
 *
 * The three modes (which one a lock is in is its own choice; rwlock/mode.c):
 *   central      neither bit: readers are counted in the word
 *   fenced       SLOTS: a reader notes the lock in its slot by an exchange, then looks at the word
 *   fence-free   SLOTS and FENCE_FREE: the reader's note is a plain store
 * In the last two a reader whose slot is taken (by another lock) is counted as in the first.
 */
#ifndef INTERLOCK_INLINE_RWLOCK_H
#define INTERLOCK_INLINE_RWLOCK_H

#include <interlock/inline/fence.h>
#include <interlock/inline/held.h>
#include <interlock/inline/slots.h>
#include <interlock/rwlock.h>

ILK_BEGIN_DECLARATIONS

#define ILK__RWLOCK_QUEUE_LOCKED UINT32_C(0x01)
#define ILK__RWLOCK_QUEUE_CONTENDED UINT32_C(0x02)
#define ILK__RWLOCK_HAS_WAITERS UINT32_C(0x04)
#define ILK__RWLOCK_READERS_HELD UINT32_C(0x08)
#define ILK__RWLOCK_OBSERVED UINT32_C(0x10)
#define ILK__RWLOCK_FENCE_FREE UINT32_C(0x20)
#define ILK__RWLOCK_WRITER UINT32_C(0x40)
#define ILK__RWLOCK_SLOTS UINT32_C(0x80)
#define ILK__RWLOCK_UPGRADABLE UINT32_C(0x100)
#define ILK__RWLOCK_ONE_READ_SAMPLE UINT32_C(0x200)
#define ILK__RWLOCK_READ_SAMPLES UINT32_C(0x3E00)
#define ILK__RWLOCK_ONE_READER UINT32_C(0x4000)
#define ILK__RWLOCK_READERS UINT32_C(0x7FFFC000)
#define ILK__RWLOCK_MODE (ILK__RWLOCK_SLOTS | ILK__RWLOCK_FENCE_FREE)
#define ILK__RWLOCK_KEEPS_READERS_OUT (ILK__RWLOCK_WRITER | ILK__RWLOCK_READERS_HELD | ILK__RWLOCK_OBSERVED)
/* What decides how a reader comes in on the fast path, if at all: 0, SLOTS and MODE are the ways. A whole
 * byte, because comparing one takes the fewest instructions. */
#define ILK__RWLOCK_READ_PATH UINT32_C(0xFF)

/* How a reader holds a lock: noted in the slot of that number of that block, which is to hold `empty` once it
 * has left; without a block, counted in the word. */
typedef struct ilk__read_section {
    struct ilk__slot_block *block;
    size_t number;
    uint64_t empty;
} ilk__read_section;

/* What a thread asks of a lock. UPGRADE comes from UPGRADABLE, and is given up as WRITE. */
enum ilk__rwlock_kind { ILK__READ, ILK__WRITE, ILK__UPGRADABLE, ILK__UPGRADE };

/* Slow paths: contended, observed, a change of mode, or misuse. */
ILK_COLD void ilk__rwlock_lock_slow(ilk_rwlock *lock, enum ilk__rwlock_kind kind);
ILK_COLD bool ilk__rwlock_try_lock_slow(ilk_rwlock *lock, enum ilk__rwlock_kind kind) ILK_NONBLOCKING;
ILK_COLD void ilk__rwlock_unlock_slow(ilk_rwlock *lock, enum ilk__rwlock_kind kind);
ILK_COLD void ilk__rwlock_downgrade_slow(ilk_rwlock *lock);
/* As ilk_rwlock_read_lock_until, and says how the reader came in. */
ILK_COLD ilk_status ilk__read_section_begin_slow(ilk_rwlock *lock, ilk__read_section *section,
                                                 uint64_t deadline_ns);
/* With WRITER just set on a lock with SLOTS: waits for the readers in slots. Not cold, but not inline. */
void ilk__rwlock_drain(ilk_rwlock *lock, uint32_t word);
/* After freeing a slot: wakes the writers that sleep on the block. */
ILK_COLD void ilk__slot_wake_slow(struct ilk__slot_block *block) ILK_NONBLOCKING;

/* Which slot of every block is this lock's: the top bits of a product spread neighbours apart. The factor is a
 * multiple of 256, so that the eight high bits of the address, which slots do not keep, do not matter here
 * either: a lock has one slot, whatever tag a pointer to it carries. */
static inline size_t ilk__rwlock_slot_number(const ilk_rwlock *lock) ILK_NONBLOCKING {
    return (size_t)(((uint64_t)(uintptr_t)lock * UINT64_C(0x9E3779B97F4A7D00)) >> 61);
}

/* One attempt to move the word from a state read earlier to another. */
ILK_ALWAYS_INLINE bool ilk__rwlock_enter(ilk_rwlock *lock, uint32_t from, uint32_t to) ILK_NONBLOCKING {
    /* RW1 seq_cst, pairs with RW2, RW4 and RW8 (release, giving up), and with RW10 in the slots' handshake.
     * Carries: everything the holders before us wrote.
     * If weaker: we read the guarded data as it was before their write. For what sequential consistency
     * forbids see RW10. */
    return ilk_atomic_compare_exchange(&lock->word, &from, to, memory_order_seq_cst, memory_order_relaxed);
}

ILK_ALWAYS_INLINE bool ilk__rwlock_leave(ilk_rwlock *lock, uint32_t from, uint32_t to) ILK_NONBLOCKING {
    /* RW2 release, pairs with RW1, RW4 and RW5 (acquire, taking) and RW11 (the look after a slot was taken).
     * Carries: everything we wrote, and that we have finished reading.
     * If weaker: the next writer changes data we are still reading, or the next reader misses ours. */
    return ilk_atomic_compare_exchange(&lock->word, &from, to, memory_order_release, memory_order_relaxed);
}

static inline uint32_t ilk__rwlock_probe(const ilk_rwlock *lock) ILK_NONBLOCKING {
    /* RW3 relaxed: a hint; the compare-and-swap that follows (RW1, RW2), or RW11, decides. */
    return ilk_atomic_load(&lock->word, memory_order_relaxed);
}

ILK_ALWAYS_INLINE uint64_t ilk__slot_load(const struct ilk__slot_block *block, size_t number)
    ILK_NONBLOCKING {
    /* RW9 relaxed: the owner's own slot; nobody else writes it while this thread lives. */
    return ilk_atomic_load(&block->slots[number], memory_order_relaxed);
}

/* A lock as slots note it. */
static inline uint64_t ilk__slot_announcement(const ilk_rwlock *lock) ILK_NONBLOCKING {
    return (uint64_t)(uintptr_t)lock << (64 - ILK__SLOT_ADDRESS_BITS);
}

/* Whether what was seen in a slot names no lock. */
static inline bool ilk__slot_is_free(uint64_t seen) ILK_NONBLOCKING {
    return seen <= ILK__SLOT_USES;
}

/* Whether it names this lock: exactly then a free slot remains without it. */
static inline bool ilk__slot_names(uint64_t seen, const ilk_rwlock *lock) ILK_NONBLOCKING {
    return ilk__slot_is_free(seen - ilk__slot_announcement(lock));
}

/* After something that others may sleep for. */
ILK_ALWAYS_INLINE void ilk__slot_check_requests(struct ilk__slot_block *block) ILK_NONBLOCKING {
    /* Pairs with the heavy fence of whoever is about to sleep (rwlock/reader_slots.c); where that needs a fence of
     * ours, ILK__DRAIN_FENCED is set and the slow path has it. Forbids: we free the slot, or the word, and
     * miss the wake request, while the other makes the wake request and misses what is free. */
    ilk_compiler_fence();
    /* RW14 relaxed: ordered by that fence. In this thread's own block, which is never freed. */
    if (ILK_UNLIKELY((ilk_atomic_load(&block->drain, memory_order_relaxed) & ILK__DRAIN_REQUESTS) != 0)) {
        ilk__slot_wake_slow(block);
    }
}

ILK_ALWAYS_INLINE void ilk__slot_free(struct ilk__slot_block *block, size_t number, uint64_t empty)
    ILK_NONBLOCKING {
    /* RW12 release, pairs with RW13 (seq_cst, the writer's look at the slot).
     * Carries: that we have finished reading. The lock itself is not touched: it may be gone.
     * If weaker: the writer changes data we are still reading. */
    ilk_atomic_store(&block->slots[number], empty, memory_order_release);
    ilk__slot_check_requests(block);
}

/* The slots' handshake, its second half: looks whether readers are still admitted in the same way, and leaves
 * if not, or if the queue is busy.
 *     reader                          writer
 *       slot = lock                     word |= WRITER
 *       (full fence, or none)           (RW1 is one)  (membarrier, if readers have none)
 *       look at the word                look at the slot
 * Must not happen: both miss the other. */
ILK_ALWAYS_INLINE bool ilk__rwlock_stay(ilk_rwlock *lock, uint32_t path, const ilk__read_section *section)
    ILK_NONBLOCKING {
    /* RW11 seq_cst, pairs with RW2 and RW4 (release, giving up). Why sequentially consistent: see RW10.
     * Carries: what the last writer wrote. */
    uint32_t now = ilk_atomic_load(&lock->word, memory_order_seq_cst);
    if (ILK_UNLIKELY((now & ILK__RWLOCK_READ_PATH) != path)) {
        ilk__slot_free(section->block, section->number, section->empty);
        return false;
    }
    return true;
}

/* In without waiting, if that is the plain case. No hints between the three ways: any may be the likely one,
 * and the others would be moved far away. */
ILK_ALWAYS_INLINE bool ilk__rwlock_try_read_fast(ilk_rwlock *lock, ilk__read_section *section)
    ILK_NONBLOCKING {
    uint32_t word = ilk__rwlock_probe(lock);
    uint32_t path = word & ILK__RWLOCK_READ_PATH;
    uint64_t announcement = ilk__slot_announcement(lock);
    if (__builtin_expect_with_probability(path == ILK__RWLOCK_MODE, 1, 0.7)) {
        struct ilk__slot_block *block = ilk__my_slots();
        size_t number = ilk__rwlock_slot_number(lock);
        const ilk__read_section announced = {block, number, 0};
        *section = announced;
        if (ILK_UNLIKELY(!ilk__slot_is_free(ilk__slot_load(block, number)))) {
            return false;
        }
        /* RW15 release, pairs with RW13 (seq_cst, the look of another lock's writer): that writer learns from
         * this note, too, that we have finished reading under its lock.
         * If weaker: it changes data we are still reading.
         * No fence of ours: the writer's membarrier, between its RW1 and its RW13, is one. Uncounted: what
         * one read stores must not depend on what the last one did. */
        ilk_atomic_store(&block->slots[number], announcement, memory_order_release);
        ilk_compiler_fence();
        return ilk__rwlock_stay(lock, ILK__RWLOCK_MODE, section);
    }
    if (path == ILK__RWLOCK_SLOTS) {
        struct ilk__slot_block *block = ilk__my_slots();
        size_t number = ilk__rwlock_slot_number(lock);
        uint64_t seen = ilk__slot_load(block, number);
        const ilk__read_section announced = {block, number, seen + 1};
        *section = announced;
        if (ILK_UNLIKELY(seen >= ILK__SLOT_FULL)) {
            return false;
        }
        /* RW10 seq_cst, pairs with RW1, RW5 and RW13 (seq_cst, the writer's two steps).
         * Forbids: slot = lock; look: no writer  beside  WRITER up; look: slot empty. */
        (void)ilk_atomic_exchange(&block->slots[number], seen + 1 + announcement, memory_order_seq_cst);
        return ilk__rwlock_stay(lock, ILK__RWLOCK_SLOTS, section);
    }
    const ilk__read_section counted = {NULL, 0, 0};
    *section = counted;
    /* A full read samples of reads means that slots would pay; a full count is reported: both go slow. */
    return path == 0 && ILK_LIKELY((word & ILK__RWLOCK_READ_SAMPLES) != ILK__RWLOCK_READ_SAMPLES) &&
           ILK_LIKELY((word & ILK__RWLOCK_READERS) != ILK__RWLOCK_READERS) &&
           ilk__rwlock_enter(lock, word, word + ILK__RWLOCK_ONE_READER + ILK__RWLOCK_ONE_READ_SAMPLE);
}

/* Out of the word's count. */
ILK_ALWAYS_INLINE void ilk__rwlock_uncount(ilk_rwlock *lock) {
    uint32_t word = ilk__rwlock_probe(lock);
    /* Not by decrement alone if someone could be waiting for this reader to be the last. */
    bool plain =
        (word & (ILK__RWLOCK_HAS_WAITERS | ILK__RWLOCK_OBSERVED)) == 0 && (word & ILK__RWLOCK_READERS) != 0;
    if (ILK_UNLIKELY(!plain) || ILK_UNLIKELY(!ilk__rwlock_leave(lock, word, word - ILK__RWLOCK_ONE_READER))) {
        ilk__rwlock_unlock_slow(lock, ILK__READ);
    }
}

/* Nobody inside, nobody waiting or watching: mode and read samples may be anything. */
static inline bool ilk__rwlock_is_idle(uint32_t word) ILK_NONBLOCKING {
    return (word & ~(ILK__RWLOCK_MODE | ILK__RWLOCK_READ_SAMPLES)) == 0;
}

ILK_ALWAYS_INLINE void ilk_rwlock_read_lock(ilk_rwlock *lock) {
    ilk__read_section section;
    /* No hint here, on top of those within: it made clang's hot-cold splitting take the whole for cold. */
    if (!ilk__rwlock_try_read_fast(lock, &section)) {
        ilk__rwlock_lock_slow(lock, ILK__READ);
    }
    ilk__held_more(lock);
}

static inline bool ilk_rwlock_try_read_lock(ilk_rwlock *lock) ILK_NONBLOCKING {
    ilk__read_section section;
    if (!ilk__rwlock_try_read_fast(lock, &section) && !ilk__rwlock_try_lock_slow(lock, ILK__READ)) {
        return false;
    }
    ilk__held_more(lock);
    return true;
}

ILK_ALWAYS_INLINE void ilk_rwlock_read_unlock(ilk_rwlock *lock) {
    ilk__held_less(lock, ILK__RWLOCK_READERS, "ilk_rwlock_read_unlock");
    struct ilk__slot_block *block = ilk__my_slots();
    size_t number = ilk__rwlock_slot_number(lock);
    uint64_t empty = ilk__slot_load(block, number) - ilk__slot_announcement(lock);
    if (ILK_LIKELY(ilk__slot_is_free(empty))) {
        ilk__slot_free(block, number, empty);
    } else {
        ilk__rwlock_uncount(lock);
    }
}

static inline void ilk_rwlock_write_lock(ilk_rwlock *lock) {
    uint32_t word = ilk__rwlock_probe(lock);
    uint32_t held = word | ILK__RWLOCK_WRITER;
    if (ILK_UNLIKELY(!ilk__rwlock_is_idle(word)) || ILK_UNLIKELY(!ilk__rwlock_enter(lock, word, held))) {
        ilk__rwlock_lock_slow(lock, ILK__WRITE);
    } else if ((word & ILK__RWLOCK_SLOTS) != 0) {
        ilk__rwlock_drain(lock, held);
    }
    ilk__held_more(lock);
}

static inline bool ilk_rwlock_try_write_lock(ilk_rwlock *lock) ILK_NONBLOCKING {
    uint32_t word = ilk__rwlock_probe(lock);
    if (ILK_LIKELY(ilk__rwlock_is_idle(word) && (word & ILK__RWLOCK_SLOTS) == 0) &&
        ILK_LIKELY(ilk__rwlock_enter(lock, word, word | ILK__RWLOCK_WRITER))) {
        ilk__held_more(lock);
        return true;
    }
    if (!ilk__rwlock_try_lock_slow(lock, ILK__WRITE)) {
        return false;
    }
    ilk__held_more(lock);
    return true;
}

static inline void ilk_rwlock_write_unlock(ilk_rwlock *lock) {
    ilk__held_less(lock, ILK__RWLOCK_WRITER, "ilk_rwlock_write_unlock");
    uint32_t word = ilk__rwlock_probe(lock);
    bool plain = (word & ~(ILK__RWLOCK_MODE | ILK__RWLOCK_READ_SAMPLES)) == ILK__RWLOCK_WRITER;
    if (ILK_UNLIKELY(!plain) || ILK_UNLIKELY(!ilk__rwlock_leave(lock, word, word - ILK__RWLOCK_WRITER))) {
        ilk__rwlock_unlock_slow(lock, ILK__WRITE);
    }
}

static inline void ilk_rwlock_downgrade(ilk_rwlock *lock) {
    uint32_t word = ilk__rwlock_probe(lock);
    bool plain = (word & ~(ILK__RWLOCK_MODE | ILK__RWLOCK_READ_SAMPLES)) == ILK__RWLOCK_WRITER;
    uint32_t left = word - ILK__RWLOCK_WRITER + ILK__RWLOCK_ONE_READER;
    if (ILK_UNLIKELY(!plain) || ILK_UNLIKELY(!ilk__rwlock_leave(lock, word, left))) {
        ilk__rwlock_downgrade_slow(lock);
    }
}

static inline void ilk_rwlock_upgradable_lock(ilk_rwlock *lock) {
    uint32_t word = ilk__rwlock_probe(lock);
    if (ILK_UNLIKELY(!ilk__rwlock_is_idle(word)) ||
        ILK_UNLIKELY(!ilk__rwlock_enter(lock, word, word | ILK__RWLOCK_UPGRADABLE))) {
        ilk__rwlock_lock_slow(lock, ILK__UPGRADABLE);
    }
    ilk__held_more(lock);
}

static inline void ilk_rwlock_upgradable_unlock(ilk_rwlock *lock) {
    ilk__held_less(lock, ILK__RWLOCK_UPGRADABLE, "ilk_rwlock_upgradable_unlock");
    uint32_t word = ilk__rwlock_probe(lock);
    bool plain = (word & (ILK__RWLOCK_HAS_WAITERS | ILK__RWLOCK_OBSERVED)) == 0 &&
                 (word & ILK__RWLOCK_UPGRADABLE) != 0;
    if (ILK_UNLIKELY(!plain) ||
        ILK_UNLIKELY(!ilk__rwlock_leave(lock, word, word & ~ILK__RWLOCK_UPGRADABLE))) {
        ilk__rwlock_unlock_slow(lock, ILK__UPGRADABLE);
    }
}

static inline void ilk_rwlock_upgrade(ilk_rwlock *lock) {
    uint32_t word = ilk__rwlock_probe(lock);
    uint32_t held = word - ILK__RWLOCK_UPGRADABLE + ILK__RWLOCK_WRITER;
    bool plain =
        (word & ~ILK__RWLOCK_READ_SAMPLES) == ILK__RWLOCK_UPGRADABLE; /* with slots there is more to do */
    if (ILK_UNLIKELY(!plain) || ILK_UNLIKELY(!ilk__rwlock_enter(lock, word, held))) {
        ilk__rwlock_lock_slow(lock, ILK__UPGRADE);
    }
}

ILK_END_DECLARATIONS

#endif
