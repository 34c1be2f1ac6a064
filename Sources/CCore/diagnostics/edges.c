/* SPDX-License-Identifier: Apache-2.0
 *
 * See edges.h.
 *
 * Must not happen: an edge is taken for known while a newer sighting has fewer guards. So only edges without guards are
 * skipped.
 */
#include "diagnostics/edges.h"

#include "platform/reaches.h"
#include <stddef.h>
#include <string.h>

/* Cycles were searched while the edge had so many guards and there were so many proofs. */
static uint64_t searched_with(uint32_t guards, uint32_t proofs) {
    return (uint64_t)proofs << 32 | guards;
}

static struct ilk__index edges;

static uint64_t hash_of_order(const struct ilk__order *order) {
    return ilk__index_hash(order->from_id * 31 + ilk__index_hash(order->to_id));
}

/* ---- Without the lock ---- */

static bool joins(const struct ilk__index_link *link, const void *context) ILK_NONBLOCKING {
    const struct ilk__edge *edge = (const struct ilk__edge *)link;
    const struct ilk__order *order = context;
    /* LO3 relaxed: under the mutex of the tables; else between LO1 and LO8, or the look at the version behind LO8. */
    return ilk_atomic_load(&edge->to_id, memory_order_relaxed) == order->to_id &&
           ilk_atomic_load(&edge->pair, memory_order_relaxed) == ilk__pair(order->held, order->asked) &&
           ilk_atomic_load(&edge->from_id, memory_order_relaxed) == order->from_id;
}

static struct ilk__edge *find_edge(const struct ilk__order *order) {
    return (struct ilk__edge *)ilk__index_find(&edges, hash_of_order(order), joins, order);
}

bool ilk__edge_is_known(const struct ilk__order *order) {
    const struct ilk__edge *edge = find_edge(order);
    if (edge == NULL) {
        return false;
    }
    /* LO1 acquire, pairs with LO4. Carries: the words of the edge that got this version.
     * If weaker: what was searched for an edge before is taken for searched for this one. */
    const uint64_t version = ilk_atomic_load(&edge->version, memory_order_acquire);
    const bool is_joined = joins(&edge->link, order);
    const uint64_t searched = ilk_atomic_load(&edge->searched, memory_order_relaxed); /* LO3 */
    /* LO8 acquire, pairs with LO2: of a later edge, if we have read a word of it, we see the version too.
     * If weaker: what was searched for a later edge is taken for searched for this one. */
    ilk_atomic_fence(memory_order_acquire);
    const bool joins_still = is_joined && version % 2 == 0 &&
                             ilk_atomic_load(&edge->version, memory_order_relaxed) == version; /* LO3 */
    ILK__REACHES(EDGE_CHANGES_AS_READ, !joins_still);
    return joins_still && searched == searched_with(0, order->proofs);
}

/* ---- With the tables locked ---- */

bool ilk__order_is_current(const struct ilk__order *order) {
    return ilk__object_id(order->from) == order->from_id && ilk__object_id(order->to) == order->to_id;
}

static bool joins_nothing(const struct ilk__index_link *link, const void *unused) ILK_NONBLOCKING {
    (void)unused;
    const struct ilk__edge *edge = (const struct ilk__edge *)link;
    return ilk_atomic_load(&edge->from_id, memory_order_relaxed) == 0; /* LO3 */
}

static void end_edge(struct ilk__edge *edge) {
    LIST_REMOVE(edge, leaving);
    LIST_REMOVE(edge, entering);
    ilk_atomic_store(&edge->from_id, 0, memory_order_relaxed); /* LO3 */
}

void ilk__edges_end(struct ilk__object *object) {
    while (!LIST_EMPTY(&object->leaving)) {
        end_edge(LIST_FIRST(&object->leaving));
    }
    while (!LIST_EMPTY(&object->entering)) {
        end_edge(LIST_FIRST(&object->entering));
    }
}

static bool is_reported_between(const struct ilk__order *order) {
    const struct ilk__edge *edge;
    LIST_FOREACH(edge, &order->from->leaving, leaving) {
        if (edge->to == order->to) {
            return edge->is_reported;
        }
    }
    return false;
}

