/* SPDX-License-Identifier: Apache-2.0
 *
 * The fast paths of ilk_rwlock: moves between states without waiters and observers. Other states go slow
 * (Sources/CCore/rwlock). Contracts are in <interlock/rwlock.h>; docs/rwlock.md draws the modes.
 *
 * The word, from the low end:
 *   bit 0   QUEUE_LOCKED     a thread is changing the queue. Slow paths only.
 *   bit 1   QUEUE_CONTENDED  a thread sleeps for bit 0: a hint to wake; see wait/queue_lock.h.
 *   bit 2   HAS_WAITERS      the queue is not empty. Changes under bit 0. Unlocking goes slow.
 *   bit 3   READERS_HELD     a writer or an upgrade is queued: new readers queue (guarantee B). Changes under
 *                            bit 0.
 *   bit 4   OBSERVED         every call that reads the word goes slow, where diagnosis lives.
 *   bit 5   FENCE_FREE       with SLOTS only: readers enter slots without a fence, a writer pays a membarrier
 *                            before it probes them. Set by a reader, cleared by a writer that holds the lock
 *                            and has paid.
 *   bit 6   WRITER           held for writing, or by a writer that waits for the slots to empty. Excludes
 *                            UPGRADABLE, counted readers, and all new readers.
 *   bit 7   SLOTS            readers may be in slots; writers probe them. Set by a reader, cleared by a
 *                            writer that holds the lock.
 *   bit 8   UPGRADABLE       held upgradable.
 *   bits 9 to 13             read samples, a hint: reads since the last mode decision, saturating. 0 with
 *                            SLOTS.
 *   bits 14 to 29            counted readers: those not in slots.
 *   bit 30                   GUARD: never set; a reader that would carry into it is reported, and so is one
 *                            that leaves where none is counted: taking it off would borrow from here.
 *   bit 31  AWAITED          threads or tasks wait under the lock for a condition: a writer that leaves goes slow,
 *                            and judges (wait/conditions.h). Set and cleared by holders.
 *
 * The mode is central (neither SLOTS nor FENCE_FREE), fenced (SLOTS) or fence-free (both). In each, a reader
 * whose slot another lock has is counted.
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
#define ILK__RWLOCK_READERS UINT32_C(0x3FFFC000)
#define ILK__RWLOCK_GUARD UINT32_C(0x40000000)
#define ILK__RWLOCK_AWAITED UINT32_C(0x80000000)
#define ILK__RWLOCK_MODE (ILK__RWLOCK_SLOTS | ILK__RWLOCK_FENCE_FREE)
#define ILK__RWLOCK_KEEPS_READERS_OUT (ILK__RWLOCK_WRITER | ILK__RWLOCK_READERS_HELD | ILK__RWLOCK_OBSERVED)
/* Decides a reader's fast path: 0, SLOTS or MODE admit it. A whole byte is the cheapest to compare. */
#define ILK__RWLOCK_READ_PATH UINT32_C(0xFF)

/* Announced in slot `number` of `block`; without a block, counted in the word. */
typedef struct ilk__read_section {
    struct ilk__slot_block *block;
    size_t number;
} ilk__read_section;

/* UPGRADE comes from UPGRADABLE, and is given up as WRITE. READ_FURTHER is a read that stays in the slot where that
 * names the lock already: a try by ilk_rwlock_try_read_lock, and the unlock of one. */
enum ilk__rwlock_kind { ILK__READ, ILK__WRITE, ILK__UPGRADABLE, ILK__UPGRADE, ILK__READ_FURTHER };

/* Slow paths: contended, observed, a change of mode, or misuse. */
ILK_COLD void ilk__rwlock_lock_slow(ilk_rwlock *lock, enum ilk__rwlock_kind kind);
ILK_COLD bool ilk__rwlock_try_lock_slow(ilk_rwlock *lock, enum ilk__rwlock_kind kind) ILK_NONBLOCKING;
ILK_COLD void ilk__rwlock_unlock_slow(ilk_rwlock *lock, enum ilk__rwlock_kind kind);
ILK_COLD void ilk__rwlock_downgrade_slow(ilk_rwlock *lock);
/* Takes the lock for reading until `deadline_ns` at most, and says how the reader came in. */
ILK_COLD ilk_status ilk__read_section_begin_slow(ilk_rwlock *lock, ilk__read_section *section,
                                                 uint64_t deadline_ns);
