/* SPDX-License-Identifier: Apache-2.0
 *
 * Strategies: how the engine's choices are made. Every choice has alternatives 0 to n - 1, and 0 is
 * always the dull one: the running thread goes on, the load returns the newest store, nothing
 * happens spuriously. A schedule is therefore told by its few choices that are not 0, whatever
 * strategy made them: that list is the replay line.
 */
#ifndef EXPLORER_ENGINE_STRATEGY_H
#define EXPLORER_ENGINE_STRATEGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ex_strategy { EX_DEPTH_FIRST, EX_RANDOM, EX_PCT, EX_REPLAY } ex_strategy;

/* One choice that was not 0: the how-manieth choice of the execution, and what was taken. */
typedef struct ex_choice {
    uint32_t at;
    uint32_t taken;
} ex_choice;

enum { EX_LONGEST_SCHEDULE = 4096 };

typedef struct ex_schedule {
    unsigned length;
    ex_choice choices[EX_LONGEST_SCHEDULE];
} ex_schedule;

/* Sets up a search. `bound` is the preemption bound (depth-first) or the depth (PCT). */
void ex_strategy_begin(ex_strategy strategy, int bound, uint64_t seed);
void ex_strategy_replay(const ex_schedule *schedule);

/* Around each execution; the second is false when a depth-first search has seen everything. */
void ex_strategy_start_execution(void);
bool ex_strategy_next(void);

/* What was chosen in the execution that ended last. */
const ex_schedule *ex_strategy_taken(void);

typedef struct ex_candidate {
    uint8_t thread;
    uint8_t event; /* ex_event: what ends its wait, or none */
} ex_candidate;

/* Who goes on. The first `free` candidates are ordinary; each of the others interrupts a thread that
 * could go on, and counts as a preemption. */
unsigned ex_choose_thread(const ex_candidate *candidates, unsigned count, unsigned free);
/* Which store to read, which sleeper to wake, whether to fail spuriously. */
unsigned ex_choose(unsigned count);

#endif
