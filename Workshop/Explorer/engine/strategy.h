/* SPDX-License-Identifier: Apache-2.0
 *
 * Strategies make the engine's choices. Alternative 0 is the default: the running thread goes on, the load
 * returns the newest store, no spurious event happens. The few other choices are a schedule's replay line.
 */
#ifndef EXPLORER_ENGINE_STRATEGY_H
#define EXPLORER_ENGINE_STRATEGY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum ex_strategy { EX_DEPTH_FIRST, EX_RANDOM, EX_PCT, EX_REPLAY } ex_strategy;

/* Its index in the execution, and its alternative. */
typedef struct ex_choice {
    uint32_t at;
    uint32_t taken;
} ex_choice;

enum { EX_LONGEST_SCHEDULE = 4096 };

typedef struct ex_schedule {
    unsigned length;
    ex_choice choices[EX_LONGEST_SCHEDULE];
} ex_schedule;

/* `bound` is the preemption bound (depth-first) or the depth (PCT). */
void ex_strategy_begin(ex_strategy strategy, int bound, uint64_t seed);
void ex_strategy_replay(const ex_schedule *schedule);

/* Around each execution; the second is false after a complete depth-first search. */
void ex_strategy_start_execution(void);
bool ex_strategy_next(void);

/* The choices of the execution that ended last. */
const ex_schedule *ex_strategy_taken(void);

typedef struct ex_candidate {
    uint8_t thread;
    uint8_t event; /* ex_event: what ends its wait, or none */
} ex_candidate;

/* Chooses the next thread. A candidate from `free` on is a preemption. */
unsigned ex_choose_thread(const ex_candidate *candidates, unsigned count, unsigned free);
/* Chooses a store to read, a sleeper to wake, or a spurious failure. */
unsigned ex_choose(unsigned count);

#endif
