/* SPDX-License-Identifier: Apache-2.0
 *
 * Random sequences of the verbs of condition.h against a model that knows after each step which threads sleep
 * (support/fuzz_crew.h). Under one lock threads wait for a level, or for bits, which they take; on its condition they
 * wait for signals. The test's own thread is the only one that changes level and bits otherwise, or signals.
 *
 * Has been seen to fail on: the last in a queue woken first; a waiter woken whose predicate is false; one that stays
 * counted as woken; a passed limit that does not judge; a late waiter left in the queue; a signal that wakes two, a
 * broadcast that wakes two of more; a wait that returns without its lock.
 */
#include "condition/condition_fuzz_model.h"
#include <stdio.h>
#include <stdlib.h>

/* ---- Steps ---- */

enum verb { LEVEL, BITS, SIGNAL, BROADCAST, TOUCH, BESIDE, HOLD, AWAIT_LEVEL, AWAIT_BITS, WAIT };

static const struct fuzz_verb verbs[] = {
    [LEVEL] = {"level", 6},
    [BITS] = {"bits", 6},
    [SIGNAL] = {"signal", 6},
    [BROADCAST] = {"broadcast", 2},
    [TOUCH] = {"touch", 2},
    [BESIDE] = {"level beside a locker", 3},
    [HOLD] = {"hold past a limit", 1},
    [AWAIT_LEVEL] = {"await level", 12},
    [AWAIT_BITS] = {"await bits", 12},
    [WAIT] = {"wait", 12},
};

static bool changes(struct model *m, uint32_t level, uint32_t bits) {
    m->level = level;
    m->bits |= bits;
    model_judges(m);
    lock_take(m->guarded, false);
    m->guarded->level = level;
    m->guarded->bits |= bits;
    lock_leave(m->guarded, false);
    return model_settles(m);
}

static bool signals(struct model *m, bool all, uint32_t argument) {
    const bool under_lock = argument % 2 == 0, reads = argument / 2 % 2 == 0;
    model_signals(m, all ? ACTORS : 1);
    if (under_lock) {
        lock_take(m->guarded, reads);
    }
    (all ? ilk_condition_broadcast : ilk_condition_signal)(&m->guarded->condition);
    if (under_lock) {
        lock_leave(m->guarded, reads);
    }
    return model_settles(m);
}

/* The lock is free, also while threads wait under it. */
static bool touches(struct model *m) {
    struct guarded *guarded = m->guarded;
    const bool taken =
        has_lock(guarded) ? ilk_rwlock_try_write_lock(&guarded->lock) : ilk_mutex_try_lock(&guarded->mutex);
    if (!taken) {
        return fuzz_mismatch(m->scene.play, "the lock is free, and a try is refused");
    }
    lock_leave(guarded, false);
    return model_settles(m);
}

/* Sets the level while another thread sleeps for the lock, or after one has slept for it until its limit. */
static bool changes_beside(struct model *m, int number, uint32_t level, bool is_late) {
    if (m->scene.waiting[number]) {
        return true;
    }
    struct party *party = &m->guarded->parties[number];
    m->scene.object = party;
    lock_take(m->guarded, false);
    if (is_late) {
        const bool agreed = answers(&m->scene, number, pass_through, short_limit(level), ILK_TIMEDOUT);
        lock_leave(m->guarded, false);
        return agreed && model_settles(m) && changes(m, level, 0);
    }
    if (!waits(&m->scene, number, pass_through)) {
        return false;
    }
    m->scene.waiting[number] = false;
    m->gone[number] = true;
    party->found = m->level = m->guarded->level = level;
    model_judges(m);
    lock_leave(m->guarded, false);
    return model_settles(m);
}

