/* SPDX-License-Identifier: Apache-2.0
 *
 * What history_native runs: subjects, each an object of the real core, the calls that its threads make, and the model
 * that their answers must fit.
 */
#ifndef EXPLORER_HISTORY_NATIVE_H
#define EXPLORER_HISTORY_NATIVE_H

#include "models.h"
#include <interlock/deadline.h>

/* Bursts begin together; otherwise one thread would end before the next runs. */
enum { TURNS = 16384, BURST = 64, MOST_THREADS = 4 };
/* Where threads sleep, a busy machine takes a millisecond a turn. */
enum { TURNS_THAT_SLEEP = TURNS / 8 };

typedef struct subject {
    const char *name, *what;
    unsigned threads; /* 0: one for each core, which suits calls that do not sleep */
    const ex_model *model;
    const void *parameters;
    void (*prepare)(void); /* alone: a new object */
    /* A thread makes TURNS of them, or TURNS_THAT_SLEEP, of some calls each. No turn waits for one of a later burst. */
    void (*turn)(unsigned thread, uint64_t random, uint64_t number);
} subject;

/* Each ends with one without a name. */
extern const subject ring_subjects[], lock_subjects[], condition_subjects[], wait_set_subjects[];

/* Some microseconds from now, or, one in four, a deadline that has passed. */
static inline uint64_t soon(uint64_t random) {
    return random % 4 == 0 ? 0 : ilk_deadline_in_ns(random % 64 * 1000);
}

#endif
