/* SPDX-License-Identifier: Apache-2.0
 *
 * The edges of the order graph (order.h). An object has a list of those that leave it. Lists only grow; an edge whose
 * objects have ended serves for another one. An edge is found without a lock, made and changed under the mutex of the
 * tables.
 *
 * What an edge remembers
 *   pairs    of the share held and the share asked for, a bit each: a circle needs, at each object, a share held
 *            and one asked for that exclude each other
 *   guards   the objects held for writing in every sighting of the edge, beside the one it leaves: threads that need
 *            the same guard never meet in the circle
 *   stack    of the first sighting
 * And in one word, which a reader without the lock compares: for which pairs circles were searched, with how many
 * guards and proofs.
 *
 * Source: Havelund, "Using runtime analysis to guide model checking of Java programs" (2000), for the guards.
 */
#ifndef INTERLOCK_DIAGNOSTICS_EDGES_H
#define INTERLOCK_DIAGNOSTICS_EDGES_H

#include "diagnostics/records.h"
#include "diagnostics/report.h"

enum { ILK__GUARDS_MOST = 8, ILK__SHARES = 3 };

struct ilk__edge {
    struct ilk__edge *next; /* in its object's list; never changes once linked */
    ILK_ATOMIC(struct ilk__object *) to;
    ILK_ATOMIC(uint64_t) from_id;
    ILK_ATOMIC(uint64_t) to_id;
    ILK_ATOMIC(uint64_t) searched; /* see edges.c; 0 while the edge is made over */
    /* Under the mutex of the tables. */
    uint32_t pairs;
    uint32_t guard_count;
    uint64_t guards[ILK__GUARDS_MOST];
    bool is_reported;
    struct ilk__sighting sighting;
};

/* A thread that holds `from` asks for `to`. */
struct ilk__order {
    struct ilk__object *from, *to;
    uint64_t from_id, to_id;
    enum ilk__share held, asked;
    uint64_t guards[ILK__GUARDS_MOST];
    uint32_t guard_count;
    uint32_t proofs;
    const struct ilk__sighting *sighting;
};

static inline uint32_t ilk__pair_bit(enum ilk__share held, enum ilk__share asked) {
    return UINT32_C(1) << ((uint32_t)held * ILK__SHARES + (uint32_t)asked);
}

/* The newest edge that leaves `from`, dead ones among them; NULL. */
struct ilk__edge *ilk__edge_first(const struct ilk__object *from);

/* Without the lock: whether an edge without guards was searched for the order's pair and proofs. */
bool ilk__edge_is_known(const struct ilk__order *order);

/* Without the lock: whether an edge leaves the object of this id. */
bool ilk__edge_leaves(const struct ilk__object *from, uint64_t from_id);

/* ---- With the tables locked ---- */

/* Whether the objects at both ends are still those that it joins. */
bool ilk__edge_is_alive(const struct ilk__edge *edge, const struct ilk__object *from);

/* The edge of the order, which remembers this sighting; a new one is made in `*spare`, which is NULL then, or in a dead
 * edge. NULL: there is no memory for it. `is_to_be_searched`: circles were not searched for the order's pair with these
 * guards and proofs. */
struct ilk__edge *ilk__edge_add(const struct ilk__order *order, struct ilk__edge **spare,
                                bool *is_to_be_searched);

/* Whether the same guard is held along both. */
bool ilk__edges_share_guards(const struct ilk__edge *edge, const struct ilk__edge *other);

static inline struct ilk__object *ilk__edge_to(const struct ilk__edge *edge) {
    /* LO3 relaxed: under the mutex of the tables; else an id before LO1, `searched` behind it, or behind LO6. */
    return ilk_atomic_load(&edge->to, memory_order_relaxed);
}

#endif
