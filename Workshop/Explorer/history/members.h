/* SPDX-License-Identifier: Apache-2.0
 *
 * A wait set with two rings, a semaphore and a latch, for histories of real threads and of scenarios.
 */
#ifndef EXPLORER_HISTORY_MEMBERS_H
#define EXPLORER_HISTORY_MEMBERS_H

#include "models.h"
#include <interlock/wait_set.h>
#include <stdlib.h>

#ifndef LATCHES
#define LATCHES 1 /* one is in the set, and followed by the next */
#endif
enum { RINGS = 2, SEMAPHORE = RINGS, LATCH };
static const uint32_t taken_from = 1u << SEMAPHORE;

static struct {
    ilk_wait_set *set;
    ilk_spsc *rings[RINGS];
    ilk_semaphore semaphore;
    ilk_latch latches[LATCHES];
    unsigned added, opened;    /* latches */
    unsigned keys[EX_MEMBERS]; /* each has the member's number; its address is the key */
} m;

/* The one before may be in the set still, after a wrong answer, which the check finds. */
static inline void add_latch(void) {
    (void)!ilk_wait_set_add_latch(m.set, &m.latches[m.added++ % LATCHES], &m.keys[LATCH]);
}

static inline void begin_members(size_t capacity) {
    for (unsigned member = 0; member < EX_MEMBERS; member++) {
        m.keys[member] = member;
    }
    for (unsigned i = 0; i < LATCHES; i++) {
        ilk_latch_init(&m.latches[i], 1);
    }
    m.added = m.opened = 0;
    ilk_semaphore_init(&m.semaphore, 0);
    bool complete = ilk_wait_set_create(&m.set) == ILK_OK;
    for (unsigned i = 0; i < RINGS; i++) {
        complete = complete && ilk_spsc_create(&m.rings[i], capacity, sizeof(uint64_t)) == ILK_OK &&
                   ilk_wait_set_add_spsc(m.set, m.rings[i], ILK_READABLE, &m.keys[i]) == ILK_OK;
    }
    if (!complete || ilk_wait_set_add_semaphore(m.set, &m.semaphore, &m.keys[SEMAPHORE]) != ILK_OK) {
        abort();
    }
    add_latch();
}
static inline void end_members(void) {
    ilk_wait_set_destroy(m.set);
    ilk_spsc_destroy(m.rings[0]);
    ilk_spsc_destroy(m.rings[1]);
}

/* ---- Verbs, recorded ---- */

/* A ring that has no room, after a wrong answer, leaves the call without one. */
static inline void give(unsigned member) {
    const uint64_t element = 1;
    const size_t operation = ex_begin(EX_SIGNAL, member);
    if (member == SEMAPHORE) {
        ilk_semaphore_signal(&m.semaphore, 1);
    } else if (member == LATCH) {
        ilk_latch_count_down(&m.latches[m.opened++]);
    } else if (!ilk_spsc_try_push(m.rings[member], &element, sizeof element)) {
        return;
    }
    ex_end(operation, EX_DONE);
}

static inline void wake(void) {
    const size_t operation = ex_begin(EX_WAKE, 0);
    ilk_wait_set_wake(m.set);
    ex_end(operation, EX_DONE);
}

/* A latch is taken by its removal. */
static inline bool take(unsigned member) {
    uint64_t element;
    const size_t operation = ex_begin(EX_TAKE, member);
    const bool taken = member == LATCH ? ilk_wait_set_remove(m.set, &m.keys[LATCH])
                                       : ilk_spsc_try_pop(m.rings[member], &element, sizeof element);
    ex_end(operation, taken ? EX_DONE : EX_EMPTY);
    return taken;
}

/* Waits: a mask of members, EX_NONE for a wake, or EX_TIMEDOUT. */
static inline uint64_t wait_for_members(size_t capacity, uint64_t deadline_ns) {
    void *keys[EX_MEMBERS];
    size_t count = 0;
    uint64_t ready = EX_NONE;
    const size_t operation = ex_begin(EX_WAIT, 0);
    const ilk_status status = ilk_wait_set_wait_until(m.set, keys, capacity, &count, deadline_ns);
    for (size_t i = 0; i < count; i++) {
        ready |= UINT64_C(1) << *(const unsigned *)keys[i];
    }
    if (status != ILK_OK) {
        ready = EX_TIMEDOUT;
        ex_not_early(deadline_ns);
    }
    ex_end(operation, ready);
    return ready;
}

/* Waits, and takes one of each member answered, of a semaphore with the answer; how many. */
static inline int serve(size_t capacity, uint64_t deadline_ns) {
    const uint64_t ready = wait_for_members(capacity, deadline_ns);
    int taken = 0;
    for (unsigned member = 0; member < EX_MEMBERS; member++) {
        if (ready != EX_TIMEDOUT && (ready >> member & 1) != 0) {
            taken += member == SEMAPHORE || take(member);
        }
    }
    return taken;
}

#endif
