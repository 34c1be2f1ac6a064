/* SPDX-License-Identifier: Apache-2.0
 *
 * What the threads of fuzz_condition_test.c wait with, and their calls.
 */
#ifndef INTERLOCK_TESTS_CONDITION_CONDITION_FUZZ_CALLS_H
#define INTERLOCK_TESTS_CONDITION_CONDITION_FUZZ_CALLS_H

#include "support/fuzz_crew.h"
#include <interlock/condition.h>
#include <pthread.h>

enum kind { MUTEX, INHERITING, READ_WRITE, READ_WRITE_PLAIN, KINDS };

static const char *const kind_names[KINDS] = {"a mutex", "an inheriting mutex", "a lock", "a plain lock"};

struct guarded;

/* What an actor waits with. */
struct party {
    struct guarded *guarded;
    bool reads;
    bool elsewhere;         /* waits for signals under the other mutex */
    uint32_t wanted;        /* level or bits */
    uint32_t found;         /* the level under the lock at the end */
    pthread_t thread;       /* the actor's */
    ILK_ATOMIC(int) judged; /* predicates by its own thread */
};

struct guarded {
    enum kind kind;
    ilk_mutex mutex, other;
    ilk_rwlock lock;
    ilk_condition condition;
    uint32_t level, bits;
    ILK_ATOMIC(int) inside; /* threads that hold the lock; one that holds it alone counts ACTORS */
    struct party parties[ACTORS];
};

static bool has_lock(const struct guarded *guarded) {
    return guarded->kind == READ_WRITE || guarded->kind == READ_WRITE_PLAIN;
}

static void lock_take(struct guarded *guarded, bool reads) {
    if (!has_lock(guarded)) {
        ilk_mutex_lock(&guarded->mutex);
    } else if (reads) {
        ilk_rwlock_read_lock(&guarded->lock);
    } else {
        ilk_rwlock_write_lock(&guarded->lock);
    }
}

static void lock_leave(struct guarded *guarded, bool reads) {
    if (!has_lock(guarded)) {
        ilk_mutex_unlock(&guarded->mutex);
    } else if (reads) {
        ilk_rwlock_read_unlock(&guarded->lock);
    } else {
        ilk_rwlock_write_unlock(&guarded->lock);
    }
}

/* ---- What actors call ---- */

static void count_judgement(struct party *party) {
    if (pthread_equal(pthread_self(), party->thread)) {
        (void)ilk_atomic_fetch_add(&party->judged, 1, memory_order_relaxed);
    }
}

static bool is_high_enough(void *context) {
    struct party *party = context;
    count_judgement(party);
    return party->guarded->level >= party->wanted;
}

static bool has_bits(void *context) {
    struct party *party = context;
    count_judgement(party);
    return (party->guarded->bits & party->wanted) == party->wanted;
}

static ilk_status await_until(struct party *party, ilk_predicate predicate, uint64_t deadline_ns) {
    struct guarded *guarded = party->guarded;
    if (!has_lock(guarded)) {
        return ilk_mutex_await_until(&guarded->mutex, predicate, party, deadline_ns);
    }
    return party->reads ? ilk_rwlock_read_await_until(&guarded->lock, predicate, party, deadline_ns)
                        : ilk_rwlock_write_await_until(&guarded->lock, predicate, party, deadline_ns);
}

static ilk_status signal_until(struct party *party, uint64_t deadline_ns) {
    struct guarded *guarded = party->guarded;
    if (!has_lock(guarded)) {
        return ilk_condition_wait_until(&guarded->condition,
                                        party->elsewhere ? &guarded->other : &guarded->mutex, deadline_ns);
    }
    return party->reads ? ilk_condition_read_wait_until(&guarded->condition, &guarded->lock, deadline_ns)
                        : ilk_condition_write_wait_until(&guarded->condition, &guarded->lock, deadline_ns);
}

static bool is_alone(struct guarded *guarded, bool reads) {
    const int weight = reads ? 1 : ACTORS;
    const int others = ilk_atomic_fetch_add(&guarded->inside, weight, memory_order_relaxed);
    (void)ilk_atomic_fetch_sub(&guarded->inside, weight, memory_order_relaxed);
    return reads ? others < ACTORS : others == 0;
}

/* ILK_INVALID, which no wait answers, where the lock is not held as it should be, or a predicate does not hold. */
static ilk_status wait_held(struct party *party, ilk_predicate predicate, uint64_t deadline_ns) {
    struct guarded *guarded = party->guarded;
    ilk_status status =
        predicate == NULL ? signal_until(party, deadline_ns) : await_until(party, predicate, deadline_ns);
    if (!party->elsewhere && !is_alone(guarded, party->reads)) {
        status = ILK_INVALID;
    }
    if (status == ILK_OK && predicate != NULL && !predicate(party)) {
        status = ILK_INVALID;
    }
    if (status == ILK_OK && predicate == has_bits) {
        guarded->bits &= ~party->wanted;
    }
    party->found = guarded->level;
    return status;
}

static ilk_status wait_under_lock(struct actor *actor, ilk_predicate predicate) {
    struct party *party = actor->object;
    party->thread = pthread_self();
    ilk_atomic_store(&party->judged, 0, memory_order_relaxed);
    if (party->elsewhere) {
        ilk_mutex_lock(&party->guarded->other);
    } else {
        lock_take(party->guarded, party->reads);
    }
    const ilk_status status = wait_held(party, predicate, actor->deadline_ns);
    if (party->elsewhere) {
        ilk_mutex_unlock(&party->guarded->other);
    } else {
        lock_leave(party->guarded, party->reads);
    }
    return status;
}

static ilk_status wait_for_level(struct actor *actor) {
    return wait_under_lock(actor, is_high_enough);
}

static ilk_status wait_for_bits(struct actor *actor) {
    return wait_under_lock(actor, has_bits);
}

static ilk_status wait_for_signal(struct actor *actor) {
    return wait_under_lock(actor, NULL);
}

/* Only takes the lock, while the test's own thread has it. */
static ilk_status pass_through(struct actor *actor) {
    struct guarded *guarded = ((struct party *)actor->object)->guarded;
    const uint64_t deadline_ns = actor->deadline_ns;
    const ilk_status status = has_lock(guarded) ? ilk_rwlock_write_lock_until(&guarded->lock, deadline_ns)
                                                : ilk_mutex_lock_until(&guarded->mutex, deadline_ns);
    if (status == ILK_OK) {
        lock_leave(guarded, false);
    }
    return status;
}

#endif