static void make_edge(struct ilk__edge *edge, const struct ilk__order *order) {
    const uint64_t version = ilk_atomic_load(&edge->version, memory_order_relaxed); /* LO3 */
    ilk_atomic_store(&edge->version, version + 1, memory_order_relaxed);            /* LO3 */
    /* LO2 release, pairs with LO8: the odd version before any word of this edge. */
    ilk_atomic_fence(memory_order_release);
    ilk_atomic_store(&edge->to_id, order->to_id, memory_order_relaxed);                        /* LO3 */
    ilk_atomic_store(&edge->pair, ilk__pair(order->held, order->asked), memory_order_relaxed); /* LO3 */
    ilk_atomic_store(&edge->from_id, order->from_id, memory_order_relaxed);                    /* LO3 */
    ilk_atomic_store(&edge->searched, searched_with(order->guard_count, order->proofs),
                     memory_order_relaxed); /* LO3 */
    /* LO4 release, pairs with LO1: the words of this edge before its version. */
    ilk_atomic_store(&edge->version, version + 2, memory_order_release);
    edge->from = order->from;
    edge->to = order->to;
    edge->held = order->held;
    edge->asked = order->asked;
    edge->is_reported = is_reported_between(order);
    LIST_INSERT_HEAD(&order->from->leaving, edge, leaving);
    LIST_INSERT_HEAD(&order->to->entering, edge, entering);
    (void)ilk__object_add_traits(order->from, ILK__HAS_ORDERS);
    edge->guard_count = order->guard_count;
    memcpy(edge->guards, order->guards, sizeof edge->guards);
    edge->sighting = *order->sighting;
}

static bool has_guard(const uint64_t *guards, uint32_t count, uint64_t guard) {
    for (uint32_t index = 0; index < count; index++) {
        if (guards[index] == guard) {
            return true;
        }
    }
    return false;
}

static void keep_common_guards(struct ilk__edge *edge, const struct ilk__order *order) {
    uint32_t kept = 0;
    for (uint32_t index = 0; index < edge->guard_count; index++) {
        if (has_guard(order->guards, order->guard_count, edge->guards[index])) {
            edge->guards[kept++] = edge->guards[index];
        }
    }
    edge->guard_count = kept;
}

/* True: to be searched. */
static bool add_sighting(struct ilk__edge *edge, const struct ilk__order *order) {
    const uint64_t before = ilk_atomic_load(&edge->searched, memory_order_relaxed); /* LO3 */
    keep_common_guards(edge, order);
    const uint64_t searched = searched_with(edge->guard_count, order->proofs);
    ilk_atomic_store(&edge->searched, searched, memory_order_relaxed); /* LO3 */
    ILK__REACHES(EDGE_SEARCHED_AGAIN, searched != before);
    return searched != before;
}

struct ilk__edge *ilk__edge_add(const struct ilk__order *order, struct ilk__edge **spare,
                                bool *is_to_be_searched, bool *is_full) {
    struct ilk__edge *edge = find_edge(order);
    if (edge != NULL) {
        *is_to_be_searched = add_sighting(edge, order);
        return edge;
    }
    *is_to_be_searched = true;
    edge = (struct ilk__edge *)ilk__index_find(&edges, hash_of_order(order), joins_nothing, NULL);
    if (edge != NULL) {
        ILK__REACHES(EDGE_MADE_OVER, true);
        make_edge(edge, order);
    } else if (*spare != NULL) {
        edge = *spare;
        *spare = NULL;
        make_edge(edge, order);
        *is_full = ilk__index_link(&edges, hash_of_order(order), &edge->link);
    }
    return edge;
}

void ilk__edges_grow(void) {
    ilk__index_grow(&edges);
}

bool ilk__edges_share_guards(const struct ilk__edge *edge, const struct ilk__edge *other) {
    for (uint32_t index = 0; index < edge->guard_count; index++) {
        if (has_guard(other->guards, other->guard_count, edge->guards[index])) {
            return true;
        }
    }
    return false;
}

void ilk__edge_set_reported(const struct ilk__edge *edge) {
    struct ilk__edge *other;
    LIST_FOREACH(other, &edge->from->leaving, leaving) {
        other->is_reported |= other->to == edge->to;
    }
}
