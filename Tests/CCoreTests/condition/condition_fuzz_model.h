/* SPDX-License-Identifier: Apache-2.0
 *
 * The model of fuzz_condition_test.c: the waiters in the order of their arrival, and those that a change lets go.
 */
#ifndef INTERLOCK_TESTS_CONDITION_CONDITION_FUZZ_MODEL_H
#define INTERLOCK_TESTS_CONDITION_CONDITION_FUZZ_MODEL_H

#include "condition/condition_fuzz_calls.h"
#include <string.h>

struct model {
    struct scene scene;
    struct guarded *guarded;
    actor_call *calls[ACTORS]; /* of those that wait */
    int judged[ACTORS];        /* when they had fallen asleep */
    uint32_t level, bits;
    int line[ACTORS]; /* those that wait, in the order of their arrival */
    int line_length;
    bool gone[ACTORS]; /* whom the step has let go */
};

static bool holds(const struct model *m, actor_call *call, uint32_t wanted) {
    return call == wait_for_level  ? m->level >= wanted
           : call == wait_for_bits ? (m->bits & wanted) == wanted
                                   : false;
}

/* The answer of a call that need not wait, or cannot. */
static bool model_answers(struct model *m, int number, actor_call *call, uint64_t deadline_ns) {
    const uint32_t wanted = m->guarded->parties[number].wanted;
    const bool met = holds(m, call, wanted);
    if (met && call == wait_for_bits) {
        m->bits &= ~wanted;
    }
    return answers(&m->scene, number, call, deadline_ns, met ? ILK_OK : ILK_TIMEDOUT);
}

static bool model_waits(struct model *m, int number, actor_call *call) {
    m->calls[number] = call;
    m->line[m->line_length++] = number;
    if (!waits(&m->scene, number, call)) {
        return false;
    }
    m->judged[number] = ilk_atomic_load(&m->guarded->parties[number].judged, memory_order_relaxed);
    return true;
}

static bool model_begins(struct model *m, int number, actor_call *call, uint32_t argument) {
    struct party *party = &m->guarded->parties[number];
    if (m->scene.waiting[number]) {
        return true;
    }
    party->reads = call != wait_for_bits && has_lock(m->guarded) && argument % 2 == 0;
    party->elsewhere = call == wait_for_signal && !has_lock(m->guarded) && argument % 4 == 1;
    party->wanted = call == wait_for_level ? argument / 2 % 8 : 1 + argument / 2 % 7;
    m->scene.object = party;
    const bool has_limit = argument / 16 % 3 == 0;
    if (!has_limit && !holds(m, call, party->wanted)) {
        return model_waits(m, number, call);
    }
    const uint64_t limit = has_limit ? short_limit(argument / 48) : ILK_FOREVER;
    return model_answers(m, number, call, limit);
}

/* Takes the one at this place out of the line. */
static void model_lets_go(struct model *m, int place) {
    const int number = m->line[place];
    m->gone[number] = true;
    m->scene.waiting[number] = false;
    m->line_length--;
    memmove(m->line + place, m->line + place + 1, (size_t)(m->line_length - place) * sizeof *m->line);
}

/* Those whose predicates hold now, the first come first. */
static void model_judges(struct model *m) {
    for (int place = 0; place < m->line_length;) {
        const int number = m->line[place];
        const uint32_t wanted = m->guarded->parties[number].wanted;
        if (!holds(m, m->calls[number], wanted)) {
            place++;
            continue;
        }
        if (m->calls[number] == wait_for_bits) {
            m->bits &= ~wanted;
        }
        model_lets_go(m, place);
    }
}

static void model_signals(struct model *m, int most) {
    for (int place = 0; place < m->line_length && most > 0;) {
        if (m->calls[m->line[place]] == wait_for_signal) {
            model_lets_go(m, place);
            most--;
        } else {
            place++;
        }
    }
}

/* After a change: those that were let go have their answer, and the others were not woken. */
static bool model_settles(struct model *m) {
    if (!settles(&m->scene)) {
        return false;
    }
    for (int i = 0; i < ACTORS; i++) {
        if (m->gone[i] && m->scene.crew->actors[i].status != ILK_OK) {
            return fuzz_mismatch(m->scene.play, "actor %d was woken, and is told %s", i,
                                 ilk_status_name(m->scene.crew->actors[i].status));
        }
        if (m->gone[i] && m->guarded->parties[i].found != m->level) {
            return fuzz_mismatch(m->scene.play, "actor %d found level %u and not %u", i,
                                 (unsigned)m->guarded->parties[i].found, (unsigned)m->level);
        }
        const int judged = ilk_atomic_load(&m->guarded->parties[i].judged, memory_order_relaxed);
        if (m->scene.waiting[i] && judged != m->judged[i]) {
            return fuzz_mismatch(m->scene.play, "actor %d was woken though its predicate is false", i);
        }
    }
    if (m->guarded->bits != m->bits) {
        return fuzz_mismatch(m->scene.play, "bits are %u and not %u", (unsigned)m->guarded->bits,
                             (unsigned)m->bits);
    }
    memset(m->gone, 0, sizeof m->gone);
    return true;
}

#endif
