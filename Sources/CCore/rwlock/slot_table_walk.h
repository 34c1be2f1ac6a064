/* SPDX-License-Identifier: Apache-2.0
 *
 * A writer's walk over the blocks of the slot table. Inline: it is a good part of a write that meets no
 * reader.
 */
#ifndef INTERLOCK_RWLOCK_SLOT_TABLE_WALK_H
#define INTERLOCK_RWLOCK_SLOT_TABLE_WALK_H

#include "rwlock/slot_table.h"
#include <interlock/inline/rwlock.h>

/* The blocks from `next` to `end`, then those of the chunks that follow. */
struct ilk__walk {
    struct ilk__slot_block *next;
    struct ilk__slot_block *end;
    struct ilk__slot_chunk *chunk;
    uint32_t left; /* in later chunks */
};

static inline struct ilk__walk ilk__walk_chunk(struct ilk__slot_chunk *chunk, uint32_t count) {
    uint32_t here = count < ILK__CHUNK_BLOCKS ? count : ILK__CHUNK_BLOCKS;
    return (struct ilk__walk){chunk->blocks, chunk->blocks + here, chunk, count - here};
}

static inline uint32_t ilk__block_count(void) {
    /* RS2 seq_cst, pairs with RS1 (a new block). See the top of reader_slots.c. */
    return ilk_atomic_load(&ilk__slot_table_2.block_count, memory_order_seq_cst);
}

static inline struct ilk__walk ilk__walk_blocks(void) {
    return ilk__walk_chunk(&ilk__slot_table_2.chunks, ilk__block_count());
}

static inline struct ilk__slot_block *ilk__next_block(struct ilk__walk *walk) {
    if (ILK_UNLIKELY(walk->next == walk->end)) {
        if (ILK_LIKELY(walk->left == 0)) {
            return NULL;
        }
        /* RS9 relaxed: RS2 has carried the chunk with the count that includes it. */
        *walk = ilk__walk_chunk(ilk_atomic_load(&walk->chunk->next, memory_order_relaxed), walk->left);
    }
    return walk->next++;
}

static inline bool ilk__slot_holds(const struct ilk__slot_block *block, size_t number,
                                   const ilk_rwlock *lock) {
    /* RW13 seq_cst, pairs with RW10 and RW19 (announcing), RW12 and RW24 (freeing the slot) and RW15 (announcing
     * without fence). Carries: that the reader has finished. RW10 has what sequential consistency forbids. */
    return ilk__slot_names(ilk_atomic_load(&block->slots[number], memory_order_seq_cst), lock);
}

/* False: no reader of `lock`, which uses slots, is in one. True: one is, or a longer check is needed: too
 * many blocks for a quick one, or none at all (slot_table_copies.c). */
static inline bool ilk__slots_may_hold(const ilk_rwlock *lock) {
    uint32_t count = ilk__block_count();
    if (ILK_UNLIKELY(count - 1 >= ILK__CHUNK_BLOCKS)) {
        return true;
    }
    const size_t number = ilk__rwlock_slot_number(lock);
    while (count > 0) {
        if (ILK_UNLIKELY(ilk__slot_holds(&ilk__slot_table_2.chunks.blocks[--count], number, lock))) {
            return true;
        }
    }
    return false;
}

#endif
