/* SPDX-License-Identifier: Apache-2.0
 *
 * The watchers of an address: members of wait sets in the queue of a ring's side or a latch (wait/address_queue.h).
 * Each is notified of every change that finds the mark of the watched thing up; that mark the notifier takes down,
 * and a watcher raises it again before it probes.
 *
 * Must not happen: a watcher has left, and a notifier touches it. Both hold the bucket's lock. A notifier wakes after
 * it has given that lock up: waking calls the system and, for the facade, foreign code.
 */
#ifndef INTERLOCK_WAIT_WATCHERS_H
#define INTERLOCK_WAIT_WATCHERS_H

#include "wait/inbox.h"

void ilk__watchers_join(const void *address, struct ilk__watcher *watcher);
/* No notifier of the address touches the watcher any more. */
void ilk__watchers_leave(const void *address, struct ilk__watcher *watcher);

/* Marks each watcher of the address, and wakes their inboxes. Only the address is used. Not in signal handlers: it
 * waits for the bucket's lock. */
void ilk__watchers_notify(const void *address) ILK_NONBLOCKING;

#endif
