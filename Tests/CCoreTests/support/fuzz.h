/* SPDX-License-Identifier: Apache-2.0
 *
 * Differential fuzzing: random sequences of verbs are played on an object and on a plain model of it, whose
 * answers must be the same. A driver gives its verbs and a function that plays a sequence. On a mismatch this
 * file leaves out steps while the mismatch stays, then prints seed, configuration and the steps left; a
 * crash, a sanitizer's report and a hang print seed, configuration and the number of the step.
 *
 *     INTERLOCK_FUZZ_SECONDS   budget of each driver; 1 if unset
 *     INTERLOCK_FUZZ_ROUNDS    at most so many sequences
 *     INTERLOCK_FUZZ_SEED      seed of the first sequence, greater by 1 for each next; the clock's if unset. A
 *                              seed alone is played once: what a failure printed.
 *
 * Rule for drivers: a step that the state forbids does nothing, so that any part of a sequence is a sequence;
 * and all randomness comes from the seed.
 */
#ifndef INTERLOCK_TESTS_SUPPORT_FUZZ_H
#define INTERLOCK_TESTS_SUPPORT_FUZZ_H

#include "support/test.h"

struct fuzz_verb {
    const char *name;
    unsigned weight; /* how often it comes, beside the others */
};

struct fuzz_step {
    unsigned verb;     /* index of the driver's verbs */
    uint32_t argument; /* the driver takes from it what it wants */
};

struct fuzz_play {
    uint64_t seed;           /* the configuration comes from it */
    char configuration[160]; /* written by the driver before the first step */
    char mismatch[200];      /* written by fuzz_mismatch */
    size_t at;               /* the step being played, from 0; for crashes */
    bool shrinking;          /* a mismatch was found: a missing event may be given up soon */
};

struct fuzz_driver {
    const char *name;
    const struct fuzz_verb *verbs;
    size_t verb_count;
    size_t longest; /* steps of a sequence */
    bool (*play)(struct fuzz_play *play, const struct fuzz_step *steps, size_t count);
};

/* Says what did not agree; false, for the driver to return. */
bool fuzz_mismatch(struct fuzz_play *play, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* splitmix64 (Steele, Lea, Flood, 2014): depends on the state only. */
uint64_t fuzz_random(uint64_t *state);

/* Ends the program on a mismatch. */
void fuzz_run(const struct fuzz_driver *driver);

/* ---- For coverage-guided fuzzing (fuzz_guided.c) ---- */

/* In its program only: takes the driver that fuzz_run would play. */
void fuzz_keep(const struct fuzz_driver *driver) __attribute__((weak));

/* A verb as often as its weight says, and any argument. */
struct fuzz_step fuzz_any_step(const struct fuzz_driver *driver, uint64_t *random);

/* Ends the program on a mismatch; leaves out steps until then. */
void fuzz_play_steps(const struct fuzz_driver *driver, uint64_t seed, struct fuzz_step *steps, size_t count);

#endif
