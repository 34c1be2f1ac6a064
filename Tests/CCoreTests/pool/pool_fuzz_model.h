/* SPDX-License-Identifier: Apache-2.0
 *
 * What the model of fuzz_pool_test.c knows: which jobs cannot have ended, and what must be right behind a wait.
 *
 * A job is held by a stage that the test has not come to, by a timer that does not come due, or by a group with such a
 * job that it waits for or follows. No wait has a cycle: a job of a group waits for groups of higher numbers only.
 */
#ifndef INTERLOCK_TESTS_POOL_POOL_FUZZ_MODEL_H
#define INTERLOCK_TESTS_POOL_POOL_FUZZ_MODEL_H

#include "pool/pool_fuzz_jobs.h"
#include <string.h>

enum target { IDLE_POOL = GROUPS, END_OF_POOL, TARGETS }; /* of a wait; below: a group */

struct model {
    struct scene scene;
    struct shared shared;
    struct slot slots[SLOTS];
    uint32_t threads, most;
    uint64_t numbers;
    int reached; /* the stage that the test has come to */
    bool is_closed, hands_back, is_done;
    bool is_held[GROUPS], may_be_held[GROUPS];
    unsigned stamps[GROUPS];   /* stepped while it is not */
    bool has_follower[GROUPS]; /* perhaps */
    unsigned targets[ACTORS];
};

/* ---- What the model knows ---- */

static inline bool is_staged(const struct model *m, const struct slot *slot) {
    return (slot->deed == STAGED || slot->deed == STAGED_AS_BLOCKED) && slot->stage > m->reached;
}

/* A group that was held all the time since the job waits for it; or one that is held by now, perhaps before it came to
 * its wait. */
static inline bool awaits_held(const struct model *m, const struct slot *slot, bool surely) {
    const bool awaits = slot->follows || (slot->deed == AWAITS && !only_tries(slot));
    if (!awaits || !surely) {
        return awaits && m->may_be_held[slot->awaited];
    }
    return m->is_held[slot->awaited] && m->stamps[slot->awaited] == slot->stamp;
}

/* It cannot have ended; or perhaps it cannot. */
static inline bool is_held(const struct model *m, const struct slot *slot, bool surely) {
    return slot->state == ACCEPTED && (is_staged(m, slot) || slot->is_far || awaits_held(m, slot, surely));
}

static inline bool any_is_held(const struct model *m, bool surely) {
    for (int i = 0; i < SLOTS; i++) {
        if (is_held(m, &m->slots[i], surely)) {
            return true;
        }
    }
    return false;
}

static inline bool group_is_held(const struct model *m, int group, bool surely) {
    for (int i = 0; i < SLOTS; i++) {
        if (m->slots[i].group == group && is_held(m, &m->slots[i], surely)) {
            return true;
        }
    }
    return false;
}

/* A group waits for higher ones only. */
static inline void update_holds(struct model *m) {
    for (int group = GROUPS - 1; group >= 0; group--) {
        m->is_held[group] = group_is_held(m, group, true);
        m->may_be_held[group] = group_is_held(m, group, false);
        m->stamps[group] += m->is_held[group] ? 0 : 1;
    }
}

static inline bool target_is_held(const struct model *m, unsigned target, bool surely) {
    if (target < GROUPS) {
        return surely ? m->is_held[target] : m->may_be_held[target];
    }
    return any_is_held(m, surely) || (target == END_OF_POOL && !m->is_closed);
}

/* No worker is held up: what cannot be held ends. */
static inline bool is_free(const struct model *m) {
    for (int i = 0; i < SLOTS; i++) {
        const struct slot *slot = &m->slots[i];
        if (is_held(m, slot, false) && (is_staged(m, slot) || slot->deed == AWAITS)) {
            return false;
        }
    }
    return true;
}

static inline bool must_end(const struct model *m, unsigned target) {
    return is_free(m) && !target_is_held(m, target, false);
}

/* ---- Behind a wait ---- */

static inline bool settle_slot(struct model *m, struct slot *slot) {
    if (!is_right(slot)) {
        return fuzz_mismatch(m->scene.play,
                             "job %d: state %d, runs %u, handed back %u, its child's %u and %u of %d",
                             (int)(slot - m->slots), (int)slot->state, slot->runs, slot->handed_back,
                             slot->child_runs, slot->child_handed_back, slot->has_child);
    }
    free(slot->timer);
    *slot = (struct slot){.state = UNUSED, .group = -1};
    return true;
}

static inline bool is_used(const struct model *m, int group) {
    for (int i = 0; i < SLOTS; i++) {
        const struct slot *slot = &m->slots[i];
        if (slot->state == ACCEPTED && (slot->group == group || slot->awaited == group)) {
            return true;
        }
    }
    for (int i = 0; i < ACTORS; i++) {
        if (m->scene.waiting[i] && m->targets[i] == (unsigned)group) {
            return true;
        }
    }
    return false;
}

/* Its jobs have ended: it may be freed, if no job uses it. */
static inline bool settle_group(struct model *m, int group) {
    for (int i = 0; i < SLOTS; i++) {
        if (m->slots[i].state == ACCEPTED && m->slots[i].group == group && !settle_slot(m, &m->slots[i])) {
            return false;
        }
    }
    m->has_follower[group] = false;
    if (!is_used(m, group)) {
        free(m->shared.groups[group]);
        m->shared.groups[group] = calloc(1, sizeof(ilk_group));
        check(m->shared.groups[group] != NULL);
        ilk_group_init(m->shared.groups[group]);
    }
    return true;
}

static inline bool settle_target(struct model *m, unsigned target) {
    if (target < GROUPS) {
        return settle_group(m, (int)target);
    }
    for (int i = 0; i < SLOTS; i++) {
        if (!settle_slot(m, &m->slots[i])) {
            return false;
        }
    }
    memset(m->has_follower, 0, sizeof m->has_follower);
    m->is_done = m->is_done || target == END_OF_POOL;
    return true;
}

#endif
