/* SPDX-License-Identifier: Apache-2.0
 *
 * See order.h. A new edge is searched for circles under the mutex of the tables: of two threads that close a circle
 * together, the second sees the first's edge.
 *
 * A search has three steps, each of which ends it where there is no circle:
 *   1. Whether the new edge's end leads back to its beginning at all: from both at once, each object once. In a program
 *      whose locks have an order this is all, and as long as the shorter of the two ways.
 *   2. How far each object is from the beginning, with shares that exclude each other: backward, each object once for a
 *      share and a distance.
 *   3. A circle that no guard keeps apart, shortest first: depth first, along objects that are near enough.
 * Only the third may be long where there is nothing to find. Each follows so many edges at most (ilk__order_search_most);
 * that one has ended there is said.
 *
 * Proofs. Whether a circle may deadlock also depends on what its objects have proven to be: readers exclude readers
 * only at a lock that was written, and a semaphore is a lock only once a permit was given back. An object that proves
 * it after edges have left it makes all edges searched again, each at its next sighting: `proofs` counts such objects.
 *
 * Source: the order graph as in Linux' lockdep.
 */
#include "diagnostics/order.h"

#include "diagnostics/edges.h"
#include "diagnostics/report.h"
#include "diagnostics/stack.h"
#include "diagnostics/tables.h"
#include "diagnostics/thread_list.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { CIRCLE_MOST = ILK__CIRCLE_MOST };

/* Some milliseconds, where the graph lies in no cache. */
uint32_t ilk__order_search_most = 100000;
static ILK_ATOMIC(uint64_t) searches_ended;

uint64_t ilk__order_searches_ended(void) {
    /* LO5 relaxed: a count for reports. */
    return ilk_atomic_load(&searches_ended, memory_order_relaxed);
}

/* ---- What objects have proven ---- */

static ILK_ATOMIC(uint32_t) proofs;

