/* SPDX-License-Identifier: Apache-2.0
 *
 * See order.h. An object has a list of the edges that leave it. Lists only grow; an edge whose objects have ended
 * serves for another one. An edge is found without a lock, made and changed under the mutex of the tables, and
 * searched for circles there: of two threads that close a circle together, the second sees the first's edge.
 *
 * What an edge remembers
 *   pairs   of the share held and the share asked for, a bit each: a circle needs, at each object, a share held
 *           and one asked for that exclude each other
 *   guards   the objects held for writing in every sighting of the edge, beside the one it leaves: threads that need
 *           the same guard never meet in the circle
 *   stack   of the first sighting
 * Must not happen: an edge is taken for known while a newer sighting has fewer guards, or other shares. So only
 * edges without guards are skipped.
 *
 * Sources: Havelund, "Using runtime analysis to guide model checking of Java programs" (2000), for the guards; the
 * order graph as in Linux' lockdep.
 */
#include "diagnostics/order.h"

#include "diagnostics/report.h"
#include "diagnostics/stack.h"
#include "diagnostics/tables.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum {
    GUARDS_MOST = 8,
    CIRCLE_MOST = ILK__CIRCLE_MOST,
    SEARCH_MOST = 20000, /* edges followed for one new edge: a search is not to hold a thread up */
    SHARES = 3
};

struct ilk__edge {
    struct ilk__edge *next; /* in its object's list; never changes once linked */
    ILK_ATOMIC(struct ilk__object *) to;
    ILK_ATOMIC(uint64_t) from_id;
    ILK_ATOMIC(uint64_t) to_id; /* 0 while the edge changes */
    ILK_ATOMIC(uint32_t) pairs;
    ILK_ATOMIC(uint32_t) guard_count;
    /* Under the mutex of the tables. */
    uint64_t guards[GUARDS_MOST];
    bool is_reported;
    struct ilk__sighting sighting;
};

static uint32_t pair_bit(enum ilk__share held, enum ilk__share asked) {
    return UINT32_C(1) << ((uint32_t)held * SHARES + (uint32_t)asked);
}

bool ilk__shares_exclude(const struct ilk__object *object, enum ilk__share held, enum ilk__share asked) {
    if (held == ILK__SHARE_READ || asked == ILK__SHARE_READ) {
        const bool writes = held == ILK__SHARE_WRITE || asked == ILK__SHARE_WRITE;
        return writes || ilk__object_has_traits(object, ILK__IS_WRITTEN);
    }
    return true;
}

/* A semaphore may be a signal between threads: it is a lock once a thread has given back what it took, and while no
 * thread gives what it has not taken. */
static bool is_no_lock(const struct ilk__object *object) {
    return ilk__object_kind_of(object) == ILK_OBJECT_SEMAPHORE &&
           (!ilk__object_has_traits(object, ILK__IS_PERMIT) ||
            ilk__object_has_traits(object, ILK__IS_SIGNALLED));
}

static bool is_proven_lock(const struct ilk__object *object) {
    return ilk__object_kind_of(object) != ILK_OBJECT_SEMAPHORE ||
           (!is_no_lock(object) && ilk__object_has_traits(object, ILK__IS_BALANCED));
}

/* ---- Edges ---- */

static bool edge_joins(const struct ilk__edge *edge, uint64_t from_id, const struct ilk__object *to,
                       uint64_t to_id) {
    /* LO1 acquire, pairs with LO2 (the edge is complete) and LO6 (it changes).
     * Carries: where it begins and ends, and its pairs.
     * If weaker: an edge that is being made over is taken for another one. */
    return ilk_atomic_load(&edge->to_id, memory_order_acquire) == to_id &&
           ilk_atomic_load(&edge->to, memory_order_relaxed) == to &&         /* LO3 */
           ilk_atomic_load(&edge->from_id, memory_order_relaxed) == from_id; /* LO3 */
}

static struct ilk__edge *first_edge(const struct ilk__object *object) {
    /* LO4 acquire, pairs with LO5 (linking).
     * Carries: the link to the next edge.
     * If weaker: we follow a pointer that is not there yet. */
    return ilk_atomic_load(&object->edges, memory_order_acquire);
}