/* With WRITER just set beside SLOTS: waits for the readers in slots. Neither cold nor inline. */
void ilk__rwlock_drain(ilk_rwlock *lock, uint32_t word);
/* Wakes the writers that sleep on the block. */
ILK_COLD void ilk__slot_wake_slow(struct ilk__slot_block *block) ILK_NONBLOCKING;

/* The lock's slot in every block: the top bits of a product spread neighbours apart. The factor, a multiple
 * of 256, drops any tag in the address's eight high bits. */
static inline size_t ilk__rwlock_slot_number(const ilk_rwlock *lock) ILK_NONBLOCKING {
    return (size_t)(((uint64_t)(uintptr_t)lock * UINT64_C(0x9E3779B97F4A7D00)) >> 61);
}

ILK_ALWAYS_INLINE bool ilk__rwlock_enter(ilk_rwlock *lock, uint32_t from, uint32_t to) ILK_NONBLOCKING {
    /* RW1 seq_cst, pairs with RW2, RW4 and RW8 (giving up), and with RW10 and RW19 in the slots' handshake.
     * Carries: what the holders before us wrote.
     * If weaker: we read guarded data from before their write. Sequentially consistent for RW10. */
    return ilk_atomic_compare_exchange(&lock->word, &from, to, memory_order_seq_cst, memory_order_relaxed);
}

ILK_ALWAYS_INLINE bool ilk__rwlock_leave(ilk_rwlock *lock, uint32_t from, uint32_t to) ILK_NONBLOCKING {
    /* RW2 release, pairs with RW1, RW4 and RW5 (taking) and RW11 (the probe after a slot was taken).
     * Carries: what we wrote, and that we have finished reading.
     * If weaker: the next writer changes data we still read, or the next reader misses ours. */
    return ilk_atomic_compare_exchange(&lock->word, &from, to, memory_order_release, memory_order_relaxed);
}

static inline uint32_t ilk__rwlock_probe(const ilk_rwlock *lock) ILK_NONBLOCKING {
    /* RW3 relaxed: a hint; RW1, RW2 or RW11 decides. */
    return ilk_atomic_load(&lock->word, memory_order_relaxed);
}

ILK_ALWAYS_INLINE uint64_t ilk__slot_load(const struct ilk__slot_block *block, size_t number)
    ILK_NONBLOCKING {
    /* RW9 relaxed: the owner's own slot, which no other thread writes while it lives. */
    return ilk_atomic_load(&block->slots[number], memory_order_relaxed);
}

static inline uint64_t ilk__slot_announcement(const ilk_rwlock *lock) ILK_NONBLOCKING {
    return (uint64_t)(uintptr_t)lock << (64 - ILK__SLOT_ADDRESS_BITS);
}

/* Names no lock. */
static inline bool ilk__slot_is_free(uint64_t seen) ILK_NONBLOCKING {
    return seen == 0;
}

/* The owner's further reads in the slot; more than ILK__SLOT_FURTHER_READS, if it names another lock or none. */
ILK_ALWAYS_INLINE uint64_t ilk__slot_further_reads(uint64_t seen, const ilk_rwlock *lock) ILK_NONBLOCKING {
    return seen - ilk__slot_announcement(lock);
}

static inline bool ilk__slot_names(uint64_t seen, const ilk_rwlock *lock) ILK_NONBLOCKING {
    return ilk__slot_further_reads(seen, lock) <= ILK__SLOT_FURTHER_READS;
}

/* Counts a use with a fence. False: a visit to the slow path is due, and the use is not counted. A count in the
 * slot would make each exchange wait for the last one's value. */
ILK_ALWAYS_INLINE bool ilk__slot_count_use(struct ilk__slot_block *block, size_t number) ILK_NONBLOCKING {
    /* RW18 relaxed: the owner's count, a hint to writers. */
    const uint32_t uses = ilk_atomic_load(&block->uses[number], memory_order_relaxed) + 1;
    if (ILK_UNLIKELY(uses % ILK__SLOT_USES_PER_VISIT == 0)) {
        return false;
    }
    ilk_atomic_store(&block->uses[number], uses, memory_order_relaxed); /* RW18 */
    return true;
}

