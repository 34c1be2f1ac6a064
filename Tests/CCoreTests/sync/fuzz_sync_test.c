/* SPDX-License-Identifier: Apache-2.0
 *
 * Random sequences of the verbs of ilk_semaphore, ilk_mutex, ilk_barrier and ilk_latch against models that
 * know after each step which threads sleep (support/fuzz_crew.h). ilk_mutex promises no order: any of its
 * waiters may be next.
 *
 * Has been seen to fail on: a signal that serves the last of the queue; a mutex whose unlock wakes no waiter;
 * a barrier whose late party stays counted; a latch that opens one early.
 */
#include "support/fuzz_crew.h"
#include <interlock/barrier.h>
#include <interlock/latch.h>
#include <interlock/mutex.h>
#include <interlock/semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- ilk_semaphore ---- */

static ilk_status permit_try(struct actor *actor) {
    return answer_of_try(ilk_semaphore_try_wait(actor->object));
}

static ilk_status permit_until(struct actor *actor) {
    return ilk_semaphore_wait_until(actor->object, actor->deadline_ns);
}

static ilk_status permit_wait(struct actor *actor) {
    ilk_semaphore_wait(actor->object);
    return ILK_OK;
}

static actor_call *const permit_calls[] = {permit_try, permit_until, permit_wait};

struct semaphore_model {
    struct scene scene;
    bool barges;
    uint32_t permits;
    int line[ACTORS];
    int line_length;
};

static bool semaphore_take(struct semaphore_model *m, int number, enum manner manner, uint32_t argument) {
    if (m->permits > 0) {
        m->permits--;
        uint64_t limit = manner == LIMITED && argument % 2 == 0 ? ILK_FOREVER : 0;
        return answers(&m->scene, number, permit_calls[manner], limit, ILK_OK);
    }
    if (manner == WAITS) {
        m->line[m->line_length++] = number;
        return waits(&m->scene, number, permit_wait);
    }
    return answers(&m->scene, number, permit_calls[manner], short_limit(argument), ILK_TIMEDOUT);
}

static void semaphore_serve(struct semaphore_model *m, uint32_t permits) {
    int served = (uint32_t)m->line_length < permits ? m->line_length : (int)permits;
    for (int i = 0; i < served; i++) {
        m->scene.waiting[m->line[i]] = false;
    }
    m->line_length -= served;
    memmove(m->line, m->line + served, (size_t)m->line_length * sizeof *m->line);
    m->permits += permits - (uint32_t)served;
}

/* Permits for waiters count towards the maximum where they may be taken by others. */
static uint32_t semaphore_room(const struct semaphore_model *m) {
    return ILK_SEMAPHORE_MAX - m->permits + (m->barges ? 0 : (uint32_t)m->line_length);
}

static bool semaphore_signal(struct semaphore_model *m, uint32_t permits) {
    if (permits <= semaphore_room(m)) {
        semaphore_serve(m, permits);
        ilk_semaphore_signal(m->scene.object, permits);
    }
    return settles(&m->scene);
}

/* A few; now and then as many as there is room for, or one more. */
static bool semaphore_try_signal(struct semaphore_model *m, uint32_t argument) {
    const uint32_t room = semaphore_room(m);
    const uint32_t few = argument % 4, much = argument / 4 % 16;
    const uint32_t permits = much == 0 ? room : much < 4 ? room + 1 : few;
    const bool fits = permits <= room;
    if (fits) {
        semaphore_serve(m, permits);
    }
    if (ilk_semaphore_try_signal(m->scene.object, permits) != fits) {
        return fuzz_mismatch(m->scene.play, "%u permits were %s", (unsigned)permits,
                             fits ? "refused" : "given");
    }
    return settles(&m->scene);
}

enum semaphore_verb { S_WAIT, S_SIGNAL, S_TRY_SIGNAL };

static const struct fuzz_verb semaphore_verbs[] = {
    [S_WAIT] = {"wait", 8}, [S_SIGNAL] = {"signal", 2}, [S_TRY_SIGNAL] = {"try_signal", 2}};