static struct ilk__edge *find_edge(const struct ilk__object *from, uint64_t from_id,
                                   const struct ilk__object *to, uint64_t to_id) {
    struct ilk__edge *edge = first_edge(from);
    while (edge != NULL && !edge_joins(edge, from_id, to, to_id)) {
        edge = edge->next;
    }
    return edge;
}

/* Without the lock: an edge that needs no second look. */
static bool is_known(const struct ilk__object *from, uint64_t from_id, const struct ilk__object *to,
                     uint64_t to_id, uint32_t pair) {
    const struct ilk__edge *edge = find_edge(from, from_id, to, to_id);
    return edge != NULL && (ilk_atomic_load(&edge->pairs, memory_order_relaxed) & pair) != 0 && /* LO3 */
           ilk_atomic_load(&edge->guard_count, memory_order_relaxed) == 0 &&                    /* LO3 */
           edge_joins(edge, from_id, to, to_id);
}

/* Whether the objects at both ends are still those that it joins. */
static bool is_alive(const struct ilk__edge *edge, const struct ilk__object *from) {
    const struct ilk__object *to = ilk_atomic_load(&edge->to, memory_order_relaxed); /* LO3 */
    const uint64_t to_id = ilk_atomic_load(&edge->to_id, memory_order_acquire);      /* LO1 */
    return to_id != 0 && ilk__object_id(to) == to_id &&
           ilk__object_id(from) == ilk_atomic_load(&edge->from_id, memory_order_relaxed); /* LO3 */
}

/* ---- With the tables locked ---- */

/* LO3 relaxed: read between LO1 and a comparison of ids, or under the mutex of the tables. */

static struct ilk__edge *dead_edge(const struct ilk__object *from) {
    struct ilk__edge *edge = first_edge(from);
    while (edge != NULL && is_alive(edge, from)) {
        edge = edge->next;
    }
    return edge;
}

static void link_edge(struct ilk__object *from, struct ilk__edge *edge) {
    edge->next = ilk_atomic_load(&from->edges, memory_order_relaxed); /* LO3 */
    /* LO5 release, pairs with LO4. */
    ilk_atomic_store(&from->edges, edge, memory_order_release);
}

struct order {
    struct ilk__object *from, *to;
    uint64_t from_id, to_id;
    enum ilk__share held, asked;
    uint64_t guards[GUARDS_MOST];
    uint32_t guard_count;
    const struct ilk__sighting *sighting;
};

static void make_edge(struct ilk__edge *edge, const struct order *order) {
    ilk_atomic_store(&edge->to_id, 0, memory_order_relaxed); /* LO3 */
    /* LO6 release, pairs with LO1 (reading the edge again).
     * Carries: that the edge changes.
     * If weaker: a reader sees the new end of an edge with the ids of the old one. */
    ilk_atomic_fence(memory_order_release);
    ilk_atomic_store(&edge->to, order->to, memory_order_relaxed);                              /* LO3 */
    ilk_atomic_store(&edge->from_id, order->from_id, memory_order_relaxed);                    /* LO3 */
    ilk_atomic_store(&edge->pairs, pair_bit(order->held, order->asked), memory_order_relaxed); /* LO3 */
    ilk_atomic_store(&edge->guard_count, order->guard_count, memory_order_relaxed);            /* LO3 */
    memcpy(edge->guards, order->guards, sizeof edge->guards);
    edge->is_reported = false;
    edge->sighting = *order->sighting;
    /* LO2 release, pairs with LO1. */
    ilk_atomic_store(&edge->to_id, order->to_id, memory_order_release);
}

static bool has_guard(const uint64_t *guards, uint32_t count, uint64_t guard) {
    for (uint32_t index = 0; index < count; index++) {
        if (guards[index] == guard) {
            return true;
        }
    }
    return false;
}

/* True: it says more than before. */
static bool add_sighting(struct ilk__edge *edge, const struct order *order) {
    const uint32_t pairs = ilk_atomic_load(&edge->pairs, memory_order_relaxed); /* LO3 */
    const uint32_t pair = pair_bit(order->held, order->asked);
    uint32_t count = ilk_atomic_load(&edge->guard_count, memory_order_relaxed); /* LO3 */
    uint32_t kept = 0;
    for (uint32_t index = 0; index < count; index++) {
        if (has_guard(order->guards, order->guard_count, edge->guards[index])) {
            edge->guards[kept++] = edge->guards[index];
        }
    }
    ilk_atomic_store(&edge->pairs, pairs | pair, memory_order_relaxed); /* LO3 */
    ilk_atomic_store(&edge->guard_count, kept, memory_order_relaxed);   /* LO3 */
    return (pairs & pair) == 0 || kept < count;
}