/* A wait with a limit, whose end comes in time, while the lock is held until the limit has passed. */
static bool ends_before_limit(struct model *m, int number, bool by_signal) {
    if (m->scene.waiting[number] || (!by_signal && m->level == 8)) {
        return true;
    }
    struct party *party = &m->guarded->parties[number];
    struct actor *actor = &m->scene.crew->actors[number];
    party->reads = party->elsewhere = false;
    party->wanted = 8;
    m->calls[number] = by_signal ? wait_for_signal : wait_for_level;
    m->line[m->line_length++] = number;
    const uint64_t limit = ilk_deadline_in_ns(4000000);
    tell(actor, m->calls[number], party, limit);
    for (int attempt = 0; !sleeps_inside(actor) && !is_idle(actor); attempt++) {
        breathe(attempt);
    }
    lock_take(m->guarded, false);
    if (by_signal) {
        model_signals(m, ACTORS);
        ilk_condition_broadcast(&m->guarded->condition);
    } else {
        m->level = m->guarded->level = 8;
        model_judges(m);
    }
    const bool in_time = ilk_now_ns() < limit;
    for (int attempt = 0; ilk_now_ns() <= limit; attempt++) {
        breathe(attempt);
    }
    lock_leave(m->guarded, false);
    m->gone[number] = in_time; /* otherwise either answer is right */
    return model_settles(m);
}

static bool play_step(struct model *m, struct fuzz_step step) {
    static actor_call *const calls[] = {
        [AWAIT_LEVEL] = wait_for_level, [AWAIT_BITS] = wait_for_bits, [WAIT] = wait_for_signal};
    switch ((enum verb)step.verb) {
    case LEVEL:
        return changes(m, step.argument % 8, 0);
    case BITS:
        return changes(m, m->level, step.argument % 8);
    case SIGNAL:
    case BROADCAST:
        return signals(m, step.verb == BROADCAST, step.argument);
    case TOUCH:
        return touches(m);
    case BESIDE:
        return changes_beside(m, (int)(step.argument % ACTORS), step.argument / 8 % 9,
                              step.argument / 4 % 2 == 0);
    case HOLD:
        return ends_before_limit(m, (int)(step.argument % ACTORS), step.argument / 4 % 2 == 0);
    case AWAIT_LEVEL:
    case AWAIT_BITS:
    case WAIT:
        break;
    }
    return model_begins(m, (int)(step.argument % ACTORS), calls[step.verb], step.argument / ACTORS);
}

/* What lets every thread go. */
static bool ends(struct model *m) {
    while (m->line_length > 0) {
        if (!signals(m, true, 0) || !changes(m, 8, 7)) {
            return false;
        }
    }
    return true;
}

static bool play(struct fuzz_play *play, const struct fuzz_step *steps, size_t count) {
    uint64_t random = ~play->seed;
    struct guarded *guarded = calloc(1, sizeof *guarded);
    check(guarded != NULL);
    guarded->kind = (enum kind)(fuzz_random(&random) % KINDS);
    snprintf(play->configuration, sizeof play->configuration, "under %s", kind_names[guarded->kind]);
    ilk_mutex_init(&guarded->mutex, guarded->kind == INHERITING);
    ilk_mutex_init(&guarded->other, guarded->kind == INHERITING);
    (guarded->kind == READ_WRITE_PLAIN ? ilk_rwlock_init_plain : ilk_rwlock_init)(&guarded->lock);
    ilk_condition_init(&guarded->condition);
    struct model m = {.scene = scene_of(play, NULL), .guarded = guarded};
    for (int i = 0; i < ACTORS; i++) {
        guarded->parties[i].guarded = guarded;
    }
    bool agreed = true;
    for (play->at = 0; agreed && play->at < count; play->at++) {
        agreed = play_step(&m, steps[play->at]);
    }
    if (!agreed || !ends(&m)) {
        crew_abandon();
        return false;
    }
    ilk_rwlock_destroy(&guarded->lock);
    free(guarded);
    return true;
}

/* contract: condition.B, condition.C, condition.D, condition.F, condition.G */
TEST(every_verb_of_condition_agrees_with_a_model) {
    fuzz_with_crew("fuzz_locks: condition", verbs, sizeof verbs / sizeof *verbs, play);
}