static bool play_semaphore(struct fuzz_play *play, const struct fuzz_step *steps, size_t count) {
    uint64_t random = ~play->seed;
    ilk_semaphore *semaphore = calloc(1, sizeof *semaphore);
    check(semaphore != NULL);
    struct semaphore_model m = {.scene = scene_of(play, semaphore)};
    m.permits = (uint32_t)(fuzz_random(&random) % 3);
    const bool barges = fuzz_random(&random) % 2 == 0; /* no thread runs that could take a permit first */
    snprintf(play->configuration, sizeof play->configuration, "%u permits%s", (unsigned)m.permits,
             barges ? ", barging" : "");
    m.barges = barges;
    (barges ? ilk_semaphore_init_barging : ilk_semaphore_init)(semaphore, m.permits);
    bool agreed = true;
    for (play->at = 0; agreed && play->at < count; play->at++) {
        const uint32_t argument = steps[play->at].argument;
        const int number = (int)(argument % ACTORS);
        if (steps[play->at].verb == S_SIGNAL) {
            agreed = semaphore_signal(&m, argument % 4);
        } else if (steps[play->at].verb == S_TRY_SIGNAL) {
            agreed = semaphore_try_signal(&m, argument);
        } else if (!m.scene.waiting[number]) {
            agreed = semaphore_take(&m, number, (enum manner)(argument / ACTORS % 3), argument / ACTORS / 3);
        }
        if (agreed && ilk_semaphore_value(semaphore) != (int64_t)m.permits - m.line_length) {
            agreed =
                fuzz_mismatch(play, "value is %lld; %u permits are there, %d threads wait",
                              (long long)ilk_semaphore_value(semaphore), (unsigned)m.permits, m.line_length);
        }
    }
    if (agreed) {
        agreed = semaphore_signal(&m, (uint32_t)m.line_length);
    }
    if (!agreed) {
        crew_abandon();
        return false;
    }
    ilk_semaphore_destroy(semaphore);
    free(semaphore);
    return true;
}

/* ---- ilk_mutex ---- */

static ilk_status mutex_try(struct actor *actor) {
    return answer_of_try(ilk_mutex_try_lock(actor->object));
}

static ilk_status mutex_until(struct actor *actor) {
    return ilk_mutex_lock_until(actor->object, actor->deadline_ns);
}

static ilk_status mutex_wait(struct actor *actor) {
    ilk_mutex_lock(actor->object);
    return ILK_OK;
}

static ilk_status mutex_leave(struct actor *actor) {
    ilk_mutex_unlock(actor->object);
    return ILK_OK;
}

static actor_call *const mutex_calls[] = {mutex_try, mutex_until, mutex_wait};

struct mutex_model {
    struct scene scene;
    int owner; /* -1: free */
};

static bool mutex_hand_over(struct mutex_model *m) {
    struct scene *scene = &m->scene;
    int waiters = 0;
    for (int i = 0; i < ACTORS; i++) {
        waiters += scene->waiting[i] ? 1 : 0;
    }
    tell(&scene->crew->actors[m->owner], mutex_leave, scene->object, 0);
    m->owner = -1;
    const uint64_t end = give_up_at(scene->play);
    for (int attempt = 0; waiters > 0 && m->owner < 0; attempt++) {
        for (int i = 0; i < ACTORS && m->owner < 0; i++) {
            if (scene->waiting[i] && is_idle(&scene->crew->actors[i])) {
                scene->waiting[i] = false;
                m->owner = i;
            }
        }
        if (ilk_now_ns() > end) {
            return fuzz_mismatch(scene->play, "the mutex is free and %d threads wait", waiters);
        }
        breathe(attempt);
    }
    return settles(scene);
}

enum mutex_verb { M_LOCK, M_UNLOCK };

static const struct fuzz_verb mutex_verbs[] = {[M_LOCK] = {"lock", 5}, [M_UNLOCK] = {"unlock", 3}};

static bool mutex_step(struct mutex_model *m, struct fuzz_step step) {
    const int number = (int)(step.argument % ACTORS);
    const uint32_t rest = step.argument / ACTORS;
    if (step.verb == M_UNLOCK) {
        return m->owner < 0 || mutex_hand_over(m);
    }
    if (m->scene.waiting[number]) {
        return true;
    }
    const enum manner manner = (enum manner)(rest % 3);
    if (m->owner == number) { /* a try is no misuse, and fails */
        return manner != TRIES || answers(&m->scene, number, mutex_try, 0, ILK_TIMEDOUT);
    }
    if (m->owner < 0) {
        m->owner = number;
        return answers(&m->scene, number, mutex_calls[manner], rest % 2 == 0 ? ILK_FOREVER : 0, ILK_OK);
    }
    if (manner == WAITS) {
        return waits(&m->scene, number, mutex_wait);
    }
    return answers(&m->scene, number, mutex_calls[manner], short_limit(rest / 3), ILK_TIMEDOUT);
}

