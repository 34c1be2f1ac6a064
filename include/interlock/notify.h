/* SPDX-License-Identifier: Apache-2.0
 *
 * The hook by which an event loop or an async runtime waits for a ring without a sleeping thread. A ring's
 * hook has two sides, elements and room. Arming a side stands for going to sleep; an armed side goes off
 * once:
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
 * The calls, in both rings
 *   set_notify         Installs the hook in place of an earlier one; NULL takes it away. One thread at a
 *                      time, and beside no arm call and no destroy. Disarms both sides, then waits for
 *                      another thread's call of the earlier hook: the caller must not hold a lock that the
 *                      hook takes.
 *   arm_pop, arm_push  True: armed. False: an element, or for arm_push room, is or was there, or the ring has
 *                      been closed: probe again. Arming again changes nothing. Do not block; make system
 *                      calls. Misuse: no hook is installed.
 *
 * Guarantees
 *   A  Arm answers true: the first element (or room, or close) from then on calls the hook at least once. Arm
 *      itself has found what came before.
 *   B  Arm answers false: no call of the hook follows from it. What an earlier call has armed stays armed.
 *   C  The hook runs on the thread that pushed, popped, closed, or gave a reservation of a closed ring up, after
 *      its operation is complete and outside every lock; never on a thread inside an arm call.
 *   D  When set_notify returns, no earlier call of the hook is under way, but one that the calling thread
 *      itself is in, and none will come. What its context points to may be freed.
 *
 * A call is a hint: another consumer may have been faster. It may come just as arm answers true, so a client
 * resets its flag before it arms.
 *
 * The hook must not block for long. It may change the hook, and use the ring: an ilk_mpmc by any call; an ilk_spsc by
 * the calls of the part that its thread has. For elements it runs on the producer's thread, or the closer's. A pop
 * there is a race with the consumer's calls, but where the hook has the consumer's part: from its arm on the thread
 * that armed makes no consumer's call, and the hook makes them all. Likewise pushes in a hook for room.
 *
 * An unarmed hook costs pushes and pops nothing beside the load of the flag for sleepers; after an arm or a sleep
 * each pays a fence: where membarrier(2) works, for at most 1,024 elements. docs/rings.md draws the protocol.
 */
#ifndef INTERLOCK_NOTIFY_H
#define INTERLOCK_NOTIFY_H

#include <interlock/inline/attributes.h>

ILK_BEGIN_DECLARATIONS

/* What has come: elements to pop, or room to push. */
typedef enum { ILK_READABLE = 1, ILK_WRITABLE = 2 } ilk_ring_event;

typedef void (*ilk_notify)(void *context, ilk_ring_event event);

ILK_END_DECLARATIONS

#endif
