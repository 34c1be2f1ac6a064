/* SPDX-License-Identifier: Apache-2.0
 *
 * Random sequences of the verbs of ilk_pool, its groups, timers and followers (support/fuzz.h). Its jobs fork, loop,
 * block, submit and wait (pool_fuzz_jobs.h). Behind a wait each accepted job has run once, or was handed back once, and
 * each refused or cancelled one never. No wait ends while the model knows of a job that cannot (pool_fuzz_model.h).
 *
 * The model is as weak as the header: a wait with a passed limit may time out beside jobs that are about to end, and
 * beside a worker that has not come to rest. Of order it knows that of HIGH and LOW jobs of a single worker.
 *
 * Has been seen to fail on: a refused, cancelled or handed-back job that stays in its group; sleepers for a group, for
 * an idle pool and in a job's wait that are not woken; a pool that is idle beside a timer or a busy worker; a follower
 * that is submitted twice, or refused by a closed pool; a job on top of one that does not wait for it; jobs lost on the
 * way between deques, inbox and backlog; a timer that comes early, or stays behind a later one; a pool that does not
 * search when it is stuck; figures that do not fall; a thread too many.
 */
#include "pool/pool_fuzz_submit.h"
#include <stdio.h>

/* ---- Waiting ---- */

static ilk_status wait_for_group(struct actor *actor) {
    return ilk_group_wait_until(actor->object, actor->deadline_ns);
}

static ilk_status wait_for_idle(struct actor *actor) {
    return ilk_pool_wait_idle_until(actor->object, actor->deadline_ns);
}

static ilk_status wait_for_end(struct actor *actor) {
    return ilk_pool_wait_until(actor->object, actor->deadline_ns);
}

static actor_call *call_of(unsigned target) {
    return target < GROUPS ? wait_for_group : target == IDLE_POOL ? wait_for_idle : wait_for_end;
}

static void *object_of(const struct model *m, unsigned target) {
    return target < GROUPS ? (void *)m->shared.groups[target] : (void *)m->shared.pool;
}

/* By this thread. Far where it must end; else with a limit that passes. */
static bool wait_for(struct model *m, unsigned target, uint32_t argument) {
    const bool held = target_is_held(m, target, true), far = must_end(m, target) && argument % 4 != 0;
    struct actor call = {.object = object_of(m, target)};
    call.deadline_ns = far ? give_up_at(m->scene.play) : short_limit(argument / 4);
    const bool is_empty = target < GROUPS ? !is_used(m, (int)target) : m->is_done;
    const ilk_status status = call_of(target)(&call);
    if ((status == ILK_OK && held) || (status != ILK_OK && (far || is_empty))) {
        return fuzz_mismatch(m->scene.play, "the wait for %u answers %s", target, ilk_status_name(status));
    }
    return status != ILK_OK || settle_target(m, target);
}

static bool sleep_for(struct model *m, unsigned target, int actor) {
    if (m->scene.waiting[actor] || !target_is_held(m, target, true)) {
        return true;
    }
    m->targets[actor] = target;
    m->scene.object = object_of(m, target);
    return waits(&m->scene, actor, call_of(target));
}

static void reach_stage(struct model *m) {
    stage_reach(&m->shared.stage, ++m->reached);
    update_holds(m);
}

static bool cancel_far_timers(struct model *m) {
    for (int i = 0; i < SLOTS; i++) {
        if (m->slots[i].is_far && !cancel(m, &m->slots[i])) {
            return false;
        }
    }
    update_holds(m);
    return true;
}

/* The model does not know whether a sleeper returns. */
static bool is_undecided(const struct model *m) {
    for (int i = 0; i < ACTORS; i++) {
        if (m->scene.waiting[i] && !target_is_held(m, m->targets[i], true) && !must_end(m, m->targets[i])) {
            return true;
        }
    }
    return false;
}

