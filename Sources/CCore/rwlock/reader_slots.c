/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of slot blocks. Blocks are never freed, and go to another thread when theirs ends: memory is
 * bounded by the most threads there ever were.
 *
 * Writers of each field
 *   slots, uses, samples          the owner; the child after fork, which has no other threads
 *   drain                         WAKE: set by a writer about to sleep, taken back by the owner, which then
 *                                 wakes all. FENCED, for good: set by the owner as it takes the block, or by
 *                                 a writer about to sleep, where membarrier is refused
 *   owner_fences                  0 -> 1 after FENCED, by the same thread, once the owner must have seen it
 *   taken                         0 -> 1 a thread that takes the block (compare-and-swap); 1 -> 0 the owner
 *                                 as it ends, or has no exit hook; a child of fork
 *   the count of blocks           + 1 by a thread that found none free (compare-and-swap from the count it
 *                                 walked)
 *   the link to the next chunk    NULL -> a chunk, by a thread about to raise the count past the last
 *                                 (compare-and-swap)
 * Each step leaves the table whole: neither fork nor a signal handler waits for a thread. At worst a child
 * loses a chunk just made.
 * Must not happen: a writer misses a block whose owner has announced a lock. The owner reads a count with its
 * block (RS2) before its first announcement (RW10); the writer raises WRITER (RW1) before it reads the count.
 * These and the count's step (RS1) are sequentially consistent: one sees the other.
 */
#include "rwlock/reader_slots.h"

#include "platform/exit.h"
#include "platform/local.h"
#include "platform/pages.h"
#include "platform/reaches.h"
#include "platform/signals.h"
#include "rwlock/slot_table.h"
#include "rwlock/slot_table_walk.h"
#include "wait/fence.h"
#include "wait/spin.h"
#include <interlock/inline/fence.h>
#include <interlock/park.h>
#include <pthread.h>

_Static_assert(sizeof(struct ilk__slot_block) == 256, "a thread's share of the table");
_Static_assert(_Alignof(ilk_rwlock) == 8, "slots keep a lock without its three low bits");
_Static_assert(offsetof(struct ilk__slot_block, drain) == 64,
               "writers' requests stay off the readers' cache line");

/* ---- Handing out ---- */

static void give_back(void *context);

static bool take(struct ilk__slot_block *block) {
    uint32_t free_block = 0;
    /* RS3 acquire, pairs with RS4: the last owner has finished with it. */
    return ilk_atomic_load(&block->taken, memory_order_relaxed) == 0 && /* RS3 decides */
           ilk_atomic_compare_exchange(&block->taken, &free_block, 1, memory_order_acquire,
                                       memory_order_relaxed);
}

/* NULL without memory. Not by malloc: a signal handler that takes a lock may have interrupted that. */
static struct ilk__slot_chunk *next_chunk(struct ilk__slot_chunk *chunk) {
    /* RS10 acquire, pairs with RS11.
     * Carries: that the chunk is zero.
     * If weaker: our RS1 publishes blocks whose takers find them in a state they never had. */
    struct ilk__slot_chunk *next = ilk_atomic_load(&chunk->next, memory_order_acquire);
    if (next != NULL) {
        return next;
    }
    struct ilk__slot_chunk *fresh = ilk__pages_allocate(sizeof *fresh);
    if (fresh == NULL) {
        return NULL;
    }
    /* RS11 acq_rel, pairs with RS10, and with itself where another thread has linked its own: the chunk
     * is zero before it is found. */
    if (ilk_atomic_compare_exchange(&chunk->next, &next, fresh, memory_order_acq_rel, memory_order_acquire)) {
        ILK__REACHES(SLOT_TABLE_GROWS, true);
        return fresh;
    }
    ILK__REACHES(SLOT_CHUNK_OUTRUN, true);
    ilk__pages_give_back(fresh, sizeof *fresh);
    return next;
}

