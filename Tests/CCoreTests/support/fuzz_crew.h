/* SPDX-License-Identifier: Apache-2.0
 *
 * A crew: four threads that make one call after the other, as a driver of fuzz.h tells them. The next step
 * comes when the kernel says that every thread that must wait sleeps: the order of arrival is known, and a
 * model can be exact. What the model expects has a far bound only; a wait that returns unexpectedly is seen
 * later.
 */
#ifndef INTERLOCK_TESTS_SUPPORT_FUZZ_CREW_H
#define INTERLOCK_TESTS_SUPPORT_FUZZ_CREW_H

#include "support/fuzz.h"
#include <interlock/inline/atomic.h>

enum { ACTORS = 4 };

struct actor;
typedef ilk_status actor_call(struct actor *actor);

struct actor {
    struct thread thread;
    struct stage orders; /* the number of calls asked for */
    actor_call *call;    /* NULL: end */
    void *object;
    uint64_t deadline_ns;
    bool last;         /* a barrier's answer */
    ilk_status status; /* of the last call */
    ILK_ATOMIC(int) phase;
};

struct crew {
    struct actor actors[ACTORS];
};

struct scene {
    struct fuzz_play *play;
    struct crew *crew;
    void *object;
    bool waiting[ACTORS];
};

struct scene scene_of(struct fuzz_play *play, void *object);

/* After a mismatch: leaves the crew where it is; the next play has a new one. */
void crew_abandon(void);

/* What a try answers here: ILK_OK, or ILK_TIMEDOUT. */
ilk_status answer_of_try(bool taken);

/* A third of all limits has passed; the others pass while no thread moves. */
uint64_t short_limit(uint32_t argument);

void tell(struct actor *actor, actor_call *call, void *object, uint64_t deadline_ns);

/* The call must return at once with this answer. */
bool answers(struct scene *scene, int number, actor_call *call, uint64_t deadline_ns, ilk_status expected);

/* Makes the call, which must wait. */
bool waits(struct scene *scene, int number, actor_call *call);

/* Until the threads that must wait sleep and the others have returned. */
bool settles(struct scene *scene);

bool is_idle(struct actor *actor);
bool sleeps_inside(struct actor *actor);

/* For loops that wait for the crew: when to give up, and what to do between two probes. */
uint64_t give_up_at(const struct fuzz_play *play);
void breathe(int attempt);

void fuzz_with_crew(const char *name, const struct fuzz_verb *verbs, size_t verb_count,
                    bool (*play)(struct fuzz_play *, const struct fuzz_step *, size_t));

#endif
