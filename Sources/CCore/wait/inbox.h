/* SPDX-License-Identifier: Apache-2.0
 *
 * An inbox has the watchers of a wait set that something may have happened to, for its owner, the one thread that
 * waits on the set. A watcher stands in the queue of an address (wait/watchers.h) or of a semaphore. A thread that
 * notifies it there marks it, puts it into its inbox, and wakes the owner. A mark is a hint: the owner probes.
 *
 *   watcher->marked   0   it will be put into the inbox by the next that notifies it
 *                     1   it is in the inbox, or the owner of the inbox has it in hand
 *   state             PENDING      the inbox, or the owner's hand, may hold watchers. Up: by a notifier; down: by
 *                                  the owner, when both are empty
 *                     WOKEN        a thread has called wake. Up with PENDING; down: by the owner, as it answers
 *                     SLEEPS       the owner parks, or is about to
 *                     DESCRIPTOR   there is one, which is readable while PENDING is up
 *                     NOTIFIES     `notify` is called where PENDING goes up
 *
 *     notifier                                  owner
 *       marked = 1; was it 0? else done           takes the inbox; for each watcher in hand:
 *       counts its call                             probes, and keeps it if it is ready; else
 *       pushes the watcher                          marked = 0, arms what it watches, probes again
 *       raises PENDING; was it up? done           none ready: lowers the descriptor, PENDING
 *       SLEEPS up: wakes; DESCRIPTOR: raises it   inbox not empty, or WOKEN? raises PENDING, goes round
 *       its call ends: the last touch             raises SLEEPS; PENDING up? goes round; else parks
 *
 * Must not happen:
 *   - A watcher is in the inbox, PENDING is down, and the owner sleeps. A notifier pushes before it raises PENDING;
 *     the owner lowers PENDING before it looks into the inbox. Both change one word by read-modify-writes.
 *   - The owner parks though PENDING is up. It parks on the word as it was when it raised SLEEPS; a notifier changes
 *     it.
 *   - What is watched becomes ready, and its notifier finds the watcher marked, while the owner has probed it before
 *     and sleeps. The mark goes down before the arm, the arm before the probe.
 *   - PENDING is up, and the descriptor is not readable, nor will be. It is lowered before PENDING, and the thread
 *     that raises PENDING raises it. (It may be raised with PENDING down: a wait that finds nothing lowers it.)
 *   - The inbox is freed under a notifier. Its watchers leave their queues first, under the lock of each queue, which
 *     a notifier holds while it marks; then the owner waits until the calls counted have ended (wait/calls.h).
 */
#ifndef INTERLOCK_WAIT_INBOX_H
#define INTERLOCK_WAIT_INBOX_H

#include "wait/address_queue.h"
#include "wait/calls.h"

#define ILK__INBOX_PENDING UINT32_C(0x01)
#define ILK__INBOX_WOKEN UINT32_C(0x02)
#define ILK__INBOX_SLEEPS UINT32_C(0x04)
#define ILK__INBOX_DESCRIPTOR UINT32_C(0x08)
#define ILK__INBOX_NOTIFIES UINT32_C(0x10)

struct ilk__watcher {
    struct ilk__address_waiter entry; /* first: a pointer to one is a pointer to the other */
    struct ilk__inbox *inbox;
    struct ilk__watcher *next; /* in the inbox; then the owner's */
    uint64_t notified;         /* the notification that has met it last; see wait/watchers.c */
    ILK_ATOMIC(uint32_t) marked;
};

/* All zero bits are an empty one. */
struct ilk__inbox {
    ILK_ATOMIC(uint32_t) state; /* the word slept on */
    ILK_ATOMIC(uint32_t) calls; /* of notifiers and wakers; see wait/calls.h */
    ILK_ATOMIC(struct ilk__watcher *) latest;
    int descriptor;                /* written once, before DESCRIPTOR is up */
    void (*notify)(void *context); /* written before NOTIFIES is up */
    void *context;
};

/* A wake-up that a notifier owes, once it holds no lock. */
struct ilk__inbox_wake {
    struct ilk__inbox *inbox;
    uint32_t state;
};

/* Any thread, also in a signal handler. True: ilk__inbox_wake must follow, and keeps the inbox alive until then. */
bool ilk__watcher_mark(struct ilk__watcher *watcher, struct ilk__inbox_wake *wake) ILK_NONBLOCKING;
void ilk__inbox_wake(const struct ilk__inbox_wake *wake) ILK_NONBLOCKING;

/* Ends the sleep of the owner, or its next one. Any thread, also in a signal handler. */
void ilk__inbox_wake_owner(struct ilk__inbox *inbox) ILK_NONBLOCKING;

/* ---- The owner's, one thread at a time ---- */

/* The watchers that have come, oldest first, linked by `next`; or NULL. */
struct ilk__watcher *ilk__inbox_take(struct ilk__inbox *inbox);

/* The owner takes the mark down before it arms. */
void ilk__watcher_unmark(struct ilk__watcher *watcher);
/* After the arm: true if the owner has the watcher in hand again; false: a notifier has put it into the inbox. */
bool ilk__watcher_retake(struct ilk__watcher *watcher);

/* Nothing in hand: lowers PENDING. False: something has come meanwhile, and PENDING is up. */
bool ilk__inbox_rest(struct ilk__inbox *inbox);

/* A call of ilk__inbox_wake_owner has come. A hint. */
bool ilk__inbox_is_woken(const struct ilk__inbox *inbox);

/* True, once for any number of calls of ilk__inbox_wake_owner: one has come. */
bool ilk__inbox_take_wake(struct ilk__inbox *inbox);

/* Parks unless PENDING is up; may return spuriously. */
ilk_status ilk__inbox_sleep(struct ilk__inbox *inbox, uint64_t deadline_ns);

/* Raises DESCRIPTOR or NOTIFIES, and does what a notifier does that finds it up, if PENDING is up. */
void ilk__inbox_extend(struct ilk__inbox *inbox, uint32_t flag);

#endif