static bool play_mutex(struct fuzz_play *play, const struct fuzz_step *steps, size_t count) {
    uint64_t random = ~play->seed;
    ilk_mutex *mutex = calloc(1, sizeof *mutex);
    check(mutex != NULL);
    const bool inherits = fuzz_random(&random) % 2 == 0;
    snprintf(play->configuration, sizeof play->configuration, "%s", inherits ? "inheriting" : "plain");
    ilk_mutex_init(mutex, inherits);
    struct mutex_model m = {.scene = scene_of(play, mutex), .owner = -1};
    bool agreed = true;
    for (play->at = 0; agreed && play->at < count; play->at++) {
        agreed = mutex_step(&m, steps[play->at]);
    }
    while (agreed && m.owner >= 0) {
        agreed = mutex_hand_over(&m);
    }
    if (!agreed) {
        crew_abandon();
        return false;
    }
    free(mutex);
    return true;
}

/* ---- ilk_barrier ---- */

static ilk_status barrier_meet(struct actor *actor) {
    actor->last = ilk_barrier_wait(actor->object);
    return ILK_OK;
}

static ilk_status barrier_meet_until(struct actor *actor) {
    actor->last = true;
    return ilk_barrier_wait_until(actor->object, actor->deadline_ns, &actor->last);
}

static ilk_status barrier_meet_blindly(struct actor *actor) {
    actor->last = false;
    return ilk_barrier_wait_until(actor->object, actor->deadline_ns, NULL);
}

enum barrier_verb { B_WAIT, B_WAIT_UNTIL };

static const struct fuzz_verb barrier_verbs[] = {[B_WAIT] = {"wait", 2}, [B_WAIT_UNTIL] = {"wait_until", 1}};

static bool barrier_step(struct scene *scene, int parties, struct fuzz_step step) {
    const int number = (int)(step.argument % ACTORS);
    if (scene->waiting[number]) {
        return true;
    }
    actor_call *call = step.verb == B_WAIT ? barrier_meet : barrier_meet_until;
    int arrived = 0;
    for (int i = 0; i < ACTORS; i++) {
        arrived += scene->waiting[i] ? 1 : 0;
    }
    if (arrived + 1 == parties) {
        bool met[ACTORS];
        memcpy(met, scene->waiting, sizeof met);
        memset(scene->waiting, 0, sizeof scene->waiting);
        if (!answers(scene, number, call, short_limit(step.argument) * (step.argument % 2), ILK_OK)) {
            return false;
        }
        for (int i = 0; i < ACTORS; i++) {
            if ((met[i] || i == number) && scene->crew->actors[i].last != (i == number)) {
                return fuzz_mismatch(scene->play,
                                     "actor %d of the round, which ended with actor %d, is told %d", i,
                                     number, scene->crew->actors[i].last);
            }
        }
        return true;
    }
    if (call == barrier_meet) {
        return waits(scene, number, call);
    }
    if (step.argument / ACTORS % 4 == 0) {
        call = barrier_meet_blindly;
    }
    if (!answers(scene, number, call, short_limit(step.argument), ILK_TIMEDOUT)) {
        return false;
    }
    return !scene->crew->actors[number].last ||
           fuzz_mismatch(scene->play, "actor %d was late, and is told that it was the last", number);
}

static bool play_barrier(struct fuzz_play *play, const struct fuzz_step *steps, size_t count) {
    uint64_t random = ~play->seed;
    ilk_barrier *barrier = calloc(1, sizeof *barrier);
    check(barrier != NULL);
    const int parties = 1 + (int)(fuzz_random(&random) % ACTORS);
    snprintf(play->configuration, sizeof play->configuration, "%d parties", parties);
    ilk_barrier_init(barrier, (uint32_t)parties);
    struct scene scene = scene_of(play, barrier);
    bool agreed = true;
    for (play->at = 0; agreed && play->at < count; play->at++) {
        agreed = barrier_step(&scene, parties, steps[play->at]);
    }
    for (int i = 0; agreed && i < ACTORS; i++) { /* the rest of the round comes */
        bool anyone_waits = false;
        for (int other = 0; other < ACTORS; other++) {
            anyone_waits = anyone_waits || scene.waiting[other];
        }
        agreed = !anyone_waits || barrier_step(&scene, parties, (struct fuzz_step){B_WAIT, (uint32_t)i});
    }
    if (!agreed) {
        crew_abandon();
        return false;
    }
    ilk_barrier_destroy(barrier);
    free(barrier);
    return true;
}

