/* SPDX-License-Identifier: Apache-2.0
 *
 * The hash table of diagnosis: of objects by address, orders by their two ids, names by address. It is searched without
 * a lock, changed under the mutex of the tables, and grows.
 *
 * A link never moves: what is linked after the newest table is full goes into a new one, four times as large, and a
 * search goes through all tables, of which there are ten at most. The lists only grow where threads search without the
 * lock; there a link that serves no longer stays, for the next of its list.
 *
 * Must not happen: a thread without the lock follows a link, or asks a table, that is not there yet (IX1, IX3).
 */
#ifndef INTERLOCK_DIAGNOSTICS_INDEX_H
#define INTERLOCK_DIAGNOSTICS_INDEX_H

#include <interlock/inline/atomic.h>
#include <interlock/inline/attributes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Lists of the first table: a power of two. The explorer has fewer. */
#ifndef ILK__INDEX_FIRST
#define ILK__INDEX_FIRST 256
#endif
enum { ILK__INDEX_TABLES = 10 };

struct ilk__index_link {
    struct ilk__index_link *next; /* without removals it never changes once linked */
};

typedef ILK_ATOMIC(struct ilk__index_link *) ilk__index_list;

struct ilk__index {
    ilk__index_list first[ILK__INDEX_FIRST];
    ilk__index_list *later[ILK__INDEX_TABLES - 1];
    ILK_ATOMIC(uint32_t) later_count;
    size_t linked; /* in the newest table; under the mutex of the tables */
};

/* All bits of the key take part in all bits of the hash that a table uses. */
static inline uint64_t ilk__index_hash(uint64_t key) {
    return (key ^ (key >> 32)) * UINT64_C(0x9E3779B97F4A7C15);
}

/* The hash of what is filed by its address. */
static inline uint64_t ilk__index_hash_of(const void *address) {
    return ilk__index_hash((uintptr_t)address);
}

static inline size_t ilk__index_size(uint32_t table) {
    return (size_t)ILK__INDEX_FIRST << (2 * table);
}

static inline uint32_t ilk__index_tables(const struct ilk__index *index) ILK_NONBLOCKING {
    /* IX1 acquire, pairs with IX2.
     * Carries: the table.
     * If weaker: we read lists that are not empty yet. */
    return ilk_atomic_load(&index->later_count, memory_order_acquire) + 1;
}

static inline const ilk__index_list *ilk__index_list_of(const struct ilk__index *index, uint32_t table,
                                                        uint64_t hash) ILK_NONBLOCKING {
    const ilk__index_list *lists = index->first;
    if (table > 0) {
        ilk_plain_read(&index->later[table - 1], sizeof index->later[0]);
        lists = index->later[table - 1];
    }
    return &lists[(hash >> 32) & (ilk__index_size(table) - 1)];
}

/* The first link that matches the key; NULL. With the lock, or where nothing is removed. */
static inline struct ilk__index_link *ilk__index_find(const struct ilk__index *index, uint64_t hash,
                                                      bool (*matches)(const struct ilk__index_link *link,
                                                                      const void *key) ILK_NONBLOCKING,
                                                      const void *key) ILK_NONBLOCKING {
    const uint32_t tables = ilk__index_tables(index);
    for (uint32_t table = 0; table < tables; table++) {
        /* IX3 acquire, pairs with IX4 (linking).
         * Carries: what is linked, and its link to the next.
         * If weaker: we follow a pointer that is not there yet. */
        struct ilk__index_link *link =
            ilk_atomic_load(ilk__index_list_of(index, table, hash), memory_order_acquire);
        while (link != NULL && !matches(link, key)) {
            ilk_plain_read(&link->next, sizeof link->next);
            link = link->next;
        }
        if (link != NULL) {
            return link;
        }
    }
    return NULL;
}

/* Whether nothing is linked where a key of this hash would be. Without the lock: a hint. */
bool ilk__index_is_empty_at(const struct ilk__index *index, uint64_t hash);

/* ---- With the tables locked ---- */

/* True: the newest table is full, ilk__index_grow is to be called. */
bool ilk__index_link(struct ilk__index *index, uint64_t hash, struct ilk__index_link *link);

/* Only where no thread searches without the lock. */
void ilk__index_remove(struct ilk__index *index, uint64_t hash, struct ilk__index_link *link);

/* ---- Without ---- */

/* Makes a table if the newest is full. Without memory the lists grow. */
void ilk__index_grow(struct ilk__index *index);

#endif
