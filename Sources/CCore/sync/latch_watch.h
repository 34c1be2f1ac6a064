/* SPDX-License-Identifier: Apache-2.0
 *
 * How a wait set watches a latch. While some set watches some latch, the thread that opens one with a sleeper's mark
 * notifies the watchers of its address.
 *
 *     set                                       opener
 *       counts itself (begin)                     subtracts; arrives at 0, and the mark was up:
 *       joins the watchers                          wakes sleepers by address
 *       raises the mark; open? ready                watched latches counted? notifies watchers by address
 *
 * Must not happen: the set finds the latch shut, and the opener no mark or no count. Mark and latch are one word; the
 * count comes before the mark.
 */
#ifndef INTERLOCK_SYNC_LATCH_WATCH_H
#define INTERLOCK_SYNC_LATCH_WATCH_H

#include "wait/inbox.h"
#include <interlock/latch.h>

void ilk__latch_watch_begin(ilk_latch *latch, struct ilk__watcher *watcher);
void ilk__latch_watch_end(ilk_latch *latch, struct ilk__watcher *watcher);
/* From here on the opener notifies, if ilk_latch_try_wait finds the latch shut. */
void ilk__latch_watch(ilk_latch *latch);

#endif