/* After a step that another thread may sleep for. */
ILK_ALWAYS_INLINE void ilk__slot_check_requests(struct ilk__slot_block *block) ILK_NONBLOCKING {
    /* A light fence: pairs with the heavy fence of a writer about to sleep (rwlock/reader_slots.c); an owner that
     * must fence has ILK__DRAIN_FENCED up, and does so on the slow path.
     * Forbids: we free the slot, or the word, and miss the wake request; the writer makes it and misses what
     * is free. */
    ilk_compiler_fence();
    /* RW14 relaxed: ordered by that fence. Our own block, never freed. */
    if (ILK_UNLIKELY((ilk_atomic_load(&block->drain, memory_order_relaxed) & ILK__DRAIN_REQUESTS) != 0)) {
        ilk__slot_wake_slow(block);
    }
}

ILK_ALWAYS_INLINE void ilk__slot_free(struct ilk__slot_block *block, size_t number) ILK_NONBLOCKING {
    /* RW12 release, pairs with RW13 (the writer's probe).
     * Carries: that we have finished reading. The lock is not touched: it may be gone.
     * If weaker: the writer changes data we still read. */
    ilk_atomic_store(&block->slots[number], 0, memory_order_release);
    ilk__slot_check_requests(block);
}

/* Takes an announcement back that may not stay. True: a signal handler has done so, for a share that it took in the
 * word, and that is now this thread's (Sources/CCore/rwlock/further_reads.c, 5). */
ILK_ALWAYS_INLINE bool ilk__rwlock_leave_slot(ilk__read_section *section) ILK_NONBLOCKING {
    /* RW24 release, pairs with RW13. It carries what RW12 does: a handler may have read. One step: the handler
     * comes before it, or finds the slot free. */
    if (ilk__slot_is_free(
            ilk_atomic_exchange(&section->block->slots[section->number], 0, memory_order_release))) {
        const ilk__read_section counted = {NULL, 0};
        *section = counted;
        return true;
    }
    ilk__slot_check_requests(section->block);
    return false;
}

/* The second half of the slots' handshake: whether the word still admits readers by this path. If not, or if
 * the queue is busy, leaves the slot.
 *     reader                          writer
 *       slot = lock                     word |= WRITER
 *       (fence, or none)                (RW1 is one)  (heavy fence, if readers have none)
 *       probe the word                  probe the slot
 * Must not happen: both miss the other. */
ILK_ALWAYS_INLINE bool ilk__rwlock_stay(ilk_rwlock *lock, uint32_t path, ilk__read_section *section)
    ILK_NONBLOCKING {
    /* RW11 seq_cst, pairs with RW2 and RW4 (giving up). Sequentially consistent for RW10.
     * Carries: what the last writer wrote. */
    uint32_t now = ilk_atomic_load(&lock->word, memory_order_seq_cst);
    return ILK_LIKELY((now & ILK__RWLOCK_READ_PATH) == path) || ilk__rwlock_leave_slot(section);
}

/* No hints between the branches: any may be likely, and the others would move far away. */
ILK_ALWAYS_INLINE bool ilk__rwlock_try_read_fast(ilk_rwlock *lock, ilk__read_section *section)
    ILK_NONBLOCKING {
    uint32_t word = ilk__rwlock_probe(lock);
    uint32_t path = word & ILK__RWLOCK_READ_PATH;
    uint64_t announcement = ilk__slot_announcement(lock);
    if (__builtin_expect_with_probability(path == ILK__RWLOCK_MODE, 1, 0.7)) {
        struct ilk__slot_block *block = ilk__my_slots();
        size_t number = ilk__rwlock_slot_number(lock);
        const ilk__read_section announced = {block, number};
        *section = announced;
        if (ILK_UNLIKELY(!ilk__slot_is_free(ilk__slot_load(block, number)))) {
            return false;
        }
        /* RW15 release, pairs with RW13 (the probe by another lock's writer).
         * Carries: that we have finished reading under its lock.
         * If weaker: it changes data we still read.
         * No fence: the writer's membarrier between RW1 and RW13 is one. Uncounted: a read that needs no
         * fence for long needs no decision. */
        ilk_atomic_store(&block->slots[number], announcement, memory_order_release);
        ilk_compiler_fence();
        return ilk__rwlock_stay(lock, ILK__RWLOCK_MODE, section);
    }
    if (path == ILK__RWLOCK_SLOTS) {
        struct ilk__slot_block *block = ilk__my_slots();
        size_t number = ilk__rwlock_slot_number(lock);
        const ilk__read_section announced = {block, number};
        *section = announced;
        if (ILK_UNLIKELY(!ilk__slot_is_free(ilk__slot_load(block, number))) ||
            ILK_UNLIKELY(!ilk__slot_count_use(block, number))) {
            return false;
        }
        /* RW10 seq_cst, pairs with RW1, RW5 and RW13 (the writer's two steps).
         * Forbids: slot = lock; probe: no writer  beside  WRITER up; probe: slot empty. */
        (void)ilk_atomic_exchange(&block->slots[number], announcement, memory_order_seq_cst);
        return ilk__rwlock_stay(lock, ILK__RWLOCK_SLOTS, section);
    }
    const ilk__read_section counted = {NULL, 0};
    *section = counted;
    /* Full read samples mean that slots would pay; a full count is reported: both go slow. */
    return path == 0 && ILK_LIKELY((word & ILK__RWLOCK_READ_SAMPLES) != ILK__RWLOCK_READ_SAMPLES) &&
           ILK_LIKELY((word & ILK__RWLOCK_READERS) != ILK__RWLOCK_READERS) &&
           ilk__rwlock_enter(lock, word, word + ILK__RWLOCK_ONE_READER + ILK__RWLOCK_ONE_READ_SAMPLE);
}

