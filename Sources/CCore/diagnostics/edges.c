/* SPDX-License-Identifier: Apache-2.0
 *
 * See edges.h.
 *
 * Must not happen: an edge is taken for known while a newer sighting has fewer guards, or other shares. So only
 * edges without guards are skipped.
 */
#include "diagnostics/edges.h"

#include <stddef.h>
#include <string.h>

/* The pairs for which circles were searched, while the edge had so many guards and there were so many proofs. */
static uint64_t searched_for(uint32_t pairs, uint32_t guards, uint32_t proofs) {
    return (uint64_t)proofs << 32 | guards << 16 | pairs;
}

static uint32_t searched_pairs(uint64_t searched) {
    return searched & 0xFFFF;
}

/* The same guards and proofs. */
static bool is_searched_as(uint64_t searched, uint32_t guards, uint32_t proofs) {
    return searched >> 16 == searched_for(0, guards, proofs) >> 16;
}

/* ---- Without the lock ---- */

static bool edge_joins(const struct ilk__edge *edge, uint64_t from_id, uint64_t to_id) {
    return ilk_atomic_load(&edge->to_id, memory_order_relaxed) == to_id &&   /* LO3 */
           ilk_atomic_load(&edge->from_id, memory_order_relaxed) == from_id; /* LO3 */
}

struct ilk__edge *ilk__edge_first(const struct ilk__object *object) {
    /* LO4 acquire, pairs with LO5 (linking).
     * Carries: the link to the next edge.
     * If weaker: we follow a pointer that is not there yet. */
    return ilk_atomic_load(&object->edges, memory_order_acquire);
}

static struct ilk__edge *find_edge(const struct ilk__order *order) {
    struct ilk__edge *edge = ilk__edge_first(order->from);
    while (edge != NULL && !edge_joins(edge, order->from_id, order->to_id)) {
        ilk_plain_read(&edge->next, sizeof edge->next);
        edge = edge->next;
    }
    return edge;
}

bool ilk__edge_is_known(const struct ilk__order *order) {
    const struct ilk__edge *edge = find_edge(order);
    if (edge == NULL) {
        return false;
    }
    /* LO1 acquire, pairs with LO2.
     * Carries: that nothing was searched for the edge that is made over.
     * If weaker: what was searched for the edge before is taken for searched for this one. */
    ilk_atomic_fence(memory_order_acquire);
    const uint64_t searched = ilk_atomic_load(&edge->searched, memory_order_relaxed); /* LO3 */
    return (searched_pairs(searched) & ilk__pair_bit(order->held, order->asked)) != 0 &&
           is_searched_as(searched, 0, order->proofs);
}

bool ilk__edge_leaves(const struct ilk__object *from, uint64_t from_id) {
    const struct ilk__edge *edge = ilk__edge_first(from);
    while (edge != NULL && ilk_atomic_load(&edge->from_id, memory_order_relaxed) != from_id) { /* LO3 */
        ilk_plain_read(&edge->next, sizeof edge->next);
        edge = edge->next;
    }
    return edge != NULL;
}

/* ---- With the tables locked ---- */

bool ilk__edge_is_alive(const struct ilk__edge *edge, const struct ilk__object *from) {
    return ilk__object_id(ilk__edge_to(edge)) ==
               ilk_atomic_load(&edge->to_id, memory_order_relaxed) &&                     /* LO3 */
           ilk__object_id(from) == ilk_atomic_load(&edge->from_id, memory_order_relaxed); /* LO3 */
}

static struct ilk__edge *dead_edge(const struct ilk__object *from) {
    struct ilk__edge *edge = ilk__edge_first(from);
    while (edge != NULL && ilk__edge_is_alive(edge, from)) {
        edge = edge->next;
    }
    return edge;
}

static void link_edge(struct ilk__object *from, struct ilk__edge *edge) {
    ilk_plain_write(&edge->next, sizeof edge->next);
    edge->next = ilk_atomic_load(&from->edges, memory_order_relaxed); /* LO3 */
    /* LO5 release, pairs with LO4. */
    ilk_atomic_store(&from->edges, edge, memory_order_release);
}

static void make_edge(struct ilk__edge *edge, const struct ilk__order *order) {
    const uint32_t pair = ilk__pair_bit(order->held, order->asked);
    ilk_atomic_store(&edge->searched, 0, memory_order_relaxed); /* LO3 */
    /* LO2 release, pairs with LO1. */
    ilk_atomic_fence(memory_order_release);
    ilk_atomic_store(&edge->to, order->to, memory_order_relaxed);           /* LO3 */
    ilk_atomic_store(&edge->from_id, order->from_id, memory_order_relaxed); /* LO3 */
    ilk_atomic_store(&edge->to_id, order->to_id, memory_order_relaxed);     /* LO3 */
    ilk_atomic_store(&edge->searched, searched_for(pair, order->guard_count, order->proofs),
                     memory_order_relaxed); /* LO3 */
    edge->pairs = pair;
    edge->guard_count = order->guard_count;
    memcpy(edge->guards, order->guards, sizeof edge->guards);
    edge->is_reported = false;
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
    const uint32_t pair = ilk__pair_bit(order->held, order->asked);
    const uint64_t searched = ilk_atomic_load(&edge->searched, memory_order_relaxed); /* LO3 */
    keep_common_guards(edge, order);
    edge->pairs |= pair;
    const bool is_same = is_searched_as(searched, edge->guard_count, order->proofs);
    const uint32_t pairs = is_same ? searched_pairs(searched) : 0;
    ilk_atomic_store(&edge->searched, searched_for(pairs | pair, edge->guard_count, order->proofs),
                     memory_order_relaxed); /* LO3 */
    return (pairs & pair) == 0;
}

struct ilk__edge *ilk__edge_add(const struct ilk__order *order, struct ilk__edge **spare,
                                bool *is_to_be_searched) {
    struct ilk__edge *edge = find_edge(order);
    if (edge != NULL) {
        *is_to_be_searched = add_sighting(edge, order);
        return edge;
    }
    *is_to_be_searched = true;
    edge = dead_edge(order->from);
    if (edge != NULL) {
        make_edge(edge, order);
    } else if (*spare != NULL) {
        edge = *spare;
        *spare = NULL;
        make_edge(edge, order);
        link_edge(order->from, edge);
    }
    return edge;
}

bool ilk__edges_share_guards(const struct ilk__edge *edge, const struct ilk__edge *other) {
    for (uint32_t index = 0; index < edge->guard_count; index++) {
        if (has_guard(other->guards, other->guard_count, edge->guards[index])) {
            return true;
        }
    }
    return false;
}