/* To a table of `count`, none free, unless another thread has. False: no memory. */
static bool add_block(uint32_t count) {
    struct ilk__slot_chunk *chunk = &ilk__slot_table_2.chunks;
    for (uint32_t last = ILK__CHUNK_BLOCKS; last <= count; last += ILK__CHUNK_BLOCKS) {
        chunk = next_chunk(chunk);
        if (chunk == NULL) {
            return false;
        }
    }
    /* RS1 seq_cst, pairs with RS2 (a walk). Carries the block and its place too. */
    (void)ilk_atomic_compare_exchange(&ilk__slot_table_2.block_count, &count, count + 1, memory_order_seq_cst,
                                      memory_order_relaxed);
    return true;
}

static struct ilk__slot_block *find_block(void) {
    for (;;) {
        const uint32_t count = ilk__block_count();
        struct ilk__walk walk = ilk__walk_chunk(&ilk__slot_table_2.chunks, count);
        struct ilk__slot_block *block;
        while ((block = ilk__next_block(&walk)) != NULL) {
            if (take(block)) {
                return block;
            }
        }
        if (!add_block(count)) {
            return NULL;
        }
    }
}

static struct ilk__slot_block *take_block(void) {
    struct ilk__slot_block *block = find_block();
    if (block == NULL) {
        return NULL;
    }
    if (!ilk__at_thread_exit(give_back, block)) {
        /* RS4 release, pairs with RS3: nothing of ours is in it. */
        ilk_atomic_store(&block->taken, 0, memory_order_release);
        return NULL;
    }
    if (!ilk_atomic_load(&ilk__membarrier_works, memory_order_relaxed)) { /* FN4 */
        /* RS5 relaxed: our own; other threads rely on our later steps. */
        ilk_atomic_fetch_or(&block->drain, ILK__DRAIN_FENCED, memory_order_relaxed);
        ilk_atomic_store(&block->owner_fences, 1, memory_order_relaxed); /* RS5 */
    }
    ilk__set_my_slots(block);
    return block;
}

struct ilk__slot_block *ilk__slots_mine(bool may_allocate) {
    struct ilk__slot_block *block = ilk__my_slots();
    if (block != &ilk__no_slots_2) {
        return block;
    }
    if (!may_allocate || ilk__thread_state()->has_ended || !ilk__table_is_in_charge()) {
        return NULL;
    }
    /* Signals are held back: a handler's forked child would find the block taken, but owned by no thread. */
    sigset_t before;
    ilk__signals_hold(&before);
    block = ilk__my_slots();
    if (block == &ilk__no_slots_2) { /* no handler took one just before */
        block = take_block();
    }
    ilk__signals_release(&before);
    return block;
}

/* Destructors of other thread-local state may still hold or take locks. */
static void give_back(void *context) {
    struct ilk__slot_block *block = context;
    for (size_t number = 0; number < ILK__SLOT_COUNT; number++) {
        if (!ilk__slot_is_free(ilk__slot_load(block, number))) {
            /* The unlock must find the announcement: try again later. If none comes, the block stays
             * taken. */
            (void)ilk__at_thread_exit(give_back, block);
            return;
        }
    }
    ILK__REACHES(SLOT_BLOCK_FREED, true);
    ilk__thread_state()->has_ended = true;
    ilk__set_my_slots(&ilk__no_slots_2);
    ilk_atomic_store(&block->taken, 0, memory_order_release); /* RS4 */
}

/* ---- Fork ---- */

/* The other threads, and their slots, are gone. */
static void reader_slots_after_fork_in_child(void) {
    struct ilk__walk walk = ilk__walk_blocks();
    struct ilk__slot_block *block;
    while ((block = ilk__next_block(&walk)) != NULL) {
        if (block != ilk__my_slots()) {
            for (size_t number = 0; number < ILK__SLOT_COUNT; number++) {
                ilk_atomic_store(&block->slots[number], 0, memory_order_relaxed); /* RS5: alone */
            }
            ilk_atomic_store(&block->taken, 0, memory_order_relaxed); /* RS5 */
        }
    }
}