void ilk__order_proven(const struct ilk__object *object) {
    /* LO6 seq_cst, pairs with itself.
     * Forbids: we find no edge that leaves the object, and the thread that adds one does not see what the object has
     * proven. */
    ilk_atomic_fence(memory_order_seq_cst);
    if (ilk__object_has_traits(object, ILK__HAS_ORDERS)) {
        /* LO7 relaxed: LO6 comes before, and before each search: one for this proof sees it. */
        ilk_atomic_fetch_add(&proofs, 1, memory_order_relaxed);
    }
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
bool ilk__is_no_lock(const struct ilk__object *object) {
    return ilk__object_kind_of(object) == ILK_OBJECT_SEMAPHORE &&
           (!ilk__object_has_traits(object, ILK__IS_PERMIT) ||
            ilk__object_has_traits(object, ILK__IS_SIGNALLED));
}

bool ilk__is_proven_lock(const struct ilk__object *object) {
    return ilk__object_kind_of(object) != ILK_OBJECT_SEMAPHORE ||
           (!ilk__is_no_lock(object) && ilk__object_has_traits(object, ILK__IS_BALANCED));
}

bool ilk__is_held_still(const struct ilk__held_share *held) {
    const struct ilk__object *object = ilk__held_object(held);
    return ilk__object_id(object) == ilk__record_get(&held->id) && !ilk__is_no_lock(object);
}

/* ---- Whether there may be a circle ---- */

struct search {
    const struct ilk__edge *edge; /* the new one */
    struct ilk__object *target;   /* where it begins */
    struct ilk__object *begin;    /* and where it ends */
    enum ilk__share held, asked;  /* along it, of the one and the other */
    uint32_t followed;            /* edges, in this step */
    bool is_ended;                /* at the limit */
};

/* Objects to go on from. Numbers of queues are never used twice: what an earlier search has left counts for nothing. */
struct queue {
    uint64_t number;
    size_t place; /* of the visit within an object */
    struct ilk__object *first, *last;
};

static uint64_t last_queue; /* with the tables locked */

static struct queue new_queue(size_t place) {
    return (struct queue){.number = ++last_queue, .place = place};
}

static struct ilk__visit *visit_of(const struct queue *queue, struct ilk__object *object) {
    return (struct ilk__visit *)(void *)((char *)object + queue->place);
}

static bool is_visited(const struct queue *queue, struct ilk__object *object) {
    return visit_of(queue, object)->search == queue->number;
}

/* True: for the first time. */
static bool visit(const struct queue *queue, struct ilk__object *object) {
    const bool is_first = !is_visited(queue, object);
    if (is_first) {
        *visit_of(queue, object) = (struct ilk__visit){.search = queue->number};
    }
    return is_first;
}

static void push(struct queue *queue, struct ilk__object *object) {
    struct ilk__visit *visited = visit_of(queue, object);
    if (visited->is_queued) {
        return;
    }
    visited->is_queued = true;
    visited->next = NULL;
    if (queue->first == NULL) {
        queue->first = object;
    } else {
        visit_of(queue, queue->last)->next = object;
    }
    queue->last = object;
}

static struct ilk__object *pop(struct queue *queue) {
    struct ilk__object *object = queue->first;
    if (object != NULL) {
        struct ilk__visit *visited = visit_of(queue, object);
        queue->first = visited->next;
        visited->is_queued = false;
    }
    return object;
}

static bool may_follow(struct search *search) {
    search->is_ended |= ++search->followed > ilk__order_search_most;
    return !search->is_ended;
}

/* The way from one end. */
struct way {
    struct queue queue;
    struct ilk__edge *edge; /* the next one to follow */
    bool is_forward;
};

/* Follows one edge of the way: false: there is none left. */
static bool follow_one(struct way *way, struct ilk__object **found) {
    while (way->edge == NULL) {
        struct ilk__object *from = pop(&way->queue);
        if (from == NULL) {
            return false;
        }
        way->edge = way->is_forward ? LIST_FIRST(&from->leaving) : LIST_FIRST(&from->entering);
    }
    struct ilk__edge *edge = way->edge;
    way->edge = way->is_forward ? LIST_NEXT(edge, leaving) : LIST_NEXT(edge, entering);
    *found = way->is_forward ? edge->to : edge->from;
    if (visit(&way->queue, *found)) {
        push(&way->queue, *found);
    }
    return true;
}

static struct way way_from(struct ilk__object *object, bool is_forward) {
    struct way way = {.is_forward = is_forward};
    way.queue = new_queue(is_forward ? offsetof(struct ilk__object, forward)
                                     : offsetof(struct ilk__object, backward));
    (void)visit(&way.queue, object);
    push(&way.queue, object);
    return way;
}

/* Step 1. Neither way takes the new edge: they have met before. */
static bool leads_back(struct search *search) {
    struct way forward = way_from(search->begin, true);
    struct way backward = way_from(search->target, false);
    struct ilk__object *found = NULL;
    while (may_follow(search)) {
        if (!follow_one(&forward, &found)) {
            return false;
        }
        if (is_visited(&backward.queue, found)) {
            return true;
        }
        if (!follow_one(&backward, &found)) {
            return false;
        }
        if (is_visited(&forward.queue, found)) {
            return true;
        }
    }
    return false;
}

/* ---- How far objects are ---- */

enum { FAR = CIRCLE_MOST }; /* no circle has so many edges beside the new one */

/* `share` of `object` is asked for, and `distance` edges lead from there to the target. */
static void reach(struct queue *queue, struct ilk__object *object, enum ilk__share share, unsigned distance) {
    struct ilk__visit *visited = visit_of(queue, object);
    if (visit(queue, object)) {
        memset(visited->distances, FAR, sizeof visited->distances);
    }
    if (distance < visited->distances[share]) {
        visited->distances[share] = (uint8_t)distance;
        push(queue, object);
    }
}

static unsigned distance_of(const struct queue *queue, struct ilk__object *object, enum ilk__share share) {
    return is_visited(queue, object) ? visit_of(queue, object)->distances[share] : FAR;
}

/* With each share whose holder waits for a thread that asks for `asked`. */
static void reach_holders(struct queue *queue, struct ilk__object *object, enum ilk__share held,
                          unsigned distance) {
    for (unsigned share = 0; share < ILK__SHARES; share++) {
        if (ilk__shares_exclude(object, held, (enum ilk__share)share)) {
            reach(queue, object, (enum ilk__share)share, distance);
        }
    }
}

static void reach_over(struct queue *queue, const struct ilk__edge *edge) {
    for (uint32_t pairs = edge->pairs; pairs != 0; pairs &= pairs - 1) {
        const unsigned bit = (unsigned)__builtin_ctz(pairs);
        const unsigned distance = distance_of(queue, edge->to, (enum ilk__share)(bit % ILK__SHARES));
        if (distance + 1 < FAR) {
            reach_holders(queue, edge->from, (enum ilk__share)(bit / ILK__SHARES), distance + 1);
        }
    }
}

/* Step 2, until the new edge's end is reached (then nearer objects are known too), or nothing is left. Called again, it goes
 * on. False: it is not reached. */
static bool measure(struct search *search, struct queue *queue, bool is_to_the_end) {
    struct ilk__object *object;
    while ((is_to_the_end || distance_of(queue, search->begin, search->asked) == FAR) &&
           !search->is_ended && (object = pop(queue)) != NULL) {
        struct ilk__edge *edge;
        LIST_FOREACH(edge, &object->entering, entering) {
            if (may_follow(search) && edge->from != search->target && ilk__is_proven_lock(edge->from) &&
                !ilk__edges_share_guards(search->edge, edge)) {
                reach_over(queue, edge);
            }
        }
    }
    return distance_of(queue, search->begin, search->asked) < FAR;
}

/* ---- Circles ---- */

struct circle {
    struct ilk__edge *edges[CIRCLE_MOST]; /* the first is the new one */
    uint32_t count, most;
};

static bool fits(const struct circle *circle, const struct ilk__edge *edge) {
    for (uint32_t index = 0; index < circle->count; index++) {
        const bool passes_again = index > 0 && circle->edges[index]->from == edge->to;
        if (passes_again || ilk__edges_share_guards(circle->edges[index], edge)) {
            return false;
        }
    }
    return true;
}

/* Whether an edge of it was in no report yet. */
static bool is_news(const struct circle *circle) {
    for (uint32_t index = 0; index < circle->count; index++) {
        if (!circle->edges[index]->is_reported) {
            return true;
        }
    }
    return false;
}

static bool go_on(struct search *search, const struct queue *queue, struct circle *circle,
                  struct ilk__object *at, enum ilk__share asked);

/* With the edge in the circle. */
static bool go_over(struct search *search, const struct queue *queue, struct circle *circle,
                    const struct ilk__edge *edge, enum ilk__share asked) {
    for (uint32_t pairs = edge->pairs; pairs != 0; pairs &= pairs - 1) {
        const unsigned bit = (unsigned)__builtin_ctz(pairs);
        const enum ilk__share next_asked = (enum ilk__share)(bit % ILK__SHARES);
        if (!ilk__shares_exclude(edge->from, (enum ilk__share)(bit / ILK__SHARES), asked)) {
            continue;
        }
        if (edge->to == search->target
                ? ilk__shares_exclude(edge->to, search->held, next_asked) && is_news(circle)
                : go_on(search, queue, circle, edge->to, next_asked)) {
            return true;
        }
    }
    return false;
}

/* Step 3, depth first from `at`, for which the edge before asks `asked`. */
static bool go_on(struct search *search, const struct queue *queue, struct circle *circle,
                  struct ilk__object *at, enum ilk__share asked) {
    if (circle->count + distance_of(queue, at, asked) > circle->most) {
        return false;
    }
    struct ilk__edge *edge;
    LIST_FOREACH(edge, &at->leaving, leaving) {
        if (!may_follow(search)) {
            return false;
        }
        if (!fits(circle, edge)) {
            continue;
        }
        circle->edges[circle->count++] = edge;
        if (go_over(search, queue, circle, edge, asked)) {
            return true;
        }
        circle->count--;
    }
    return false;
}

/* Circles of up to `most` edges. */
static bool find_short(struct search *search, const struct queue *queue, struct circle *circle, unsigned most) {
    circle->count = 1;
    circle->most = most;
    search->followed = 0;
    return go_on(search, queue, circle, search->begin, search->asked);
}

static bool find_any(struct search *search, struct circle *circle) {
    if (!ilk__is_proven_lock(search->target) || !ilk__is_proven_lock(search->begin) || !leads_back(search)) {
        return false;
    }
    struct queue queue = new_queue(offsetof(struct ilk__object, backward));
    search->followed = 0;
    reach_holders(&queue, search->target, search->held, 0);
    if (!measure(search, &queue, false)) {
        return false;
    }
    const unsigned shortest = 1 + distance_of(&queue, search->begin, search->asked);
    if (find_short(search, &queue, circle, shortest)) {
        return true;
    }
    search->followed = 0;
    (void)measure(search, &queue, true);
    for (unsigned most = shortest + 1; most <= CIRCLE_MOST && !search->is_ended; most++) {
        if (find_short(search, &queue, circle, most)) {
            return true;
        }
    }
    return false;
}

/* For the report, which is made without the lock. */
static void describe(const struct circle *circle, const struct ilk__sighting *latest,
                     struct ilk__inversion *inversion) {
    inversion->count = circle->count;
    for (uint32_t index = 0; index < circle->count; index++) {
        struct ilk__edge *edge = circle->edges[index];
        struct ilk__sighting *sighting = &inversion->orders[index];
        *sighting = index == 0 ? *latest : edge->sighting; /* an older one may be kept of the new edge */
        sighting->from = ilk__object_address(edge->from);
        sighting->to = ilk__object_address(edge->to);
        sighting->from_kind = ilk__object_kind_of(edge->from);
        sighting->to_kind = ilk__object_kind_of(edge->to);
        edge->is_reported = true;
    }
}

enum outcome { SILENT, FOUND, ENDED };

static enum outcome search_circles(struct ilk__edge *edge, const struct ilk__order *order,
                                   struct ilk__inversion *inversion) {
    struct search search = {.edge = edge,
                            .target = order->from,
                            .begin = order->to,
                            .held = order->held,
                            .asked = order->asked};
    struct circle circle = {.edges = {edge}};
    if (find_any(&search, &circle)) {
        describe(&circle, order->sighting, inversion);
        return FOUND;
    }
    return search.is_ended ? ENDED : SILENT;
}

/* ---- A thread's orders ---- */

static struct ilk__known_order *known_place(struct ilk__record *record, uint64_t from, uint64_t to) {
    return &record->known_orders[(from * 31 + to) % ILK__KNOWN_ORDERS];
}

static void add_order(struct ilk__order *order, struct ilk__inversion *inversion) {
    struct ilk__edge *spare = NULL;
    enum outcome outcome = SILENT;
    bool is_full = false;
    for (;;) {
        sigset_t before;
        ilk__tables_lock(&before);
        bool is_to_be_searched = false;
        const bool is_current = ilk__order_is_current(order);
        struct ilk__edge *edge = is_current ? ilk__edge_add(order, &spare, &is_to_be_searched, &is_full) : NULL;
        if (is_to_be_searched && edge != NULL) {
            ilk_atomic_fence(memory_order_seq_cst); /* LO6 */
            outcome = search_circles(edge, order, inversion);
        }
        ilk__tables_unlock(&before);
        if (edge != NULL || !is_current) {
            break;
        }
        spare = calloc(1, sizeof *spare);
        if (spare == NULL) {
            break; /* the order is lost */
        }
    }
    free(spare);
    if (is_full) {
        ilk__edges_grow();
    }
    if (outcome == FOUND) {
        ilk__report_inversion(inversion);
    } else if (outcome == ENDED && ilk_atomic_fetch_add(&searches_ended, 1, memory_order_relaxed) == 0) { /* LO5 */
        ilk__report_ended_search(order->sighting->thread);
    }
}

static void gather_guards(const struct ilk__record *record, unsigned without, struct ilk__order *order) {
    order->guard_count = 0;
    for (unsigned index = 0; index < ilk__held_places(record) && order->guard_count < ILK__GUARDS_MOST;
         index++) {
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

void ilk__order_add(struct ilk__record *record, struct ilk__object *object, uint64_t id,
                    enum ilk__share share, const void *site) {
    struct ilk__sighting sighting;
    struct ilk__inversion inversion;
    bool is_seen = false;
    struct ilk__order order = {.to = object, .to_id = id, .asked = share, .sighting = &sighting};
    order.proofs = ilk_atomic_load(&proofs, memory_order_relaxed); /* LO7 */
    if (ilk__is_no_lock(object)) {
        return;
    }
    for (unsigned index = 0; index < ilk__held_places(record); index++) {
        const struct ilk__held_share *held = &record->held[index];
        order.from = ilk__held_object(held);
        order.from_id = ilk__record_get(&held->id);
        order.held = (enum ilk__share)ilk__record_get(&held->share);
        if (order.from == object || !ilk__is_held_still(held)) {
            continue;
        }
        const uint32_t pair = ilk__pair_bit(order.held, share);
        struct ilk__known_order *known = known_place(record, order.from_id, order.to_id);
        const bool is_same =
            known->from == order.from_id && known->to == order.to_id && known->proofs == order.proofs;
        if (is_same && (known->pairs & pair) != 0) {
            continue;
        }
        if (!ilk__edge_is_known(&order)) {
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
        *known = (struct ilk__known_order){order.from_id, order.to_id, is_same ? known->pairs | pair : pair,
                                           order.proofs};
    }
}
