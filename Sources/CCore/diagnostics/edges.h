/* SPDX-License-Identifier: Apache-2.0
 *
 * The edges of the order graph (order.h): one from an object to another for each pair of a share held and a share
 * asked for. Each is in an index, where it is found without a lock by what it joins; and under the mutex of the
 * tables, where it is made and changed, in a list of those that leave the one object and in a list of those that enter
 * the other. As an object ends, its edges leave the lists, and each serves for another edge of its place in the index.
 *
 * What an edge remembers
 *   guards   the objects that were held in every sighting, beside the one it leaves, by one thread at a time: threads
 *            that need the same guard never meet in the cycle
 *   stack    of the first sighting
 * And in one word, which is read without the lock too: with how many guards and proofs cycles were searched. That it is
 * of the edge between the two ids, a version tells (Boehm, "Can seqlocks get along with programming
 * language memory models?", 2012): an id may come back to a place in the index, with another partner.
 *
 * Source: Havelund, "Using runtime analysis to guide model checking of Java programs" (2000), for the guards.
 */
#ifndef INTERLOCK_DIAGNOSTICS_EDGES_H
#define INTERLOCK_DIAGNOSTICS_EDGES_H

#include "diagnostics/records.h"
#include "diagnostics/report.h"

enum { ILK__GUARDS_MOST = 8 };

struct ilk__edge {
    struct ilk__index_link link;  /* first: a link is its edge */
    ILK_ATOMIC(uint64_t) from_id; /* 0: it joins nothing */
    ILK_ATOMIC(uint64_t) to_id;
    ILK_ATOMIC(uint32_t) pair;     /* ilk__pair of the share held and the share asked for */
    ILK_ATOMIC(uint64_t) searched; /* see edges.c */
    ILK_ATOMIC(uint64_t) version;  /* odd while these words are written for another edge */
    /* Under the mutex of the tables. */
    struct ilk__object *from, *to;
    enum ilk__share held, asked;
    LIST_ENTRY(ilk__edge) leaving, entering;
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

static inline uint32_t ilk__pair(enum ilk__share held, enum ilk__share asked) {
    return (uint32_t)held * ILK__SHARES + (uint32_t)asked;
}

/* Without the lock: whether the order's edge was searched without guards, with its proofs. */
bool ilk__edge_is_known(const struct ilk__order *order);

/* ---- With the tables locked ---- */

/* Whether both objects are still there: an order of what has ended is none. */
bool ilk__order_is_current(const struct ilk__order *order);

/* The edge of a current order, which remembers this sighting; a new one is made in `*spare`, which is NULL then, or in
 * one that joins nothing. NULL: there is no memory for it. `is_to_be_searched`: cycles were not searched with these
 * guards and proofs. `is_full`: ilk__edges_grow is to be called, without the lock. */
struct ilk__edge *ilk__edge_add(const struct ilk__order *order, struct ilk__edge **spare,
                                bool *is_to_be_searched, bool *is_full);
void ilk__edges_grow(void);

/* The object ends. */
void ilk__edges_end(struct ilk__object *object);

/* Whether the same guard is held along both. */
bool ilk__edges_share_guards(const struct ilk__edge *edge, const struct ilk__edge *other);

/* All edges between the same objects have been in a report. */
void ilk__edge_set_reported(const struct ilk__edge *edge);

#endif