/* The sleepers that must return do. */
static bool sleepers_settle(struct model *m) {
    bool returns[ACTORS] = {false};
    if (is_undecided(m)) {
        reach_stage(m);
    }
    if (is_undecided(m) && !cancel_far_timers(m)) {
        return false;
    }
    for (int i = 0; i < ACTORS; i++) {
        returns[i] = m->scene.waiting[i] && !target_is_held(m, m->targets[i], true);
        m->scene.waiting[i] = m->scene.waiting[i] && !returns[i];
    }
    if (!settles(&m->scene)) {
        return false;
    }
    for (int i = 0; i < ACTORS; i++) {
        if (returns[i] && m->scene.crew->actors[i].status != ILK_OK) {
            return fuzz_mismatch(m->scene.play, "a wait without a limit timed out");
        }
        if (returns[i] && !settle_target(m, m->targets[i])) {
            return false;
        }
    }
    return true;
}

/* ---- A pool's life ---- */

static void pool_begin(struct model *m, uint64_t random) {
    ilk_pool_options options = {.threads = 1 + (uint32_t)(random % 3)};
    options.max_threads = random / 4 % 4 == 3 ? 0 : options.threads + (uint32_t)(random / 4 % 4);
    options.kept_threads = random / 16 % 2 == 0 ? 0 : 1;
    options.idle_ns = random / 32 % 2 == 0 ? 0 : 100000;
    check_equal(ilk_pool_create(&m->shared.pool, &options), ILK_OK);
    m->threads = options.threads;
    m->most = options.max_threads == 0 ? options.threads + 64 : options.max_threads;
    m->is_closed = m->hands_back = m->is_done = false;
    memset(m->shared.latest, 0, sizeof m->shared.latest);
}

static void close_now(struct model *m) {
    for (int i = 0; i < SLOTS; i++) {
        struct slot *slot = &m->slots[i];
        slot->cannot_begin =
            slot->state == ACCEPTED && (slot->is_far || (slot->follows && awaits_held(m, slot, true)));
    }
    ilk_pool_close_now(m->shared.pool, on_hand_back, &m->shared);
    m->is_closed = m->hands_back = true;
    for (int i = 0; i < SLOTS; i++) {
        m->slots[i].is_far = false; /* handed back */
    }
    reach_stage(m); /* whether a job has begun that waits for it, the model does not know */
}

/* Closes it, and ends what it has accepted. */
static bool pool_end(struct model *m, uint32_t argument) {
    if (argument % 2 == 0) {
        close_now(m);
    }
    if (!m->is_closed) { /* a second close would wake the workers */
        ilk_pool_close(m->shared.pool);
        m->is_closed = true;
    }
    reach_stage(m);
    if (!cancel_far_timers(m) || !sleepers_settle(m) || !wait_for(m, END_OF_POOL, 1)) {
        return false;
    }
    const ilk_pool_info info = ilk_pool_get_info(m->shared.pool);
    if (info.threads != 0 || info.blocked != 0 || info.timers != 0) {
        return fuzz_mismatch(m->scene.play, "at its end it has %u threads, %u blocked, %u timers",
                             (unsigned)info.threads, (unsigned)info.blocked, (unsigned)info.timers);
    }
    ilk_pool_destroy(m->shared.pool);
    return true;
}

static bool no_fault(struct model *m) {
    const char *text = ilk_atomic_load(&m->shared.fault, memory_order_relaxed);
    return text == NULL || fuzz_mismatch(m->scene.play, "%s", text);
}

/* What holds after every step. */
static bool figures_agree(struct model *m) {
    uint32_t far = 0, near = 0;
    for (int i = 0; i < SLOTS; i++) {
        far += m->slots[i].is_far && m->slots[i].state == ACCEPTED ? 1 : 0;
        near += m->slots[i].timer != NULL && !m->slots[i].is_far && !m->hands_back ? 1 : 0;
    }
    const ilk_pool_info info = ilk_pool_get_info(m->shared.pool);
    if (info.threads > m->most || info.blocked > info.threads || info.refused != 0 || info.timers < far ||
        info.timers > far + near) {
        return fuzz_mismatch(m->scene.play,
                             "figures: %u threads, %u blocked, %u refused, %u timers of %u and %u",
                             (unsigned)info.threads, (unsigned)info.blocked, (unsigned)info.refused,
                             (unsigned)info.timers, (unsigned)far, (unsigned)near);
    }
    return true;
}

/* ---- Steps ---- */

enum verb {
    SUBMIT,
    SUBMIT_MANY,
    FOLLOW,
    SUBMIT_AT,
    CANCEL,
    FORK,
    FOR,
    WAIT,
    SLEEP,
    REACH,
    CLOSE,
    CLOSE_NOW,
    NEW
};

