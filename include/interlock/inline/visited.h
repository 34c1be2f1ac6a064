/* SPDX-License-Identifier: Apache-2.0
 *
 * The mark that a reader leaves on an entry of a cache, for the Swift facade
 * (Sources/SwiftFacade/Pool/Caching/SieveStore.swift). Readers set it while they hold the cache's lock for reading;
 * the hand that evicts clears it, and frees the entry, with the lock held for writing. The lock orders the two,
 * so the mark needs no order of its own. Not installed, like thread_access.h.
 *
 *   reader A: 0, so stores 1        reader B: 0, so stores 1          the mark is 1
 *   reader: stores 1, unlocks       hand: locks, reads 1, stores 0    the entry is spared once
 *   hand: stores 0, unlocks         reader: locks, reads 0, stores 1  the entry is spared at the next pass
 *
 * No question is lost between them: a reader and the hand are never inside at the same time.
 */
#ifndef INTERLOCK_INLINE_VISITED_H
#define INTERLOCK_INLINE_VISITED_H

#include <interlock/inline/atomic.h>
#include <interlock/inline/attributes.h>
#include <stdbool.h>
#include <stdint.h>

ILK_BEGIN_DECLARATIONS

/* All zero bits are no mark. */
typedef struct ilk__visited {
    ILK_ATOMIC(uint32_t) mark;
} ilk__visited;

/* Stores only where there is no mark: readers of a popular entry share its cache line. */
ILK_ALWAYS_INLINE void ilk__visited_set(ilk__visited *visited) ILK_NONBLOCKING {
    /* VM1 relaxed: other readers store the same; the lock orders it before the hand. */
    if (ilk_atomic_load(&visited->mark, memory_order_relaxed) == 0) {
        ilk_atomic_store(&visited->mark, 1, memory_order_relaxed); /* VM1 */
    }
}

/* Takes the mark away, and returns whether there was one. */
ILK_ALWAYS_INLINE bool ilk__visited_take(ilk__visited *visited) ILK_NONBLOCKING {
    bool marked = ilk_atomic_load(&visited->mark, memory_order_relaxed) != 0; /* VM1 */
    ilk_atomic_store(&visited->mark, 0, memory_order_relaxed);                /* VM1 */
    return marked;
}

ILK_END_DECLARATIONS

#endif