/* ---- ilk_latch ---- */

static ilk_status latch_try(struct actor *actor) {
    return answer_of_try(ilk_latch_try_wait(actor->object));
}

static ilk_status latch_until(struct actor *actor) {
    return ilk_latch_wait_until(actor->object, actor->deadline_ns);
}

enum latch_verb { L_COUNT_DOWN, L_WAIT };

static const struct fuzz_verb latch_verbs[] = {[L_COUNT_DOWN] = {"count_down", 1}, [L_WAIT] = {"wait", 3}};

static bool latch_step(struct scene *scene, uint32_t *left, struct fuzz_step step) {
    const int number = (int)(step.argument % ACTORS);
    const uint32_t rest = step.argument / ACTORS;
    if (step.verb == L_COUNT_DOWN) {
        if (*left == 0) {
            return true;
        }
        *left -= 1;
        if (*left == 0) {
            memset(scene->waiting, 0, sizeof scene->waiting);
        }
        ilk_latch_count_down(scene->object);
        return settles(scene);
    }
    if (scene->waiting[number]) {
        return true;
    }
    const enum manner manner = (enum manner)(rest % 3);
    if (*left == 0) {
        return answers(scene, number, manner == TRIES ? latch_try : latch_until, 0, ILK_OK);
    }
    if (manner == WAITS) {
        return waits(scene, number, latch_until);
    }
    return answers(scene, number, manner == TRIES ? latch_try : latch_until, short_limit(rest / 3),
                   ILK_TIMEDOUT);
}

static bool play_latch(struct fuzz_play *play, const struct fuzz_step *steps, size_t count) {
    uint64_t random = ~play->seed;
    ilk_latch *latch = calloc(1, sizeof *latch);
    check(latch != NULL);
    uint32_t left = (uint32_t)(fuzz_random(&random) % 5);
    snprintf(play->configuration, sizeof play->configuration, "a count of %u", (unsigned)left);
    ilk_latch_init(latch, left);
    struct scene scene = scene_of(play, latch);
    bool agreed = true;
    for (play->at = 0; agreed && play->at < count; play->at++) {
        agreed = latch_step(&scene, &left, steps[play->at]);
        if (agreed && ilk_latch_count(latch) != left) {
            agreed = fuzz_mismatch(play, "count is %u and not %u", (unsigned)ilk_latch_count(latch),
                                   (unsigned)left);
        }
    }
    while (agreed && left > 0) {
        agreed = latch_step(&scene, &left, (struct fuzz_step){L_COUNT_DOWN, 0});
    }
    if (!agreed) {
        crew_abandon();
        return false;
    }
    free(latch);
    return true;
}
/* contract: semaphore.A */
TEST(every_verb_of_semaphore_agrees_with_a_model) {
    fuzz_with_crew("fuzz_locks: semaphore", semaphore_verbs, sizeof semaphore_verbs / sizeof *semaphore_verbs,
                   play_semaphore);
}
/* contract: mutex.A */
TEST(every_verb_of_mutex_agrees_with_a_model) {
    fuzz_with_crew("fuzz_locks: mutex", mutex_verbs, sizeof mutex_verbs / sizeof *mutex_verbs, play_mutex);
}
/* contract: barrier.C, ilk_barrier_wait */
TEST(every_verb_of_barrier_agrees_with_a_model) {
    fuzz_with_crew("fuzz_locks: barrier", barrier_verbs, sizeof barrier_verbs / sizeof *barrier_verbs,
                   play_barrier);
}
/* contract: ilk_latch_count, ilk_latch_try_wait, latch.C */
TEST(every_verb_of_latch_agrees_with_a_model) {
    fuzz_with_crew("fuzz_locks: latch", latch_verbs, sizeof latch_verbs / sizeof *latch_verbs, play_latch);
}