static const struct fuzz_verb verbs[] = {
    [SUBMIT] = {"submit", 20}, [SUBMIT_MANY] = {"submit_many", 6},
    [FOLLOW] = {"follow", 6},  [SUBMIT_AT] = {"at", 8},
    [CANCEL] = {"cancel", 5},  [FORK] = {"fork", 1},
    [FOR] = {"for", 2},        [WAIT] = {"wait", 14},
    [SLEEP] = {"sleep", 8},    [REACH] = {"reach", 8},
    [CLOSE] = {"close", 1},    [CLOSE_NOW] = {"close_now", 1},
    [NEW] = {"new", 2},
};

static bool loop(struct model *m, uint32_t argument) {
    const size_t first = argument % MOST_NUMBERS, end = argument / MOST_NUMBERS % MOST_NUMBERS;
    const bool is_free_now = is_free(m) || m->is_closed;
    return !is_free_now ||
           loops(m->shared.pool, first, end, argument >> 16 & 7, !m->is_closed || first >= end) ||
           fuzz_mismatch(m->scene.play, "a loop from %zu to %zu is wrong", first, end);
}

static bool play_step(struct model *m, enum verb verb, uint32_t argument) {
    switch (verb) {
    case SUBMIT:
        return submit(m, argument);
    case SUBMIT_MANY:
        return submit_many(m, argument);
    case FOLLOW:
        return follow(m, (int)(argument % GROUPS), argument / GROUPS);
    case SUBMIT_AT:
        return submit_at(m, argument);
    case CANCEL:
        for (uint32_t i = 0; i < SLOTS; i++) {
            struct slot *slot = &m->slots[(argument + i) % SLOTS];
            if (slot->timer != NULL) {
                return cancel(m, slot);
            }
        }
        return true;
    case FORK:
        return grows(m->shared.pool, (int)(argument % 3)) ||
               fuzz_mismatch(m->scene.play, "a forked job is missing");
    case FOR:
        return loop(m, argument);
    case WAIT:
        return wait_for(m, argument % TARGETS, argument / TARGETS);
    case SLEEP:
        return sleep_for(m, argument % TARGETS, (int)(argument / TARGETS % ACTORS));
    case REACH:
        reach_stage(m);
        return true;
    case CLOSE:
        ilk_pool_close(m->shared.pool);
        m->is_closed = true;
        return true;
    case CLOSE_NOW:
        close_now(m);
        return true;
    default: /* NEW */
        if (!pool_end(m, argument)) {
            return false;
        }
        pool_begin(m, argument >> 4);
        return true;
    }
}

static bool play_pool(struct fuzz_play *play, const struct fuzz_step *steps, size_t count) {
    uint64_t random = ~play->seed;
    struct model *m = calloc(1, sizeof *m); /* the threads': it stays after a mismatch */
    check(m != NULL);
    m->scene = scene_of(play, NULL);
    m->shared.stage = (struct stage)STAGE_INIT;
    for (int i = 0; i < SLOTS; i++) {
        m->slots[i].group = -1;
    }
    bool agreed = true;
    for (int group = 0; group < GROUPS; group++) {
        agreed = agreed && settle_group(m, group);
    }
    pool_begin(m, fuzz_random(&random));
    snprintf(play->configuration, sizeof play->configuration, "%u threads, %u at most", (unsigned)m->threads,
             (unsigned)m->most);
    for (play->at = 0; agreed && play->at < count; play->at++) {
        agreed = play_step(m, (enum verb)steps[play->at].verb, steps[play->at].argument);
        update_holds(m);
        agreed = agreed && sleepers_settle(m) && no_fault(m) && figures_agree(m);
    }
    if (!agreed || !pool_end(m, (uint32_t)play->seed) || !no_fault(m)) {
        crew_abandon();
        return false;
    }
    for (int group = 0; group < GROUPS; group++) {
        free(m->shared.groups[group]);
    }
    free(m);
    return true;
}
/* contract: pool.A, pool.B, pool.C, pool.G, ilk_pool_wait_idle_until, ilk_pool_get_info */
TEST(every_verb_of_pool_agrees_with_a_model) {
    fuzz_with_crew("fuzz_pool: pool", verbs, sizeof verbs / sizeof *verbs, play_pool);
}
