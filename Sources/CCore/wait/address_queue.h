/* SPDX-License-Identifier: Apache-2.0
 *
 * First-come-first-served queues of waiters beside primitives whose own words have no room for one: found by address,
 * in a table of buckets. A primitive marks in a word of its own that it has a queue, so that it costs nothing where
 * none waits. The queue of an address lives in its first waiter and migrates when that leaves.
 *
 *   bucket of the address          queues of that bucket            waiters of one address
 *     lock (wait/queue_lock.h) ──► queue(address 1) ─ queue(2)        first ─ second ─ ...
 *
 * Queues and waiters change under the bucket's lock only. A thread that has excluded every other that would join or
 * leave the queue of an address (it holds a lock for writing) may walk its waiters without the bucket's lock.
 * Must not happen, of waiters for a condition: the mark is down and the queue is not empty. That mark changes under the
 * bucket's lock. (Watchers stay while theirs is down: wait/watchers.h.)
 *
 * Fork. The waiters of other threads do not exist in the child: every bucket begins anew. Marks may stay up there: a
 * thread that finds one without a queue takes it down.
 *
 * Source: WebKit's ParkingLot (Pizlo, 2015), with a table that does not grow.
 */
#ifndef INTERLOCK_WAIT_ADDRESS_QUEUE_H
#define INTERLOCK_WAIT_ADDRESS_QUEUE_H

#include "platform/bsd.h"
#include "wait/waiter.h"

TAILQ_HEAD(ilk__address_waiters, ilk__waiter);

struct ilk__address_queue {
    LIST_ENTRY(ilk__address_queue) link; /* in the bucket */
    const void *address;
    struct ilk__address_waiters waiters;
    /* The owner's: see wait/conditions.c. */
    const void *marks;
    uint32_t woken, woken_signalled;
};

struct ilk__address_waiter {
    struct ilk__waiter waiter; /* first: a pointer to one is a pointer to the other */
    struct ilk__address_queue queue;
};

struct ilk__address_bucket;

/* Spins briefly, then sleeps. */
struct ilk__address_bucket *ilk__address_lock(const void *address);
void ilk__address_unlock(struct ilk__address_bucket *bucket);

/* With the bucket locked. */
/* NULL: no thread waits. */
struct ilk__address_queue *ilk__address_find(struct ilk__address_bucket *bucket, const void *address);
/* The queue that it stands in then. */
struct ilk__address_queue *ilk__address_enqueue(struct ilk__address_bucket *bucket, const void *address,
                                                struct ilk__address_waiter *waiter);
/* A number greater than all that were given for this bucket before. */
uint64_t ilk__address_next_number(struct ilk__address_bucket *bucket);
/* True: the queue is empty, and gone. In a child of fork, where the waiter's queue is no more: likewise. */
bool ilk__address_dequeue(struct ilk__address_bucket *bucket, const void *address,
                          struct ilk__address_waiter *waiter);

#endif
