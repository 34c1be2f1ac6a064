/* SPDX-License-Identifier: Apache-2.0
 *
 * The bounded work-stealing deque of one worker: the owner pushes and takes at the bottom, thieves steal at the top.
 * A full deque refuses a push. Indices run freely over 64 bits; their low bits are the place.
 *
 * Source: Chase and Lev (2005), with the orders of Lê, Pop, Cohen, Zappa Nardelli, "Correct and efficient work-stealing
 * for weak memory models" (2013).
 *
 * Must not happen: owner and thief both get the last element. Both move `top` by compare-and-swap from the same value.
 * And: a push overwrites a place that a thief is about to read. `top` has passed the place, so the thief's
 * compare-and-swap fails.
 *
 * A place has the job's group beside the job: for a forked job what may be waited for (fork.c), else the caller's. A
 * thread that waits reads there whether it may have a job, whose own memory may be gone by then. Stolen or dug out, a
 * job has it in its own memory; a fork, which most often comes to its own join, does without that store.
 */
#ifndef INTERLOCK_POOL_DEQUE_H
#define INTERLOCK_POOL_DEQUE_H

#include "platform/reaches.h"
#include <interlock/inline/atomic.h>
#include <interlock/inline/attributes.h>
#include <interlock/pool.h>

/* Small in the explorer: soon full, and soon wraps. */
#ifndef ILK__DEQUE_PLACES
#define ILK__DEQUE_PLACES 256
#endif
enum { DEQUE_PLACES = ILK__DEQUE_PLACES, DEQUE_SEPARATION = 128 };

struct deque_place {
    ILK_ATOMIC(ilk_job *) job;
    ILK_ATOMIC(const void *) group; /* the job's; only compared */
};

struct deque {
    ILK_ATOMIC(int64_t) top; /* the next to steal; only grows */
    unsigned char separate_bottom[DEQUE_SEPARATION - sizeof(int64_t)];
    ILK_ATOMIC(int64_t) bottom; /* the next free place; the owner's */
    struct deque_place places[DEQUE_PLACES];
};

static inline struct deque_place *deque_place(struct deque *deque, int64_t index) ILK_NONBLOCKING {
    return &deque->places[(uint64_t)index % DEQUE_PLACES];
}

/* The owner's. False: full. */
static inline bool deque_push(struct deque *deque, ilk_job *job, const void *group) ILK_NONBLOCKING {
    const int64_t bottom = ilk_atomic_load(&deque->bottom, memory_order_relaxed); /* DQ1 */
    /* DQ2 acquire, pairs with DQ5 (seq_cst, moving top).
     * Carries: that the thief has read the place.
     * If weaker: we overwrite a place before its thief, which succeeds, reads it. */
    const int64_t top = ilk_atomic_load(&deque->top, memory_order_acquire);
    ILK__REACHES(DEQUE_FULL, bottom - top >= DEQUE_PLACES);
    if (ILK_UNLIKELY(bottom - top >= DEQUE_PLACES)) {
        return false;
    }
    struct deque_place *place = deque_place(deque, bottom);
    /* DQ3 relaxed: DQ4 publishes the place. */
    ilk_atomic_store(&place->job, job, memory_order_relaxed);
    ilk_atomic_store(&place->group, group, memory_order_relaxed); /* DQ3 */
    /* DQ4 release, pairs with DQ7 (acquire, a thief).
     * Carries: the job, and what the submitter did before.
     * If weaker: a thief runs a job that is not there yet. */
    ilk_atomic_store(&deque->bottom, bottom + 1, memory_order_release);
    return true;
}

/* The owner's: the job pushed last, or NULL. */
static inline ilk_job *deque_take(struct deque *deque) ILK_NONBLOCKING {
    /* DQ1 relaxed: the owner's own index; no other thread writes it. */
    const int64_t bottom = ilk_atomic_load(&deque->bottom, memory_order_relaxed) - 1;
    if (bottom <
        ilk_atomic_load(&deque->top, memory_order_relaxed)) { /* DQ8: it only grows: empty is empty */
        return NULL;
    }
    /* DQ4: a thief that reads this index takes an older job. */
    ilk_atomic_store(&deque->bottom, bottom, memory_order_release);
    /* DQ6 seq_cst, pairs with itself (a thief). Forbids: we lower bottom and read the old top, the thief reads the old
     * bottom and moves top past ours. */
    ilk_atomic_fence(memory_order_seq_cst);
    /* DQ8 relaxed: ordered by DQ6; DQ5 decides over the last job. */
    int64_t top = ilk_atomic_load(&deque->top, memory_order_relaxed);
    if (top < bottom) {
        return ilk_atomic_load(&deque_place(deque, bottom)->job, memory_order_relaxed); /* DQ3: our own */
    }
    ilk_job *job = NULL;
    if (top == bottom) {
        job = ilk_atomic_load(&deque_place(deque, bottom)->job, memory_order_relaxed); /* DQ3 */
        /* DQ5 seq_cst, pairs with itself, and with DQ2 (acquire, pushing): the last job goes to one of two threads. In
         * one order with DQ6: the fences of owner and thief agree on which came first. */
        if (!ilk_atomic_compare_exchange(&deque->top, &top, top + 1, memory_order_seq_cst,
                                         memory_order_relaxed)) {
            ILK__REACHES(DEQUE_LAST_TO_THIEF, true);
            job = NULL;
        }
    }
    ilk_atomic_store(&deque->bottom, bottom + 1,
                     memory_order_relaxed); /* DQ1: top is here, nothing to carry */
    return job;
}

