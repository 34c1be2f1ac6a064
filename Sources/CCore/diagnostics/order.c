/* SPDX-License-Identifier: Apache-2.0
 *
 * See order.h. A new edge is searched for cycles (order_search.c) under the mutex of the tables: of two threads that
 * close a cycle together, the second sees the first's edge.
 *
 * Proofs. Whether a cycle may deadlock also depends on what its objects have proven to be: readers exclude readers
 * only at a lock that was written, and what is anyone's is a lock only once it was given back. An object that proves
 * it after edges have left it makes all edges searched again, each at its next sighting: `proofs` counts such objects.
 * What an object has proven and that edges have left it are bits of one word (`traits`): so a search that does not see
 * a proof set its bit first, and the object that proves finds it.
 *
 * Source: the order graph as in Linux' lockdep.
 */
#include "diagnostics/order.h"

#include "diagnostics/edges.h"
#include "diagnostics/order_search.h"
#include "diagnostics/report.h"
#include "diagnostics/stack.h"
#include "diagnostics/tables.h"
#include "diagnostics/thread_list.h"
#include "platform/reaches.h"
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

static ILK_ATOMIC(uint64_t) searches_ended;

uint64_t ilk__order_searches_ended(void) {
    /* LO5 relaxed: a count for reports. */
    return ilk_atomic_load(&searches_ended, memory_order_relaxed);
}

/* ---- What objects have proven ---- */

static ILK_ATOMIC(uint32_t) proofs;

void ilk__order_proven(const struct ilk__object *object) {
    if (ilk__object_has_traits(object, ILK__HAS_ORDERS)) {
        /* LO6 release, pairs with LO7 (an order is asked for): a search for this proof sees it. */
        ilk_atomic_fetch_add(&proofs, 1, memory_order_release);
    }
}

bool ilk__shares_exclude(const struct ilk__object *object, enum ilk__share held, enum ilk__share asked) {
    if (asked == ILK__SHARE_UPGRADE) {
        return held == ILK__SHARE_READ;
    }
    if (held == ILK__SHARE_WRITE || asked == ILK__SHARE_WRITE) {
        return true;
    }
    /* A writer waits in between; or, for what a reader holds, an upgrade. While one thread holds the lock upgradable,
     * no other upgrades it. */
    if (held == ILK__SHARE_READ) {
        return ilk__object_has_traits(object, ILK__IS_WRITTEN) ||
               ilk__object_has_traits(object, ILK__IS_UPGRADED);
    }
    return asked != ILK__SHARE_READ || ilk__object_has_traits(object, ILK__IS_WRITTEN);
}

bool ilk__is_anyones(const struct ilk__object *object) {
    return ilk__object_kind_of(object) == ILK_OBJECT_SEMAPHORE ||
           ilk__object_has_traits(object, ILK__IS_ANYONES);
}

bool ilk__is_no_lock(const struct ilk__object *object) {
    return ilk__object_has_traits(object, ILK__IS_SIGNALLED);
}

bool ilk__is_proven_lock(const struct ilk__object *object) {
    return !ilk__is_anyones(object) ||
           (ilk__object_has_traits(object, ILK__IS_BALANCED) && !ilk__is_no_lock(object));
}

bool ilk__is_held_still(const struct ilk__held_share *held) {
    const struct ilk__object *object = ilk__held_object(held);
    return ilk__object_id(object) == ilk__record_get(&held->id) && !ilk__is_no_lock(object);
}

/* ---- A thread's orders ---- */

static struct ilk__known_order *known_place(struct ilk__record *record, const struct ilk__order *order) {
    return &record->known_orders[(order->from_id * 31 + order->to_id * 7 +
                                  ilk__pair(order->held, order->asked)) %
                                 ILK__KNOWN_ORDERS];
}

static bool is_order_of(const struct ilk__known_order *known, const struct ilk__order *order) {
    return known->from == order->from_id && known->to == order->to_id &&
           known->pair == ilk__pair(order->held, order->asked) && known->proofs == order->proofs;
}

/* False: it is not in the graph, for want of memory or because an object has ended. */
static bool add_order(struct ilk__order *order, struct ilk__inversion *inversion) {
    struct ilk__edge *spare = NULL;
    bool is_added = false;
    enum ilk__search_outcome outcome = ILK__SEARCH_SILENT;
    bool is_full = false;
    for (;;) {
        sigset_t before;
        ilk__tables_lock(&before);
        bool is_to_be_searched = false;
        const bool is_current = ilk__order_is_current(order);
        ILK__REACHES(ORDER_OF_ENDED, !is_current);
        struct ilk__edge *edge =
            is_current ? ilk__edge_add(order, &spare, &is_to_be_searched, &is_full) : NULL;
        if (is_to_be_searched && edge != NULL) {
            outcome = ilk__order_search(edge, order, inversion);
        }
        ilk__tables_unlock(&before);
        is_added = edge != NULL;
        if (is_added || !is_current) {
            break;
        }
        spare = calloc(1, sizeof *spare);
        if (spare == NULL) {
            break;
        }
    }
    free(spare);
    if (is_full) {
        ilk__edges_grow();
    }
    if (outcome == ILK__SEARCH_FOUND) {
        ilk__report_inversion(inversion);
    }
    if (outcome == ILK__SEARCH_ENDED &&
        ilk_atomic_fetch_add(&searches_ended, 1, memory_order_relaxed) == 0) { /* LO5 */
        ilk__report_ended_search(order->sighting->thread);
    }
    return is_added;
}

static void gather_guards(const struct ilk__record *record, unsigned without, struct ilk__order *order) {
    order->guard_count = 0;
    for (unsigned index = 0; index < ilk__held_places(record) && order->guard_count < ILK__GUARDS_MOST;
         index++) {
        const struct ilk__held_share *held = &record->held[index];
        const struct ilk__object *object = ilk__held_object(held);
        const uint64_t id = ilk__record_get(&held->id);
        if (index != without && object != order->to && ilk__is_held_still(held) &&
            ilk__record_get(&held->share) != ILK__SHARE_READ &&
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
    /* LO7 acquire, pairs with LO6 (an object proves something).
     * Carries: what was proven.
     * If weaker: the order counts as searched for a proof that the search has not seen. */
    order.proofs = ilk_atomic_load(&proofs, memory_order_acquire);
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
        struct ilk__known_order *known = known_place(record, &order);
        if (is_order_of(known, &order)) {
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
            if (!add_order(&order, &inversion) || order.guard_count > 0) {
                continue;
            }
        }
        *known = (struct ilk__known_order){order.from_id, order.to_id, ilk__pair(order.held, order.asked),
                                           order.proofs};
    }
}
