/* SPDX-License-Identifier: Apache-2.0
 *
 * See rwlock_actor.h.
 */
#include "support/rwlock_actor.h"

#include <sched.h>

static ilk_status take(struct actor *actor) {
    bool for_ever = actor->deadline_ns == ILK_FOREVER;
    switch (actor->mode) {
    case READ:
        if (!for_ever) {
            return ilk_rwlock_read_lock_until(actor->lock, actor->deadline_ns);
        }
        ilk_rwlock_read_lock(actor->lock);
        return ILK_OK;
    case WRITE:
        if (!for_ever) {
            return ilk_rwlock_write_lock_until(actor->lock, actor->deadline_ns);
        }
        ilk_rwlock_write_lock(actor->lock);
        return ILK_OK;
    case UPGRADABLE:
        if (!for_ever) {
            return ilk_rwlock_upgradable_lock_until(actor->lock, actor->deadline_ns);
        }
        ilk_rwlock_upgradable_lock(actor->lock);
        return ILK_OK;
    }
    return ILK_INVALID;
}

/* Also a cancelled thread's clean-up handler: the owner unlocks. */
static void give_up(void *context) {
    struct actor *actor = context;
    switch (actor->held) {
    case READ:
        ilk_rwlock_read_unlock(actor->lock);
        break;
    case WRITE:
        ilk_rwlock_write_unlock(actor->lock);
        break;
    case UPGRADABLE:
        ilk_rwlock_upgradable_unlock(actor->lock);
        break;
    }
}

static void act(void *context) {
    struct actor *actor = context;
    actor->status = take(actor);
    if (actor->status != ILK_OK) {
        return;
    }
    actor->held = actor->mode;
    pthread_cleanup_push(give_up, actor);
    if (actor->arrivals != NULL) {
        stage_advance(actor->arrivals);
        actor->place = stage_now(actor->arrivals);
    }
    stage_reach(&actor->inside, 1);
    stage_await(&actor->orders, 1);
    if (actor->held == UPGRADABLE && stage_now(&actor->orders) == 1) {
        ilk_rwlock_upgrade(actor->lock);
        actor->held = WRITE;
        stage_reach(&actor->inside, 2);
    }
    stage_await(&actor->orders, 2);
    pthread_cleanup_pop(1);
}

static void start(struct actor *actor, ilk_rwlock *lock, enum mode mode, uint64_t deadline_ns,
                  struct stage *arrivals) {
    *actor = (struct actor){.lock = lock,
                            .mode = mode,
                            .deadline_ns = deadline_ns,
                            .arrivals = arrivals,
                            .inside = STAGE_INIT,
                            .orders = STAGE_INIT};
    thread_start(&actor->thread, act, actor);
}

void actor_start(struct actor *actor, ilk_rwlock *lock, enum mode mode, struct stage *arrivals) {
    start(actor, lock, mode, ILK_FOREVER, arrivals);
}

void actor_start_until(struct actor *actor, ilk_rwlock *lock, enum mode mode, uint64_t deadline_ns) {
    start(actor, lock, mode, deadline_ns, NULL);
}

void actor_queue(struct actor *actor, ilk_rwlock *lock, enum mode mode, struct stage *arrivals) {
    actor_start(actor, lock, mode, arrivals);
    actor_await_queued(actor);
}

void actor_enter(struct actor *actor, ilk_rwlock *lock, enum mode mode) {
    actor_start(actor, lock, mode, NULL);
    actor_await_inside(actor);
}

void actor_await_queued(struct actor *actor) {
    thread_await_sleep(&actor->thread);
    check(!actor_is_inside(actor)); /* an actor inside sleeps too */
}

void actor_await_inside(struct actor *actor) {
    stage_await(&actor->inside, 1);
}

bool actor_is_inside(struct actor *actor) {
    return stage_now(&actor->inside) >= 1;
}

void actor_begin_upgrade(struct actor *actor) {
    stage_reach(&actor->orders, 1);
}

void actor_await_upgraded(struct actor *actor) {
    stage_await(&actor->inside, 2);
}

void actor_await_upgrade_queued(struct actor *actor) {
    /* READERS_HELD goes up when the upgrade queues. */
    while ((ilk_atomic_load(&actor->lock->word, memory_order_relaxed) & ILK__RWLOCK_READERS_HELD) == 0) {
        check(stage_now(&actor->inside) < 2);
        sched_yield();
    }
    thread_await_sleep(&actor->thread);
    check(stage_now(&actor->inside) < 2);
}

void actor_leave(struct actor *actor) {
    stage_reach(&actor->orders, 2);
    thread_join(&actor->thread);
}

void actor_join_timed_out(struct actor *actor) {
    thread_join(&actor->thread);
    check_equal(actor->status, ILK_TIMEDOUT);
}
