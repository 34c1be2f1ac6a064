/* SPDX-License-Identifier: Apache-2.0
 *
 * See fuzz_crew.h.
 */
#include "support/fuzz_crew.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

enum { LONGEST = 60 };
enum { IDLE, TOLD, CALLED }; /* phases of an actor */

static void act(void *context) {
    struct actor *self = context;
    for (int number = 1;; number++) {
        stage_await(&self->orders, number);
        if (self->call == NULL) {
            return;
        }
        ilk_atomic_store(&self->phase, CALLED, memory_order_release);
        self->status = self->call(self);
        ilk_atomic_store(&self->phase, IDLE, memory_order_release);
    }
}

static struct crew *crew_make(void) {
    struct crew *crew = calloc(1, sizeof *crew);
    check(crew != NULL);
    for (int i = 0; i < ACTORS; i++) {
        crew->actors[i].orders = (struct stage)STAGE_INIT;
        thread_start(&crew->actors[i].thread, act, &crew->actors[i]);
    }
    return crew;
}

void tell(struct actor *actor, actor_call *call, void *object, uint64_t deadline_ns) {
    actor->call = call;
    actor->object = object;
    actor->deadline_ns = deadline_ns;
    ilk_atomic_store(&actor->phase, TOLD, memory_order_release);
    stage_advance(&actor->orders);
}

static void crew_end(struct crew *crew) {
    for (int i = 0; i < ACTORS; i++) {
        tell(&crew->actors[i], NULL, NULL, 0);
        thread_join(&crew->actors[i].thread);
    }
    free(crew);
}

bool is_idle(struct actor *actor) {
    return ilk_atomic_load(&actor->phase, memory_order_acquire) == IDLE;
}

bool sleeps_inside(struct actor *actor) {
    return ilk_atomic_load(&actor->phase, memory_order_acquire) == CALLED && thread_sleeps(&actor->thread);
}

uint64_t give_up_at(const struct fuzz_play *play) {
    return ilk_deadline_in_ns((play->shrinking ? UINT64_C(500) : UINT64_C(40000)) * 1000000);
}

void breathe(int attempt) {
    if (attempt < 100) {
        sched_yield();
    } else {
        const struct timespec pause = {.tv_nsec = 50000};
        nanosleep(&pause, NULL); /* only to leave the processor */
    }
}

bool settles(struct scene *scene) {
    const uint64_t end = give_up_at(scene->play);
    for (int i = 0; i < ACTORS; i++) {
        struct actor *actor = &scene->crew->actors[i];
        for (int attempt = 0; !(scene->waiting[i] ? sleeps_inside(actor) : is_idle(actor)); attempt++) {
            if (scene->waiting[i] && is_idle(actor)) {
                return fuzz_mismatch(scene->play, "actor %d was to wait, and its call answered %s", i,
                                     ilk_status_name(actor->status));
            }
            if (ilk_now_ns() > end) {
                return fuzz_mismatch(scene->play, "actor %d was %s", i,
                                     scene->waiting[i] ? "to sleep and does not" : "to return and does not");
            }
            breathe(attempt);
        }
    }
    return true;
}

bool answers(struct scene *scene, int number, actor_call *call, uint64_t deadline_ns, ilk_status expected) {
    struct actor *actor = &scene->crew->actors[number];
    tell(actor, call, scene->object, deadline_ns);
    if (!settles(scene)) {
        return false;
    }
    if (actor->status != expected) {
        return fuzz_mismatch(scene->play, "actor %d: %s where %s was to come", number,
                             ilk_status_name(actor->status), ilk_status_name(expected));
    }
    return true;
}

bool waits(struct scene *scene, int number, actor_call *call) {
    tell(&scene->crew->actors[number], call, scene->object, ILK_FOREVER);
    scene->waiting[number] = true;
    return settles(scene);
}

uint64_t short_limit(uint32_t argument) {
    return argument % 3 == 0 ? 0 : ilk_deadline_in_ns(100000 + argument % 400000);
}

ilk_status answer_of_try(bool taken) {
    return taken ? ILK_OK : ILK_TIMEDOUT;
}

static struct crew *crew;

struct scene scene_of(struct fuzz_play *play, void *object) {
    crew = crew == NULL ? crew_make() : crew;
    return (struct scene){.play = play, .crew = crew, .object = object};
}

void crew_abandon(void) {
    crew = NULL;
}

void fuzz_with_crew(const char *name, const struct fuzz_verb *verbs, size_t verb_count,
                    bool (*play)(struct fuzz_play *, const struct fuzz_step *, size_t)) {
    const struct fuzz_driver driver = {name, verbs, verb_count, LONGEST, play};
    fuzz_run(&driver);
    if (crew != NULL) {
        crew_end(crew);
        crew = NULL;
    }
}
