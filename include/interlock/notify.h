/* SPDX-License-Identifier: Apache-2.0
 *
 * The hook by which something other than a thread sleeps on a ring: an event loop, or the tasks of an
 * async runtime. A ring has one hook; it is armed for one side at a time, as a thread arms itself by
 * going to sleep, and goes off once:
 *
 *     #include <interlock/mpmc.h>
 *     #include <interlock/notify.h>
 *     #include <stdio.h>
 *
 *     static void wake_loop(void *is_readable, ilk_ring_event event) { // the hook
 *         *(bool *)is_readable = event == ILK_READABLE;
 *     }
 *     int main(void) {
 *         ilk_mpmc *ring;
 *         int element = 42;
 *         bool is_readable = false;
 *         if (ilk_mpmc_create(&ring, 8, sizeof element) != ILK_OK) return 1;
 *         ilk_mpmc_set_notify(ring, wake_loop, &is_readable);
 *         do {
 *             while (ilk_mpmc_try_pop(ring, &element, sizeof element)) {}
 *         } while (!ilk_mpmc_arm_pop(ring)); // true: the hook will call; false: something came, probe again
 *         if (!ilk_mpmc_try_push(ring, &element, sizeof element)) return 1; // calls the hook
 *         if (is_readable && ilk_mpmc_try_pop(ring, &element, sizeof element)) {
 *             printf("%d\n", element); // prints 42
 *         }
 *         ilk_mpmc_destroy(ring);
 *     }
 *
 * Guarantees
 *   A  Arm answers true: the arm is up, and the first element (or room, or close) that comes from then on
 *      sets it off. The hook is called at least once for it; what came before the arm went up arm has found
 *      itself.
 *   B  Arm answers false: this call has armed nothing, and no call of the hook follows from it. What an
 *      earlier call has armed stays armed.
 *   C  The hook runs on the thread that pushed, popped, closed, or gave a reservation up, after its own
 *      operation is complete and outside every lock; never on a thread that is inside an arm call.
 *   D  When set_notify returns, no call of the hook before it is under way, but one that the calling thread
 *      itself is in, and none will come. What its context points to may be freed.
 *
 * A call is a hint to probe again, not a promise: another consumer may have been faster. It may come in the
 * moment in which arm answers true, so a client that resets a flag of its own does that before it arms.
 *
 * The hook must not block for long, and may use the ring, arm it and change the hook. With nothing armed its
 * cost is nothing: pushes and pops read only the flag that they read for sleeping threads.
 *
 * docs/rings.md draws the protocol.
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
