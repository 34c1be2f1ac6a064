/* SPDX-License-Identifier: Apache-2.0
 *
 * A crew: four threads that make one call after the other, as a driver of fuzz.h tells them. The next step
 * comes when the kernel says that every thread that must wait sleeps, so that the order of arrival is known
 * and a model of which waiter is next can be exact.
 *
 * What the model expects is waited for with a far bound only. What it does not expect, a wait that returns,
 * is seen at that step or a later one.
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

/* One play: the crew, which of its threads wait, and the object. */
struct scene {
    struct fuzz_play *play;
    struct crew *crew;
    void *object;
    bool waiting[ACTORS];
};

/* The crew is kept from one play to the next. */
struct scene scene_of(struct fuzz_play *play, void *object);

/* After a mismatch: leaves the crew where it is. The next play has a new one. */
void crew_abandon(void);

/* What a call that tries answers here: ILK_OK, or ILK_TIMEDOUT like a limit that has passed. */
ilk_status answer_of_try(bool taken);

/* A third of all limits has passed; the others are so short that they pass while no thread moves. */
uint64_t short_limit(uint32_t argument);

/* Tells a thread to make the call, and does not wait. */
void tell(struct actor *actor, actor_call *call, void *object, uint64_t deadline_ns);

/* Makes the call, which must return at once, and have this answer. */
bool answers(struct scene *scene, int number, actor_call *call, uint64_t deadline_ns, ilk_status expected);

/* Makes the call, which must wait. */
bool waits(struct scene *scene, int number, actor_call *call);

/* Until the threads that must wait sleep and the others have returned. */
bool settles(struct scene *scene);

bool is_idle(struct actor *actor);
bool sleeps_inside(struct actor *actor);

/* For loops that wait for a thread of the crew: when to give up, and what to do between two probes. */
uint64_t give_up_at(const struct fuzz_play *play);
void breathe(int attempt);

/* Plays until the budget is used up, and ends the crew. */
void fuzz_with_crew(const char *name, const struct fuzz_verb *verbs, size_t verb_count,
                    bool (*play)(struct fuzz_play *, const struct fuzz_step *, size_t));

#endif