/* Once a process, however many copies of the library. */
__attribute__((constructor)) static void reader_slots_watch_fork(void) {
    if (ilk_atomic_exchange(&ilk__slot_table_2.watches_fork, 1, memory_order_relaxed) == 0) { /* RS5 */
        (void)pthread_atfork(NULL, NULL, reader_slots_after_fork_in_child);
    }
}

uint32_t ilk__slots_visit(ilk_rwlock *lock) ILK_NONBLOCKING {
    struct ilk__slot_block *block = ilk__my_slots();
    size_t number = ilk__rwlock_slot_number(lock);
    const uint32_t uses = ilk_atomic_load(&block->uses[number], memory_order_relaxed) + 1; /* RW18 */
    if (uses % ILK__SLOT_USES_PER_VISIT != 0) {
        return 0;
    }
    ilk_atomic_store(&block->uses[number], uses, memory_order_relaxed); /* RW18 */
    return uses / ILK__SLOT_USES_PER_VISIT;
}

/* ---- The writer's side ---- */

/* The thread that moved a lock to slots has a block in the lock's table: an empty one is another. */
void ilk__slots_check_table(const ilk_rwlock *lock) ILK_NONBLOCKING {
    if (ilk__block_count() == 0 && (ilk__rwlock_probe(lock) & ILK__RWLOCK_SLOTS) != 0) {
        ilk__table_report_another(lock);
    }
}

bool ilk__slots_hold(const ilk_rwlock *lock) {
    ilk__slots_check_table(lock);
    const size_t number = ilk__rwlock_slot_number(lock);
    struct ilk__walk walk = ilk__walk_blocks();
    const struct ilk__slot_block *block;
    while ((block = ilk__next_block(&walk)) != NULL) {
        if (ilk__slot_holds(block, number, lock)) {
            return true;
        }
    }
    return false;
}

/* A fence on the owner's side too, between freeing the slot and loading the requests. Where membarrier is
 * refused since the owner took its block, FENCED tells it to fence before it could miss the request. */
static void fence_against_owner(struct ilk__slot_block *block) {
    /* RS13 acquire, pairs with RS14: the owner has come through, or fences: we need not make it. */
    if (ilk_atomic_load(&block->owner_fences, memory_order_acquire) != 0) {
        ilk__fence_heavy();
        return;
    }
    if (ilk__fence_heavy_try()) {
        return;
    }
    ilk_atomic_fetch_or(&block->drain, ILK__DRAIN_FENCED, memory_order_relaxed); /* RS6 */
    ILK__REACHES(SLOT_OWNER_FENCES, true);
    ilk__fence_heavy_alone();
    /* RS14 release, pairs with RS13 (the next writer about to sleep).
     * Carries: that the owner has come through or fences.
     * If weaker: the next relies on a fence not made yet. */
    ilk_atomic_store(&block->owner_fences, 1, memory_order_release);
}

/* Spins for what is left of the writer's `probes`, then sleeps until the owner frees any slot. */
static ilk_status wait_for_slot(struct ilk__slot_block *block, size_t number, const ilk_rwlock *lock,
                                int *probes, uint64_t deadline_ns) {
    ilk_status status = ILK_OK;
    while (ilk__slot_holds(block, number, lock)) {
        if (status == ILK_TIMEDOUT) {
            return ILK_TIMEDOUT;
        }
        if (*probes < ILK__SPIN_READER_SLOT.probes) {
            ilk__spin_pause(ILK__SPIN_READER_SLOT, (*probes)++);
            continue;
        }
        /* RS6 relaxed: the heavy fence orders the request before the recheck, against the owner's freeing. */
        uint32_t requests = ilk_atomic_fetch_or(&block->drain, ILK__DRAIN_WAKE, memory_order_relaxed);
        fence_against_owner(block);
        if (ilk__slot_holds(block, number, lock)) {
            ILK__REACHES(SLOT_WRITER_SLEEPS, true);
            status = ilk_park_wait(&block->drain, requests | ILK__DRAIN_WAKE, deadline_ns);
        }
    }
    return ILK_OK;
}