ILK_ALWAYS_INLINE void ilk__rwlock_uncount(ilk_rwlock *lock) {
    uint32_t word = ilk__rwlock_probe(lock);
    uint32_t left = word - ILK__RWLOCK_ONE_READER;
    /* No waiter can wait for the last reader, and there is one. */
    bool plain = (left & (ILK__RWLOCK_HAS_WAITERS | ILK__RWLOCK_OBSERVED | ILK__RWLOCK_GUARD)) == 0;
    if (ILK_UNLIKELY(!plain) || ILK_UNLIKELY(!ilk__rwlock_leave(lock, word, left))) {
        ilk__rwlock_unlock_slow(lock, ILK__READ);
    }
}

/* No holder, waiter or observer. */
static inline bool ilk__rwlock_is_idle(uint32_t word) ILK_NONBLOCKING {
    return (word & ~(ILK__RWLOCK_MODE | ILK__RWLOCK_READ_SAMPLES)) == 0;
}

ILK_ALWAYS_INLINE void ilk_rwlock_read_lock(ilk_rwlock *lock) {
    ilk__read_section section;
    /* No hint here: with one, clang's hot-cold splitting took the whole for cold. */
    if (!ilk__rwlock_try_read_fast(lock, &section)) {
        ilk__rwlock_lock_slow(lock, ILK__READ);
    }
    ilk__held_more(lock);
}

static inline bool ilk_rwlock_try_read_lock(ilk_rwlock *lock) ILK_NONBLOCKING {
    ilk__read_section section;
    if (!ilk__rwlock_try_read_fast(lock, &section) && !ilk__rwlock_try_lock_slow(lock, ILK__READ_FURTHER)) {
        return false;
    }
    ilk__held_more(lock);
    return true;
}

/* What a signal handler may do between the comparison and the step is drawn in
 * Sources/CCore/rwlock/further_reads.c. */
ILK_ALWAYS_INLINE void ilk_rwlock_read_unlock(ilk_rwlock *lock) {
    ilk__held_less(lock, ILK__RWLOCK_READERS, "ilk_rwlock_read_unlock");
    struct ilk__slot_block *block = ilk__my_slots();
    size_t number = ilk__rwlock_slot_number(lock);
    const uint64_t further = ilk__slot_further_reads(ilk__slot_load(block, number), lock);
    if (ILK_LIKELY(further == 0)) {
        ilk__slot_free(block, number);
    } else if (ILK_UNLIKELY(further <= ILK__SLOT_FURTHER_READS)) {
        ilk__rwlock_unlock_slow(lock, ILK__READ_FURTHER);
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
    bool plain = (word & ~ILK__RWLOCK_READ_SAMPLES) == ILK__RWLOCK_UPGRADABLE; /* slots need more */
    if (ILK_UNLIKELY(!plain) || ILK_UNLIKELY(!ilk__rwlock_enter(lock, word, held))) {
        ilk__rwlock_lock_slow(lock, ILK__UPGRADE);
    }
}

ILK_END_DECLARATIONS

#endif