static bool share_guards(const struct ilk__edge *edge, const struct ilk__edge *other) {
    const uint32_t count = ilk_atomic_load(&edge->guard_count, memory_order_relaxed);        /* LO3 */
    const uint32_t other_count = ilk_atomic_load(&other->guard_count, memory_order_relaxed); /* LO3 */
    for (uint32_t index = 0; index < count; index++) {
        if (has_guard(other->guards, other_count, edge->guards[index])) {
            return true;
        }
    }
    return false;
}

/* ---- Circles ---- */

struct circle {
    struct ilk__edge *edges[CIRCLE_MOST]; /* the first is the new one */
    const struct ilk__object *from[CIRCLE_MOST];
    uint32_t count;
    uint32_t followed;
    const struct ilk__object *target; /* where the new edge begins */
    enum ilk__share held;             /* of the target, along the new edge */
};

static bool fits(const struct circle *circle, const struct ilk__edge *edge) {
    for (uint32_t index = 0; index < circle->count; index++) {
        if (circle->edges[index] == edge || share_guards(circle->edges[index], edge)) {
            return false;
        }
    }
    return true;
}

static bool passes(const struct circle *circle, const struct ilk__object *object) {
    for (uint32_t index = 0; index < circle->count; index++) {
        if (circle->from[index] == object) {
            return true;
        }
    }
    return false;
}

/* Depth first, from `at`, for which the edge before asks `asked`. */
static bool search(struct circle *circle, const struct ilk__object *at, enum ilk__share asked) {
    if (circle->count == CIRCLE_MOST || !is_proven_lock(at)) {
        return false;
    }
    for (struct ilk__edge *edge = first_edge(at); edge != NULL; edge = edge->next) {
        if (++circle->followed > SEARCH_MOST) {
            return false;
        }
        if (!is_alive(edge, at) || !fits(circle, edge)) {
            continue;
        }
        struct ilk__object *to = ilk_atomic_load(&edge->to, memory_order_relaxed);  /* LO3 */
        const uint32_t pairs = ilk_atomic_load(&edge->pairs, memory_order_relaxed); /* LO3 */
        circle->edges[circle->count] = edge;
        circle->from[circle->count] = at;
        circle->count++;
        for (uint32_t bit = 0; bit < SHARES * SHARES; bit++) {
            if ((pairs & (UINT32_C(1) << bit)) == 0 ||
                !ilk__shares_exclude(at, (enum ilk__share)(bit / SHARES), asked)) {
                continue;
            }
            const enum ilk__share next_asked = (enum ilk__share)(bit % SHARES);
            if (to == circle->target ? ilk__shares_exclude(to, circle->held, next_asked)
                                     : !passes(circle, to) && search(circle, to, next_asked)) {
                return true;
            }
        }
        circle->count--;
    }
    return false;
}

/* For the report, which is made without the lock. True: there is something new in it. */
static bool describe(const struct circle *circle, struct ilk__inversion *inversion) {
    bool is_new = false;
    inversion->count = circle->count;
    for (uint32_t index = 0; index < circle->count; index++) {
        struct ilk__edge *edge = circle->edges[index];
        const struct ilk__object *to = ilk_atomic_load(&edge->to, memory_order_relaxed); /* LO3 */
        is_new = is_new || !edge->is_reported;
        edge->is_reported = true;
        inversion->orders[index] = edge->sighting;
        inversion->orders[index].from = ilk__object_address(circle->from[index]);
        inversion->orders[index].to = ilk__object_address(to);
        inversion->orders[index].from_kind = ilk__object_kind_of(circle->from[index]);
        inversion->orders[index].to_kind = ilk__object_kind_of(to);
    }
    return is_new;
}