/* Any thread's, the owner's too: the job pushed first, or NULL. `group`: only if it is of that group; NULL: any.
 * `*lost`: another thread was faster; there may be more. */
static inline ilk_job *deque_steal(struct deque *deque, const void *group, bool *lost) ILK_NONBLOCKING {
    const int64_t top = ilk_atomic_load(&deque->top, memory_order_acquire); /* DQ2 */
    ilk_atomic_fence(memory_order_seq_cst);                                 /* DQ6 */
    /* DQ7 acquire, pairs with DQ4 (release, pushing): the job that we take is there. */
    if (top >= ilk_atomic_load(&deque->bottom, memory_order_acquire)) {
        return NULL;
    }
    struct deque_place *place = deque_place(deque, top);
    const void *found = ilk_atomic_load(&place->group, memory_order_relaxed); /* DQ3 */
    if (group != NULL && found != group) {
        return NULL;
    }
    ilk_job *job = ilk_atomic_load(&place->job, memory_order_relaxed); /* DQ3 */
    int64_t stolen = top;
    /* With it, neither job nor group has been overwritten. */
    const bool ours = ilk_atomic_compare_exchange(&deque->top, &stolen, top + 1, memory_order_seq_cst,
                                                  memory_order_relaxed); /* DQ5 */
    if (!ours) {
        ILK__REACHES(DEQUE_THIEF_OUTRUN, true);
        *lost = true;
        return NULL;
    }
    job->group = (ilk_group *)found;
    return job;
}

/* The owner's: whether `job` is the one pushed last, or was: a thief may have it by now. */
static inline bool deque_has_last(struct deque *deque, const ilk_job *job) ILK_NONBLOCKING {
    const int64_t bottom = ilk_atomic_load(&deque->bottom, memory_order_relaxed); /* DQ1 */
    const struct deque_place *last = deque_place(deque, bottom - 1);
    return ilk_atomic_load(&last->job, memory_order_relaxed) == job; /* DQ3: our own */
}

/* The owner's: the job pushed last, with its group, or NULL. */
static inline ilk_job *deque_dig(struct deque *deque) ILK_NONBLOCKING {
    const int64_t bottom = ilk_atomic_load(&deque->bottom, memory_order_relaxed); /* DQ1 */
    const void *group =
        ilk_atomic_load(&deque_place(deque, bottom - 1)->group, memory_order_relaxed); /* DQ3: our own */
    ilk_job *job = deque_take(deque);
    if (job != NULL) {
        job->group = (ilk_group *)group;
    }
    return job;
}

/* The owner's: whether a job of `group`, or `job` itself, is seen in it: a hint, for thieves may have it by now. */
static inline bool deque_sees(struct deque *deque, const void *group, const ilk_job *job) ILK_NONBLOCKING {
    int64_t index = ilk_atomic_load(&deque->bottom, memory_order_relaxed);  /* DQ1 */
    const int64_t top = ilk_atomic_load(&deque->top, memory_order_relaxed); /* DQ8 */
    while (index-- > top) {
        const struct deque_place *place = deque_place(deque, index);
        if (ilk_atomic_load(&place->group, memory_order_relaxed) == group || /* DQ3: our own */
            ilk_atomic_load(&place->job, memory_order_relaxed) == job) {     /* DQ3 */
            return true;
        }
    }
    return false;
}

/* A hint from any thread; for the owner, false is exact. */
static inline bool deque_has_jobs(struct deque *deque) ILK_NONBLOCKING {
    const int64_t bottom = ilk_atomic_load(&deque->bottom, memory_order_acquire); /* DQ7 */
    return bottom > ilk_atomic_load(&deque->top, memory_order_acquire);           /* DQ2 */
}

#endif
