/* SPDX-License-Identifier: Apache-2.0
 *
 * The order graph: an edge from A to B says that a thread that held A asked for B. A cycle of edges whose shares
 * exclude each other may deadlock.
 */
#ifndef INTERLOCK_DIAGNOSTICS_ORDER_H
#define INTERLOCK_DIAGNOSTICS_ORDER_H

#include "diagnostics/records.h"

/* The thread of `record` will ask for `share` of `object`, of that id, and wait as long as it takes; `site` is where it
 * asks. Reports an inversion that this order makes. */
void ilk__order_add(struct ilk__record *record, struct ilk__object *object, uint64_t id,
                    enum ilk__share share, const void *site);

/* What another thread than took it may give back, a semaphore's permit or a plain lock, may be a signal between
 * threads: whether the object is of this kind; whether it is known to be no lock; and to be one. */
bool ilk__is_anyones(const struct ilk__object *object);
bool ilk__is_no_lock(const struct ilk__object *object);
bool ilk__is_proven_lock(const struct ilk__object *object);

/* Whether the share is held still: the object may have ended, or the share been given back by another thread. */
bool ilk__is_held_still(const struct ilk__held_share *held);

/* The object got a trait for which its edges may be in a cycle. */
void ilk__order_proven(const struct ilk__object *object);

/* Searches for cycles that have ended at their limit. */
uint64_t ilk__order_searches_ended(void);

/* Whether a holder of `held` keeps a thread that asks for `asked` waiting; readers keep readers waiting where writers
 * come in between. */
bool ilk__shares_exclude(const struct ilk__object *object, enum ilk__share held, enum ilk__share asked);

#endif
