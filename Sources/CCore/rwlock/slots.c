/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of slot blocks. Blocks are made as threads first read under a lock that uses slots, are
 * never freed, and go to another thread when theirs ends: memory is bounded by the largest number of
 * threads there ever were.
 *
 * One table a process: with two copies of this library in one process, a writer in one would not see
 * the readers in the other. table.h sees to it.
 *
 * Who may change what
 *   slots, wraps, samples         the owner; the child after fork, which has no other threads
 *   drain                         WANTED: set by whoever is about to sleep, taken back by the owner, who then
 *                                 wakes all; FENCED: by the owner as it takes the block
 *   taken                         0 -> 1 a thread that takes the block (compare-and-swap); 1 -> 0 the
 *                                 owner as it ends
 *   the list of blocks            grows by the thread that has is_growing; writers walk it without
 * Must not happen: a writer misses a block whose owner has already noted a lock. The owner publishes
 * its block (RS1) before its first note (RW10); the writer raises WRITER (RW1) before it reads the
 * count (RS2); all four are sequentially consistent, so one sees the other, as in the handshake.
 */
#include "rwlock/slots.h"

#include "rwlock/table.h"
#include "rwlock/walk.h"
#include "threads/exit.h"
#include "threads/local.h"
#include "threads/pages.h"
#include "threads/yield.h"
#include <interlock/park.h>
#include <pthread.h>

_Static_assert(sizeof(struct ilk__slot_block) == 256, "a thread's share of the table");
_Static_assert(_Alignof(ilk_rwlock) == 8, "slots note a lock without its three low bits");
_Static_assert(offsetof(struct ilk__slot_block, drain) == 64, "writers' wishes stay off the readers' line");

/* Looks before a writer sleeps on a slot; after so many it gives its core away in between. */
enum { SPIN_LIMIT = 288 };
enum { RELAXES = 256 };
/* ---- Handing out ---- */

static void give_back(void *context);

static bool take(struct ilk__slot_block *block) {
    uint32_t free_block = 0;
    /* RS3 acquire, pairs with RS4 (release, giving back): the last owner has finished with it. */
    return ilk_atomic_load(&block->taken, memory_order_relaxed) == 0 && /* RS3 decides */
           ilk_atomic_compare_exchange(&block->taken, &free_block, 1, memory_order_acquire,
                                       memory_order_relaxed);
}

/* The right to add to the table. Nobody waits for it but fork: a thread that does not get it is counted in
 * the lock's word this time and asks again at its next read. So a signal handler that comes while its own
 * thread has it does not wait for itself. */
static bool try_start_growing(void) {
    /* RS9 acquire, pairs with RS10 (release, stopping): the table as the last one left it. */
    return ilk_atomic_exchange(&ilk__slot_table.is_growing, 1, memory_order_acquire) == 0;
}

static void stop_growing(void) {
    /* RS10 release, pairs with RS9. See there. */
    ilk_atomic_store(&ilk__slot_table.is_growing, 0, memory_order_release);
}

/* With the right to grow: one more block in the table. Chunks come from the system and not from malloc,
 * which a signal handler that takes a lock may have interrupted. */
static struct ilk__slot_block *add_block(void) {
    uint32_t count =
        ilk_atomic_load(&ilk__slot_table.block_count, memory_order_relaxed); /* RS5 relaxed: ours */
    struct ilk__slot_chunk *chunk = &ilk__slot_table.chunks;
    for (uint32_t before = ILK__CHUNK_BLOCKS; before < count; before += ILK__CHUNK_BLOCKS) {
        chunk = chunk->next;
    }
    if (count > 0 && count % ILK__CHUNK_BLOCKS == 0) {
        if (chunk->next == NULL) {
            chunk->next = ilk__pages_allocate(sizeof *chunk);
        }
        if (chunk->next == NULL) {
            return NULL;
        }
        chunk = chunk->next;
    }
    struct ilk__slot_block *block = &chunk->blocks[count % ILK__CHUNK_BLOCKS];
    ilk_atomic_store(&block->taken, 1, memory_order_relaxed); /* RS5: published by RS1 */
    /* RS1 seq_cst, pairs with RS2 (seq_cst, a writer's walk). Carries the block and its place too. */
    ilk_atomic_store(&ilk__slot_table.block_count, count + 1, memory_order_seq_cst);
    return block;
}

static struct ilk__slot_block *find_block(void) {
    struct ilk__walk walk = ilk__walk_blocks();
    struct ilk__slot_block *block;
    while ((block = ilk__next_block(&walk)) != NULL) {
        if (take(block)) {
            return block;
        }
    }
    if (!try_start_growing()) {
        return NULL;
    }
    block = add_block();
    stop_growing();
    return block;
}

struct ilk__slot_block *ilk__slots_mine(bool may_allocate) {
    struct ilk__slot_block *block = ilk__my_slots();
    if (block != &ilk__no_slots) {
        return block;
    }
    if (!may_allocate || ilk__thread_state()->has_ended || !ilk__table_is_in_charge()) {
        return NULL;
    }
    block = find_block();
    if (block != NULL && !ilk__at_thread_exit(give_back, block)) {
        /* RS4 release, pairs with RS3: nothing of ours is in it. */
        ilk_atomic_store(&block->taken, 0, memory_order_release);
        block = NULL;
    }
    if (block == NULL) {
        return NULL;
    }
    if (ilk__my_slots() != &ilk__no_slots) {
        /* A signal handler came between and has taken one: it is ours, and the one that goes back at the end.
         */
        ilk_atomic_store(&block->taken, 0, memory_order_release); /* RS4 */
        (void)ilk__at_thread_exit(give_back, ilk__my_slots());
        return ilk__my_slots();
    }
    if (!ilk_atomic_load(&ilk__membarrier_works, memory_order_relaxed)) {            /* FN4 */
        ilk_atomic_fetch_or(&block->drain, ILK__DRAIN_FENCED, memory_order_relaxed); /* RS5: not used yet */
    }
    ilk__set_my_slots(block);
    return block;
}

