/* SPDX-License-Identifier: Apache-2.0
 *
 * The search for cycles that a new edge of the order graph closes.
 */
#ifndef INTERLOCK_DIAGNOSTICS_ORDER_SEARCH_H
#define INTERLOCK_DIAGNOSTICS_ORDER_SEARCH_H

#include "diagnostics/edges.h"

/* A search is not to hold threads up: its first step follows twice so many edges at most, the second so many twice, the
 * third so many for each length of cycle. The tests have less. */
extern uint32_t ilk__order_search_most;

enum ilk__search_outcome { ILK__SEARCH_SILENT, ILK__SEARCH_FOUND, ILK__SEARCH_ENDED /* at the limit */ };

/* With the tables locked: one of the shortest cycles of the edge, of which an edge was in no report yet and which no
 * guard keeps apart. It fills `inversion`, if it finds one, and marks the edges as reported. */
enum ilk__search_outcome ilk__order_search(struct ilk__edge *edge, const struct ilk__order *order,
                                           struct ilk__inversion *inversion);

#endif
