/* SPDX-License-Identifier: Apache-2.0
 *
 * The waiter queue of one ilk_rwlock: plain lists under the queue lock, no atomics. ilk__rwlock_plan alone
 * decides which waiters a state lets in.
 *
 * The lock has room for one pointer: the queue lives in its first waiter and migrates when that leaves, by
 * relinking lists' ends in O(1).
 */
#ifndef INTERLOCK_RWLOCK_QUEUE_H
#define INTERLOCK_RWLOCK_QUEUE_H

#include "wait/waiter.h"
#include <interlock/rwlock.h>

TAILQ_HEAD(ilk__rwlock_list, ilk__waiter);

/* READ waits in `readers`; WRITE and UPGRADABLE in `exclusives`, in one order; UPGRADE in `upgrade`: at most
 * one, as one thread is upgradable. */
struct ilk__rwlock_queue {
    struct ilk__rwlock_list readers;
    struct ilk__rwlock_list exclusives;
    struct ilk__waiter *upgrade;
    uint32_t reader_count; /* of readers */
    uint32_t writer_count; /* WRITE in exclusives */
};

struct ilk__rwlock_waiter {
    struct ilk__waiter waiter; /* first: a pointer to one is a pointer to the other */
    struct ilk__rwlock_queue queue;
};

void ilk__rwlock_enqueue(ilk_rwlock *lock, struct ilk__rwlock_waiter *waiter);

/* For a waiter whose time is up. */
void ilk__rwlock_dequeue(ilk_rwlock *lock, struct ilk__waiter *waiter);

/* What a lock in state `word` lets in now. Changes nothing. */
struct ilk__rwlock_plan {
    uint32_t next; /* the word with them inside, without queue bits */
    bool upgrade;
    bool all_readers; /* every queued one */
    bool first_exclusive;
};
/* `readers_first`: a write has just ended, so waiting readers precede the next writer. */
struct ilk__rwlock_plan ilk__rwlock_plan(const ilk_rwlock *lock, uint32_t word, bool readers_first);

/* Moves the planned waiters to `admitted`, to be granted once the queue is released. */
void ilk__rwlock_take_out(ilk_rwlock *lock, const struct ilk__rwlock_plan *plan,
                          struct ilk__rwlock_list *admitted);

#endif
