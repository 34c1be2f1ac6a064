/* SPDX-License-Identifier: Apache-2.0
 *
 * The hook by which something other than a thread sleeps on a ring: an event loop, or the tasks of an
 * async runtime. A ring has one hook; it is armed for one side at a time, as a thread arms itself by
 * going to sleep, and goes off once:
 *
 *     for (;;) {
 *         while (ilk_mpmc_try_pop(ring, &element, sizeof element)) use(&element);
 *         if (ilk_mpmc_arm_pop(ring)) break;      // the hook will call; until then do something else
 *     }                                           // false: something is there already, look again
 *
 * Guarantee: after an arm that answered true, the hook is called at least once when an element (or room)
 * comes that was not there, or the ring closes; no change between the last look and arming is missed.
 * A call is a hint to look again, not a promise: another consumer may have been faster.
 *
 * The hook runs on the thread that pushed, popped or closed, after its own operation is complete and
 * outside every lock. It must not block for long, and may use the ring. With nothing armed its cost is
 * nothing: pushes and pops look only at the flag they look at for sleeping threads.
 */
#ifndef INTERLOCK_NOTIFY_H
#define INTERLOCK_NOTIFY_H

#include <interlock/inline/attributes.h>

ILK_BEGIN_DECLARATIONS

/* What has come: elements for those who pop, or room for those who push. */
typedef enum { ILK_READABLE = 1, ILK_WRITABLE = 2 } ilk_ring_event;

typedef void (*ilk_notify)(void *context, ilk_ring_event event);

ILK_END_DECLARATIONS

#endif
