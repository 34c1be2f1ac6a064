/* SPDX-License-Identifier: Apache-2.0
 *
 * How a wait set watches a side of a ring: for elements (ILK_READABLE) or for room. Any thread; several sets, the
 * hook and the ring's own waiters beside each other.
 *
 *     set                                       other side
 *       joins the watchers (begin)                publishes (release)
 *       takes its watcher's mark down             light fence; flags clear? done
 *       raises WATCHED (watch)                    fence
 *       fence, as a sleeper                       WATCHED up? takes it down, calls an armed hook,
 *       probes (is_ready)                           notifies every watcher of the side
 *
 * Must not happen: the set misses what was published, and the other side misses WATCHED. Forbidden as for a sleeper.
 * Nor: WATCHED goes down, and a watcher of the side that raised it is not notified. It has joined before.
 */
#ifndef INTERLOCK_RING_WATCH_H
#define INTERLOCK_RING_WATCH_H

#include "wait/inbox.h"
#include <interlock/mpmc.h>
#include <interlock/spsc.h>

void ilk__spsc_watch_begin(ilk_spsc *ring, ilk_ring_event event, struct ilk__watcher *watcher);
void ilk__spsc_watch_end(ilk_spsc *ring, ilk_ring_event event, struct ilk__watcher *watcher);
/* From here on a publication that is_ready misses notifies the watchers. */
void ilk__spsc_watch(ilk_spsc *ring, ilk_ring_event event);
/* Something is there, or has been closed. A hint: the counters are read one after the other. */
bool ilk__spsc_is_ready(const ilk_spsc *ring, ilk_ring_event event);

void ilk__mpmc_watch_begin(ilk_mpmc *ring, ilk_ring_event event, struct ilk__watcher *watcher);
void ilk__mpmc_watch_end(ilk_mpmc *ring, ilk_ring_event event, struct ilk__watcher *watcher);
void ilk__mpmc_watch(ilk_mpmc *ring, ilk_ring_event event);
bool ilk__mpmc_is_ready(ilk_mpmc *ring, ilk_ring_event event);

#endif
