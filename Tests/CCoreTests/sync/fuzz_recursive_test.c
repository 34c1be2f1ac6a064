/* SPDX-License-Identifier: Apache-2.0
 *
 * Random sequences of the verbs of ilk_recursive_mutex against a model of its owner and the locks that it has
 * (support/fuzz_crew.h). Any waiter may be next.
 *
 * Has been seen to fail on: an unlock too many or too few; a try of the owner that fails.
 */
#include "support/fuzz_crew.h"
#include <interlock/recursive_mutex.h>
#include <stdio.h>
#include <stdlib.h>

static ilk_status take_try(struct actor *actor) {
    return answer_of_try(ilk_recursive_mutex_try_lock(actor->object));
}

static ilk_status take_until(struct actor *actor) {
    return ilk_recursive_mutex_lock_until(actor->object, actor->deadline_ns);
}

static ilk_status take(struct actor *actor) {
    ilk_recursive_mutex_lock(actor->object);
    return ILK_OK;
}

static ilk_status leave(struct actor *actor) {
    ilk_recursive_mutex_unlock(actor->object);
    return ILK_OK;
}

static actor_call *const calls[] = {take_try, take_until, take};

struct model {
    struct scene scene;
    int owner; /* -1: free */
    int locks; /* of the owner */
};

/* The waiter that has the mutex now; -1 where none waits. */
static bool next_owner(struct model *m) {
    struct scene *scene = &m->scene;
    bool some_wait = false;
    const uint64_t end = give_up_at(scene->play);
    for (int attempt = 0; m->owner < 0; attempt++) {
        for (int i = 0; i < ACTORS && m->owner < 0; i++) {
            some_wait = some_wait || scene->waiting[i];
            if (scene->waiting[i] && is_idle(&scene->crew->actors[i])) {
                scene->waiting[i] = false;
                m->owner = i;
                m->locks = 1;
            }
        }
        if (!some_wait) {
            break;
        }
        if (ilk_now_ns() > end) {
            return fuzz_mismatch(scene->play, "the mutex is free and a thread waits");
        }
        breathe(attempt);
    }
    return settles(scene);
}

static bool unlocks(struct model *m) {
    if (m->owner < 0) {
        return true;
    }
    const int owner = m->owner;
    m->locks--;
    if (m->locks > 0) {
        return answers(&m->scene, owner, leave, 0, ILK_OK);
    }
    m->owner = -1;
    tell(&m->scene.crew->actors[owner], leave, m->scene.object, 0);
    return next_owner(m);
}

static bool locks(struct model *m, int number, enum manner manner, uint32_t argument) {
    if (m->scene.waiting[number]) {
        return true;
    }
    if (m->owner < 0 || m->owner == number) {
        m->locks = m->owner < 0 ? 1 : m->locks + 1;
        m->owner = number;
        return answers(&m->scene, number, calls[manner], argument % 2 == 0 ? ILK_FOREVER : 0, ILK_OK);
    }
    if (manner == WAITS) {
        return waits(&m->scene, number, take);
    }
    return answers(&m->scene, number, calls[manner], short_limit(argument), ILK_TIMEDOUT);
}

enum verb { LOCK, LOCK_AGAIN, UNLOCK };

static const struct fuzz_verb verbs[] = {
    [LOCK] = {"lock", 3}, [LOCK_AGAIN] = {"lock again", 2}, [UNLOCK] = {"unlock", 4}};

static bool play_step(struct model *m, struct fuzz_step step) {
    const uint32_t rest = step.argument / ACTORS;
    const enum manner manner = (enum manner)(rest % 3);
    switch ((enum verb)step.verb) {
    case LOCK:
        return locks(m, (int)(step.argument % ACTORS), manner, rest / 3);
    case LOCK_AGAIN:
        return m->owner < 0 || locks(m, m->owner, manner, rest / 3);
    case UNLOCK:
        break;
    }
    return unlocks(m);
}

static bool play(struct fuzz_play *play, const struct fuzz_step *steps, size_t count) {
    uint64_t random = ~play->seed;
    ilk_recursive_mutex *mutex = calloc(1, sizeof *mutex);
    check(mutex != NULL);
    const bool inherits = fuzz_random(&random) % 2 == 0;
    snprintf(play->configuration, sizeof play->configuration, "%s", inherits ? "inheriting" : "plain");
    ilk_recursive_mutex_init(mutex, inherits);
    struct model m = {.scene = scene_of(play, mutex), .owner = -1};
    bool agreed = true;
    for (play->at = 0; agreed && play->at < count; play->at++) {
        agreed = play_step(&m, steps[play->at]);
    }
    while (agreed && m.owner >= 0) {
        agreed = unlocks(&m);
    }
    if (!agreed) {
        crew_abandon();
        return false;
    }
    free(mutex);
    return true;
}
/* contract: recursive_mutex.E */
TEST(every_verb_of_recursive_mutex_agrees_with_a_model) {
    fuzz_with_crew("fuzz_locks: recursive_mutex", verbs, sizeof verbs / sizeof *verbs, play);
}
