/* SPDX-License-Identifier: Apache-2.0
 *
 * An actor takes an ilk_rwlock in one mode on a thread of its own and holds it until told to leave:
 *     actor_start, then actor_await_queued or actor_await_inside, later actor_leave.
 */
#ifndef INTERLOCK_TESTS_SUPPORT_RWLOCK_ACTOR_H
#define INTERLOCK_TESTS_SUPPORT_RWLOCK_ACTOR_H

#include "support/test.h"
#include <interlock/rwlock.h>

enum mode { READ, WRITE, UPGRADABLE };

struct actor {
    ilk_rwlock *lock;
    enum mode mode;
    enum mode held;              /* once in; WRITE after an upgrade */
    uint64_t deadline_ns;        /* ILK_FOREVER takes the call without one */
    ilk_status status;           /* of the call with a deadline */
    struct stage *arrivals;      /* shared; counts the actors that got in */
    int place;                   /* among them, from 1 */
    struct stage inside, orders; /* inside: 1 in, 2 upgraded, 3 out; orders: 1 upgrade, 2 leave */
    struct thread thread;
};

/* `arrivals` may be NULL where the order does not matter. */
void actor_start(struct actor *actor, ilk_rwlock *lock, enum mode mode, struct stage *arrivals);
void actor_start_until(struct actor *actor, ilk_rwlock *lock, enum mode mode, uint64_t deadline_ns);

void actor_queue(struct actor *actor, ilk_rwlock *lock, enum mode mode, struct stage *arrivals);

/* Starts it; returns when it has the lock. */
void actor_enter(struct actor *actor, ilk_rwlock *lock, enum mode mode);

void actor_await_queued(struct actor *actor);
void actor_await_inside(struct actor *actor);
bool actor_is_inside(struct actor *actor);

/* An upgradable actor upgrades; returns at once. */
void actor_begin_upgrade(struct actor *actor);
void actor_await_upgraded(struct actor *actor);
/* Waits until the upgrade sleeps. */
void actor_await_upgrade_queued(struct actor *actor);

/* Gives the lock up, and ends the thread. */
void actor_leave(struct actor *actor);

/* Ends an actor whose call timed out. */
void actor_join_timed_out(struct actor *actor);

#endif