/* The announcements had no fence, and the caller's membarrier may have been refused: waits until they can be
 * seen. Readers fence from now on. */
static void leave_fence_free(ilk_rwlock *lock) {
    ILK__REACHES(MODE_REFUSED_FENCE_FREE, true);
    ilk__fence_heavy_alone();
    ilk_atomic_fetch_and(&lock->word, ~ILK__RWLOCK_FENCE_FREE, memory_order_relaxed); /* RW16 */
}

ilk_status ilk__slots_wait_empty(ilk_rwlock *lock, uint64_t deadline_ns) {
    ilk__slots_check_table(lock);
    if ((ilk__rwlock_probe(lock) & ILK__RWLOCK_FENCE_FREE) != 0 &&
        !ilk_atomic_load(&ilk__membarrier_works, memory_order_relaxed)) { /* FN4: the caller has tried it */
        leave_fence_free(lock);
    }
    const size_t number = ilk__rwlock_slot_number(lock);
    struct ilk__walk walk = ilk__walk_blocks();
    struct ilk__slot_block *block;
    int probes = 0;
    while ((block = ilk__next_block(&walk)) != NULL) {
        if (ILK_UNLIKELY(ilk__slot_holds(block, number, lock)) &&
            wait_for_slot(block, number, lock, &probes, deadline_ns) == ILK_TIMEDOUT) {
            ILK__REACHES(LOCK_LATE_FOR_SLOT, true);
            ILK__REACHES(LOCK_LATE_FOR_SLOT_BESIDE_WAITERS, (lock->word & ILK__RWLOCK_HAS_WAITERS) != 0);
            return ILK_TIMEDOUT;
        }
    }
    return ILK_OK;
}

void ilk__slot_wake_slow(struct ilk__slot_block *block) ILK_NONBLOCKING {
    /* RS7 relaxed: RW12 has freed the slot before. The thread that takes the request down wakes. */
    uint32_t requests = ilk_atomic_load(&block->drain, memory_order_relaxed);
    if ((requests & ILK__DRAIN_FENCED) != 0) {
        /* RS12 seq_cst, pairs with FN3 (of a writer about to sleep).
         * Forbids: we free the slot and miss the request; the writer makes it and finds the slot taken. */
        ilk_atomic_fence(memory_order_seq_cst);
        requests = ilk_atomic_load(&block->drain, memory_order_relaxed); /* RS7 */
    }
    while ((requests & ILK__DRAIN_WAKE) != 0) {
        if (ilk_atomic_compare_exchange(&block->drain, &requests,
                                        requests - ILK__DRAIN_WAKE + ILK__DRAIN_ONE_ACKNOWLEDGED,
                                        memory_order_relaxed, memory_order_relaxed)) { /* RS7 */
            ILK__REACHES(SLOT_WRITER_WOKEN, true);
            ilk_park_wake(&block->drain, ILK_PARK_ALL);
            return;
        }
    }
}

uint32_t ilk__slots_uses_of(const struct ilk__slot_block *block, const ilk_rwlock *lock) {
    return ilk_atomic_load(&block->uses[ilk__rwlock_slot_number(lock)], memory_order_relaxed); /* RW18 */
}

uint32_t ilk__slots_uses(const ilk_rwlock *lock) {
    uint32_t uses = 0;
    struct ilk__walk walk = ilk__walk_blocks();
    const struct ilk__slot_block *block;
    while ((block = ilk__next_block(&walk)) != NULL) {
        uses += ilk__slots_uses_of(block, lock);
    }
    return uses;
}
