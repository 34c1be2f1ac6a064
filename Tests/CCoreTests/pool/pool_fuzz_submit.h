/* SPDX-License-Identifier: Apache-2.0
 *
 * How fuzz_pool_test.c hands jobs over in each way, takes timers back, and what those calls must answer.
 */
#ifndef INTERLOCK_TESTS_POOL_POOL_FUZZ_SUBMIT_H
#define INTERLOCK_TESTS_POOL_POOL_FUZZ_SUBMIT_H

#include "pool/pool_fuzz_model.h"

static inline struct slot *slot_make(struct model *m, uint32_t argument, ilk_priority priority) {
    static const enum deed deeds[] = {COUNTS,  COUNTS, COUNTS, COUNTS, STAGED, STAGED_AS_BLOCKED,
                                      SUBMITS, FORKS,  LOOPS,  AWAITS, AWAITS};
    enum { CHOICES = sizeof deeds / sizeof *deeds };
    for (int i = 0; i < SLOTS; i++) {
        struct slot *slot = &m->slots[i];
        if (slot->state != UNUSED) {
            continue;
        }
        *slot = (struct slot){.deed = deeds[argument % CHOICES], .shared = &m->shared, .priority = priority};
        slot->group = (int)(argument / CHOICES % (GROUPS + 1)) - 1;
        slot->argument = argument / CHOICES / (GROUPS + 1);
        slot->stage = m->reached + 1;
        slot->awaited = slot->group + 1 + (int)(slot->argument / 4 % GROUPS);
        if (slot->awaited >= GROUPS || m->most == 1) { /* a single worker would begin others on top */
            slot->awaited = -1;
            slot->deed = slot->deed == AWAITS ? COUNTS : slot->deed;
        }
        slot->stamp = slot->awaited < 0 ? 0 : m->stamps[slot->awaited];
        return slot;
    }
    return NULL;
}

/* What a call that submits has answered. */
static inline bool submitted(struct model *m, struct slot *slot, struct owned *owned, bool is_accepted) {
    slot->state = is_accepted ? ACCEPTED : REFUSED;
    if (!is_accepted) {
        free(owned);
        slot->timer = NULL;
    }
    return is_accepted == !m->is_closed ||
           fuzz_mismatch(m->scene.play, "a job was %s", is_accepted ? "accepted" : "refused");
}

static inline void number(struct model *m, struct slot *slot) {
    slot->number = m->most == 1 && slot->priority != ILK_PRIORITY_NORMAL ? ++m->numbers : 0;
}

static inline bool submit(struct model *m, uint32_t argument) {
    struct slot *slot = slot_make(m, argument / 3, (ilk_priority)(argument % 3));
    if (slot == NULL) {
        return true;
    }
    number(m, slot);
    struct owned *owned = owned_make(slot, false, false);
    return submitted(m, slot, owned, ilk_pool_submit(m->shared.pool, &owned->as.job));
}

static inline bool submit_many(struct model *m, uint32_t argument) {
    enum { MOST_AT_ONCE = 24 }; /* more than a worker takes at once */
    struct slot *slots[MOST_AT_ONCE];
    struct owned *owned[MOST_AT_ONCE];
    ilk_job *jobs[MOST_AT_ONCE] = {NULL};
    const uint32_t wanted = argument / 3 % 8 == 7 ? MOST_AT_ONCE : argument / 3 % 8;
    uint64_t random = argument;
    uint32_t count = 0;
    for (; count < wanted; count++) {
        slots[count] = slot_make(m, (uint32_t)fuzz_random(&random) >> 8, (ilk_priority)(argument % 3));
        if (slots[count] == NULL) {
            break;
        }
        slots[count]->state = REFUSED; /* not the next one's */
        number(m, slots[count]);
        owned[count] = owned_make(slots[count], false, false);
        jobs[count] = &owned[count]->as.job;
    }
    const bool is_accepted = ilk_pool_submit_many(m->shared.pool, jobs, count);
    bool agreed = true;
    for (uint32_t i = 0; i < count; i++) {
        agreed = submitted(m, slots[i], owned[i], is_accepted) && agreed;
    }
    return agreed;
}

static inline bool follow(struct model *m, int group, uint32_t argument) {
    struct slot *slot = slot_make(m, argument / 3, (ilk_priority)(argument % 3));
    if (slot == NULL || m->has_follower[group]) {
        return true;
    }
    /* Waits for what follows want a free thread (G), and as many jobs wait as there are threads, but where those are
     * threads + 64. */
    slot->group = m->most < 64 || slot->group >= group ? -1 : slot->group;
    slot->deed = slot->deed == AWAITS ? COUNTS : slot->deed;
    slot->follows = true;
    slot->awaited = group;
    slot->stamp = m->stamps[group];
    m->has_follower[group] = is_used(m, group) && !m->is_closed;
    struct owned *owned = owned_make(slot, false, false);
    return submitted(m, slot, owned,
                     ilk_group_follow(m->shared.groups[group], m->shared.pool, &owned->as.job));
}

static inline bool submit_at(struct model *m, uint32_t argument) {
    struct slot *slot = slot_make(m, argument / 12, (ilk_priority)(argument % 3));
    if (slot == NULL) {
        return true;
    }
    const bool is_far = argument / 3 % 4 == 0;
    slot->deadline_ns = ilk_deadline_in_ns(is_far ? UINT64_C(3600000000000) : argument / 12 % 4 * 100000);
    slot->timer = owned_make(slot, true, false);
    const ilk_status status = ilk_pool_submit_at(m->shared.pool, &slot->timer->as.timer, slot->deadline_ns);
    slot->is_far = is_far && status == ILK_OK;
    if (status != ILK_OK && status != ILK_CLOSED) {
        return fuzz_mismatch(m->scene.play, "submit_at answers %s", ilk_status_name(status));
    }
    return submitted(m, slot, slot->timer, status == ILK_OK);
}

static inline bool cancel(struct model *m, struct slot *slot) {
    if (slot->timer == NULL) {
        return true;
    }
    const bool is_cancelled = ilk_pool_cancel(m->shared.pool, &slot->timer->as.timer);
    if (is_cancelled) {
        slot->state = CANCELLED;
        free(slot->timer);
        slot->timer = NULL;
        slot->is_far = false;
    }
    return is_cancelled || !slot->is_far ||
           fuzz_mismatch(m->scene.play, "a timer that is set was not cancelled");
}

#endif
