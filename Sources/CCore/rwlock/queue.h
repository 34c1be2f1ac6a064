/* SPDX-License-Identifier: Apache-2.0
 *
 * The waiter queue of one ilk_rwlock: plain lists, no atomics, all under the queue lock. ilk__rwlock_plan
 * alone decides which waiters a state of the lock lets in.
 *
 * The lock has room for one pointer, so the queue lives in its first waiter and migrates when that one
 * leaves: lists move by relinking their ends, in O(1).
 */
#ifndef INTERLOCK_RWLOCK_QUEUE_H
#define INTERLOCK_RWLOCK_QUEUE_H

#include "wait/waiter.h"
#include <interlock/rwlock.h>

TAILQ_HEAD(ilk__rwlock_list, ilk__waiter);

/* READ waits in `readers`; WRITE and UPGRADABLE in `exclusives`, in one order; UPGRADE in `upgrade`, at most
 * one because one thread is upgradable. */
struct ilk__rwlock_queue {
    struct ilk__rwlock_list readers;
    struct ilk__rwlock_list exclusives;
    struct ilk__waiter *upgrade;
    uint32_t reader_count; /* length of readers */
    uint32_t writer_count; /* WRITE waiters in exclusives */
};

/* A waiter with room for the queue, should the queue live in it. */
struct ilk__rwlock_waiter {
    struct ilk__waiter waiter; /* first, so that a pointer to one is a pointer to the other */
    struct ilk__rwlock_queue queue;
};

/* Puts `waiter` in the queue. */
void ilk__rwlock_enqueue(ilk_rwlock *lock, struct ilk__rwlock_waiter *waiter);

/* Takes out a waiter whose time is up. */
void ilk__rwlock_dequeue(ilk_rwlock *lock, struct ilk__waiter *waiter);

/* The waiters that a lock in state `word` lets in now, and the state with them inside. Changes nothing. */
struct ilk__rwlock_plan {
    uint32_t next;        /* the word to move to, without queue bits */
    bool upgrade;         /* the upgrade */
    bool all_readers;     /* every queued reader */
    bool first_exclusive; /* the first of the exclusives */
};
/* `readers_first`: a write has just ended, so waiting readers come before the next writer. */
struct ilk__rwlock_plan ilk__rwlock_plan(const ilk_rwlock *lock, uint32_t word, bool readers_first);

/* Takes the planned waiters out and appends them to `admitted`, to be granted once the queue is released. */
void ilk__rwlock_take_out(ilk_rwlock *lock, const struct ilk__rwlock_plan *plan,
                          struct ilk__rwlock_list *admitted);

#endif
