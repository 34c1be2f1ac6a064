/* SPDX-License-Identifier: Apache-2.0
 *
 * See order_search.h.
 *
 * A search has three steps, each of which ends it where there is no cycle:
 *   1. Whether the new edge's end leads back to its beginning at all: from both at once, each object once. In a program
 *      whose locks have an order this is all, and as long as what the smaller of the two sides follows.
 *   2. How far each object is from the beginning, with shares that exclude each other: backward, each object once for a
 *      share and a distance.
 *   3. A cycle that no guard keeps apart, shortest first: depth first, along objects that are near enough.
 * Only the third may be long where there is nothing to find. Each follows so many edges at most
 * (ilk__order_search_most); that one has ended there is said.
 */
#include "diagnostics/order_search.h"

#include "diagnostics/order.h"
#include <stddef.h>
#include <string.h>

enum { CYCLE_ORDERS_MOST = ILK__CYCLE_ORDERS_MOST };

/* Some milliseconds, where the graph lies in no cache. */
uint32_t ilk__order_search_most = 100000;

/* ---- Whether there may be a cycle ---- */

struct search {
    const struct ilk__edge *edge; /* the new one */
    struct ilk__object *target;   /* where it begins */
    struct ilk__object *begin;    /* and where it ends */
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

/* A search from one of the two ends. */
struct side {
    struct queue queue;
    struct ilk__edge *edge; /* the next one to follow */
    bool is_forward;
};

/* Follows one edge: false: there is none left. */
static bool follow_one(struct side *side, struct ilk__object **found) {
    while (side->edge == NULL) {
        struct ilk__object *from = pop(&side->queue);
        if (from == NULL) {
            return false;
        }
        side->edge = side->is_forward ? LIST_FIRST(&from->leaving) : LIST_FIRST(&from->entering);
    }
    struct ilk__edge *edge = side->edge;
    side->edge = side->is_forward ? LIST_NEXT(edge, leaving) : LIST_NEXT(edge, entering);
    *found = side->is_forward ? edge->to : edge->from;
    if (visit(&side->queue, *found)) {
        push(&side->queue, *found);
    }
    return true;
}

static struct side side_of(struct ilk__object *object, bool is_forward) {
    struct side side = {.is_forward = is_forward};
    side.queue = new_queue(is_forward ? offsetof(struct ilk__object, forward)
                                      : offsetof(struct ilk__object, backward));
    (void)visit(&side.queue, object);
    push(&side.queue, object);
    return side;
}

/* Step 1. Neither side follows the new edge: they have met before. */
static bool leads_back(struct search *search) {
    struct side forward = side_of(search->begin, true);
    struct side backward = side_of(search->target, false);
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

enum { FAR = CYCLE_ORDERS_MOST }; /* no cycle has so many edges beside the new one */

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
    const unsigned distance = distance_of(queue, edge->to, edge->asked);
    if (distance + 1 < FAR) {
        reach_holders(queue, edge->from, edge->held, distance + 1);
    }
}

/* Step 2, until the new edge's end is reached (then nearer objects are known too, for the most part), or nothing is
 * left. Called again, it goes on. False: it is not reached. */
static bool measure(struct search *search, struct queue *queue, bool is_to_the_end) {
    struct ilk__object *object;
    while ((is_to_the_end || distance_of(queue, search->begin, search->edge->asked) == FAR) &&
           !search->is_ended && (object = pop(queue)) != NULL) {
        struct ilk__edge *edge;
        LIST_FOREACH(edge, &object->entering, entering) {
            if (may_follow(search) && edge->from != search->target && ilk__is_proven_lock(edge->from) &&
                !ilk__edges_share_guards(search->edge, edge)) {
                reach_over(queue, edge);
            }
        }
    }
    return distance_of(queue, search->begin, search->edge->asked) < FAR;
}

/* ---- Cycles ---- */

struct cycle {
    struct ilk__edge *edges[CYCLE_ORDERS_MOST]; /* the first is the new one */
    uint32_t count, most;
};

static bool fits(const struct cycle *cycle, const struct ilk__edge *edge) {
    for (uint32_t index = 0; index < cycle->count; index++) {
        const bool passes_again = index > 0 && cycle->edges[index]->from == edge->to;
        if (passes_again || ilk__edges_share_guards(cycle->edges[index], edge)) {
            return false;
        }
    }
    return true;
}

/* Whether an edge of it was in no report yet. */
static bool is_news(const struct cycle *cycle) {
    for (uint32_t index = 0; index < cycle->count; index++) {
        if (!cycle->edges[index]->is_reported) {
            return true;
        }
    }
    return false;
}

/* Step 3, depth first from `at`, for which the edge before asks `asked`. */
static bool go_on(struct search *search, const struct queue *queue, struct cycle *cycle,
                  struct ilk__object *at, enum ilk__share asked) {
    if (cycle->count + distance_of(queue, at, asked) > cycle->most) {
        return false;
    }
    struct ilk__edge *edge;
    LIST_FOREACH(edge, &at->leaving, leaving) {
        if (!may_follow(search)) {
            return false;
        }
        if (!ilk__shares_exclude(at, edge->held, asked) || !fits(cycle, edge)) {
            continue;
        }
        cycle->edges[cycle->count++] = edge;
        if (edge->to == search->target
                ? ilk__shares_exclude(edge->to, search->edge->held, edge->asked) && is_news(cycle)
                : go_on(search, queue, cycle, edge->to, edge->asked)) {
            return true;
        }
        cycle->count--;
    }
    return false;
}

/* Cycles of up to `most` edges. */
static bool find_short(struct search *search, const struct queue *queue, struct cycle *cycle, unsigned most) {
    cycle->count = 1;
    cycle->most = most;
    search->followed = 0;
    return go_on(search, queue, cycle, search->begin, search->edge->asked);
}

static bool find_any(struct search *search, struct cycle *cycle) {
    if (!ilk__is_proven_lock(search->target) || !ilk__is_proven_lock(search->begin) || !leads_back(search)) {
        return false;
    }
    struct queue queue = new_queue(offsetof(struct ilk__object, backward));
    search->followed = 0;
    reach_holders(&queue, search->target, search->edge->held, 0);
    if (!measure(search, &queue, false)) {
        return false;
    }
    const unsigned shortest = 1 + distance_of(&queue, search->begin, search->edge->asked);
    if (find_short(search, &queue, cycle, shortest)) {
        return true;
    }
    search->followed = 0;
    (void)measure(search, &queue, true);
    /* The longest again, for which not all distances were known: a lock may be reached later for one share than for
     * another, and pass both on at once. */
    const unsigned next = shortest < CYCLE_ORDERS_MOST ? shortest + 1 : CYCLE_ORDERS_MOST;
    for (unsigned most = next; most <= CYCLE_ORDERS_MOST && !search->is_ended; most++) {
        if (find_short(search, &queue, cycle, most)) {
            return true;
        }
    }
    return false;
}

/* For the report, which is made without the lock. */
static void describe_cycle(const struct cycle *cycle, const struct ilk__sighting *latest,
                           struct ilk__inversion *inversion) {
    inversion->count = cycle->count;
    for (uint32_t index = 0; index < cycle->count; index++) {
        struct ilk__edge *edge = cycle->edges[index];
        struct ilk__sighting *sighting = &inversion->orders[index];
        *sighting = index == 0 ? *latest : edge->sighting; /* an older one may be kept of the new edge */
        sighting->from = ilk__object_address(edge->from);
        sighting->to = ilk__object_address(edge->to);
        sighting->from_kind = ilk__object_kind_of(edge->from);
        sighting->to_kind = ilk__object_kind_of(edge->to);
        ilk__edge_set_reported(edge);
    }
}

enum ilk__search_outcome ilk__order_search(struct ilk__edge *edge, const struct ilk__order *order,
                                           struct ilk__inversion *inversion) {
    struct search search = {.edge = edge, .target = edge->from, .begin = edge->to};
    struct cycle cycle = {.edges = {edge}};
    if (find_any(&search, &cycle)) {
        describe_cycle(&cycle, order->sighting, inversion);
        return ILK__SEARCH_FOUND;
    }
    return search.is_ended ? ILK__SEARCH_ENDED : ILK__SEARCH_SILENT;
}
