/* SPDX-License-Identifier: Apache-2.0
 *
 * See index.h.
 */
#include "diagnostics/index.h"

#include "diagnostics/tables.h"
#include "platform/reaches.h"
#include <stdlib.h>

static uint32_t newest_table(const struct ilk__index *index) {
    /* IX5 relaxed: under the mutex of the tables. */
    return ilk_atomic_load(&index->later_count, memory_order_relaxed);
}

static ilk__index_list *list_of(struct ilk__index *index, uint32_t table, uint64_t hash) {
    return (ilk__index_list *)ilk__index_list_of(index, table, hash);
}

static bool is_full(const struct ilk__index *index) {
    const uint32_t newest = newest_table(index);
    return index->linked > ilk__index_size(newest) && newest + 1 < ILK__INDEX_TABLES;
}

bool ilk__index_is_empty_at(const struct ilk__index *index, uint64_t hash) {
    const uint32_t tables = ilk__index_tables(index);
    for (uint32_t table = 0; table < tables; table++) {
        /* IX6 relaxed: nothing is read behind it. */
        if (ilk_atomic_load(ilk__index_list_of(index, table, hash), memory_order_relaxed) != NULL) {
            return false;
        }
    }
    return true;
}

bool ilk__index_link(struct ilk__index *index, uint64_t hash, struct ilk__index_link *link) {
    ilk__index_list *list = list_of(index, newest_table(index), hash);
    ilk_plain_write(&link->next, sizeof link->next);
    link->next = ilk_atomic_load(list, memory_order_relaxed); /* IX5 */
    /* IX4 release, pairs with IX3: the link and what it links to are whole before they are found. */
    ilk_atomic_store(list, link, memory_order_release);
    index->linked++;
    return is_full(index);
}

void ilk__index_remove(struct ilk__index *index, uint64_t hash, struct ilk__index_link *link) {
    for (uint32_t table = 0; table <= newest_table(index); table++) {
        ilk__index_list *list = list_of(index, table, hash);
        struct ilk__index_link *before = ilk_atomic_load(list, memory_order_relaxed); /* IX5 */
        if (before == link) {
            ilk_atomic_store(list, link->next, memory_order_relaxed); /* IX5 */
        }
        while (before != NULL && before != link && before->next != link) {
            before = before->next;
        }
        if (before != NULL && before != link) {
            before->next = link->next;
        }
        if (before != NULL) {
            index->linked -= table == newest_table(index) ? 1 : 0;
            return;
        }
    }
}

void ilk__index_grow(struct ilk__index *index) {
    sigset_t before;
    ilk__tables_lock(&before);
    const uint32_t newest = newest_table(index);
    const bool grows = is_full(index);
    ilk__tables_unlock(&before);
    ilk__index_list *lists = grows ? calloc(ilk__index_size(newest + 1), sizeof *lists) : NULL;
    if (lists == NULL) {
        return;
    }
    ilk__tables_lock(&before);
    const bool is_first = newest_table(index) == newest; /* no other thread has made it */
    ILK__REACHES(INDEX_GROWS, is_first);
    if (is_first) {
        ilk_plain_write(&index->later[newest], sizeof index->later[0]);
        index->later[newest] = lists;
        index->linked = 0;
        /* IX2 release, pairs with IX1: the lists are empty before their number says that they are there. */
        ilk_atomic_store(&index->later_count, newest + 1, memory_order_release);
    }
    ilk__tables_unlock(&before);
    if (!is_first) {
        free(lists);
    }
}