/* As the thread ends. Destructors of other thread-local state may still hold or take locks. */
static void give_back(void *context) {
    struct ilk__slot_block *block = context;
    for (size_t number = 0; number < ILK__SLOT_COUNT; number++) {
        if (!ilk__slot_is_free(ilk__slot_look(block, number))) {
            /* A lock is held: its unlock must find the note. Once more later; if it is never given up the
             * block stays taken, as the lock stays held. */
            (void)ilk__at_thread_exit(give_back, block);
            return;
        }
    }
    ilk__thread_state()->has_ended = true;
    ilk__set_my_slots(&ilk__no_slots);
    ilk_atomic_store(&block->taken, 0, memory_order_release); /* RS4 */
}

/* ---- Fork ---- */

static void before_fork(void) {
    while (!try_start_growing()) {
        ilk__thread_yield();
    }
}

static void after_fork_in_parent(void) {
    stop_growing();
}

/* The other threads are gone, and what they read is read by nobody. */
static void after_fork_in_child(void) {
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
    stop_growing();
}

/* Once a process: with several copies of the library the handlers of one would wait for another's. */
__attribute__((constructor)) static void watch_fork(void) {
    if (ilk_atomic_exchange(&ilk__slot_table.watches_fork, 1, memory_order_relaxed) == 0) { /* RS5 */
        (void)pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    }
}

/* ---- The writer's side ---- */

/* The thread that lets a lock use slots has a block in the table: one without any is not the table it uses. */
void ilk__slots_check_table(const ilk_rwlock *lock) ILK_NONBLOCKING {
    if (ilk_atomic_load(&ilk__slot_table.block_count, memory_order_seq_cst) == 0 && /* RS2 */
        (ilk__rwlock_look(lock) & ILK__RWLOCK_SLOTS) != 0) {
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

/* Between looks: the reader is about to leave, or if it was preempted, needs a core. */
static void give_time(int turn) {
    if (turn < RELAXES) {
        ilk_cpu_relax();
    } else {
        ilk__thread_yield();
    }
}

/* Waits for one reader to leave its slot: spins briefly, then sleeps until the owner frees any slot. */
static ilk_status wait_for_slot(struct ilk__slot_block *block, size_t number, const ilk_rwlock *lock,
                                uint64_t deadline_ns) {
    ilk_status status = ILK_OK;
    for (int turn = 0; ilk__slot_holds(block, number, lock); turn++) {
        if (status == ILK_TIMEDOUT) {
            return ILK_TIMEDOUT;
        }
        if (turn < SPIN_LIMIT) {
            give_time(turn);
            continue;
        }
        /* RS6 relaxed: the heavy fence orders the wish before the look, against the owner's freeing. */
        uint32_t wishes = ilk_atomic_fetch_or(&block->drain, ILK__DRAIN_WANTED, memory_order_relaxed);
        ilk__fence_heavy();
        if (ilk__slot_holds(block, number, lock)) {
            status = ilk_park_wait(&block->drain, wishes | ILK__DRAIN_WANTED, deadline_ns);
        }
    }
    return ILK_OK;
}

ilk_status ilk__slots_wait_empty(const ilk_rwlock *lock, uint64_t deadline_ns) {
    ilk__slots_check_table(lock);
    const size_t number = ilk__rwlock_slot_number(lock);
    struct ilk__walk walk = ilk__walk_blocks();
    struct ilk__slot_block *block;
    while ((block = ilk__next_block(&walk)) != NULL) {
        if (ILK_UNLIKELY(ilk__slot_holds(block, number, lock)) &&
            wait_for_slot(block, number, lock, deadline_ns) == ILK_TIMEDOUT) {
            return ILK_TIMEDOUT;
        }
    }
    return ILK_OK;
}

void ilk__slot_wake_slow(struct ilk__slot_block *block) ILK_NONBLOCKING {
    ilk__fence_light();
    /* RS7 relaxed: RW12 has freed the slot before. Whoever takes the wishes down wakes. */
    uint32_t wishes = ilk_atomic_load(&block->drain, memory_order_relaxed);
    while ((wishes & ILK__DRAIN_WANTED) != 0) {
        if (ilk_atomic_compare_exchange(&block->drain, &wishes,
                                        wishes - ILK__DRAIN_WANTED + ILK__DRAIN_ONE_GRANTED,
                                        memory_order_relaxed, memory_order_relaxed)) { /* RS7 */
            ilk_park_wake(&block->drain, ILK_PARK_ALL);
            return;
        }
    }
}

uint32_t ilk__slots_uses_of(const struct ilk__slot_block *block, const ilk_rwlock *lock) {
    const size_t number = ilk__rwlock_slot_number(lock);
    /* RS8 relaxed: a hint, and off by a wrap for a moment now and then. */
    return ilk_atomic_load(&block->wraps[number], memory_order_relaxed) * (uint32_t)ILK__SLOT_FULL +
           (uint32_t)(ilk__slot_look(block, number) & ILK__SLOT_USES);
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