static bool find_circle(struct ilk__edge *edge, const struct order *order, struct ilk__inversion *inversion) {
    if (!is_proven_lock(order->from)) {
        return false;
    }
    struct circle circle = {
        .edges = {edge}, .from = {order->from}, .count = 1, .target = order->from, .held = order->held};
    if (!search(&circle, order->to, order->asked) || !describe(&circle, inversion)) {
        return false;
    }
    inversion->orders[0] = *order->sighting; /* this one, should an older sighting be kept */
    inversion->orders[0].from = ilk__object_address(order->from);
    inversion->orders[0].to = ilk__object_address(order->to);
    inversion->orders[0].from_kind = ilk__object_kind_of(order->from);
    inversion->orders[0].to_kind = ilk__object_kind_of(order->to);
    return true;
}

/* ---- A thread's orders ---- */

static struct ilk__known_order *known_place(struct ilk__record *record, uint64_t from, uint64_t to) {
    return &record->known_orders[(from * 31 + to) % ILK__KNOWN_ORDERS];
}

static void add_order(struct order *order, struct ilk__inversion *inversion) {
    struct ilk__edge *spare = NULL;
    bool is_found = false;
    for (;;) {
        sigset_t before;
        ilk__tables_lock(&before);
        struct ilk__edge *edge = find_edge(order->from, order->from_id, order->to, order->to_id);
        bool says_more = true;
        if (edge != NULL) {
            says_more = add_sighting(edge, order);
        } else {
            edge = dead_edge(order->from);
            if (edge == NULL && spare != NULL) {
                edge = spare;
                spare = NULL;
                make_edge(edge, order);
                link_edge(order->from, edge);
            } else if (edge != NULL) {
                make_edge(edge, order);
            }
        }
        if (edge != NULL && says_more) {
            is_found = find_circle(edge, order, inversion);
        }
        ilk__tables_unlock(&before);
        if (edge != NULL) {
            break;
        }
        spare = calloc(1, sizeof *spare);
        if (spare == NULL) {
            break; /* the order is lost */
        }
    }
    free(spare);
    if (is_found) {
        ilk__report_inversion(inversion);
    }
}

static void gather_guards(const struct ilk__record *record, unsigned without, struct order *order) {
    order->guard_count = 0;
    for (unsigned index = 0; index < ilk__held_places(record) && order->guard_count < GUARDS_MOST; index++) {
        const struct ilk__held_share *held = &record->held[index];
        const struct ilk__object *object = ilk__held_object(held);
        const uint64_t id = ilk__record_get(&held->id);
        if (index != without && object != order->to && ilk__object_id(object) == id &&
            ilk__record_get(&held->share) == ILK__SHARE_WRITE &&
            ilk__object_kind_of(object) != ILK_OBJECT_SEMAPHORE) {
            order->guards[order->guard_count++] = id;
        }
    }
}

void ilk__order_add(struct ilk__record *record, struct ilk__object *object, enum ilk__share share,
                    const void *site) {
    struct ilk__sighting sighting;
    struct ilk__inversion inversion;
    bool is_seen = false;
    struct order order = {
        .to = object, .to_id = ilk__object_id(object), .asked = share, .sighting = &sighting};
    if (is_no_lock(object)) {
        return;
    }
    for (unsigned index = 0; index < ilk__held_places(record); index++) {
        const struct ilk__held_share *held = &record->held[index];
        order.from = ilk__held_object(held);
        order.from_id = ilk__record_get(&held->id);
        order.held = (enum ilk__share)ilk__record_get(&held->share);
        if (order.from == object || ilk__object_id(order.from) != order.from_id || is_no_lock(order.from)) {
            continue;
        }
        const uint32_t pair = pair_bit(order.held, share);
        struct ilk__known_order *known = known_place(record, order.from_id, order.to_id);
        const bool is_same = known->from == order.from_id && known->to == order.to_id;
        if (is_same && (known->pairs & pair) != 0) {
            continue;
        }
        if (!is_known(order.from, order.from_id, object, order.to_id, pair)) {
            if (!is_seen) {
                is_seen = true;
                sighting.thread = ilk__record_thread(record);
                ilk__thread_name(sighting.thread, sighting.thread_name, sizeof sighting.thread_name);
                sighting.depth = ilk__stack_capture(sighting.stack, site);
            }
            sighting.from_site = (const void *)(uintptr_t)ilk__record_get(&held->site);
            gather_guards(record, index, &order);
            add_order(&order, &inversion);
            if (order.guard_count > 0) {
                continue;
            }
        }
        *known = (struct ilk__known_order){order.from_id, order.to_id, is_same ? known->pairs | pair : pair};
    }
}
