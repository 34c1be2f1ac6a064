/* SPDX-License-Identifier: Apache-2.0
 *
 * Searching: many executions of one scenario under one strategy, and shortening a finding.
 */
#ifndef EXPLORER_ENGINE_EXPLORE_H
#define EXPLORER_ENGINE_EXPLORE_H

#include "../explorer.h"
#include "strategy.h"
#include <stdio.h>

typedef struct ex_search {
    ex_strategy strategy;
    bool weak;
    int bound; /* preemptions for depth-first, depth for PCT */
    uint64_t seed;
    uint64_t executions; /* at most */
} ex_search;

typedef struct ex_finding {
    ex_verdict verdict;  /* EX_CLEAN: nothing found */
    uint64_t executions; /* run, or until it was found */
    bool exhausted;      /* depth-first has seen everything within the bound */
    double seconds;
    uint32_t steps;       /* of the failing execution */
    ex_schedule schedule; /* that fails */
} ex_finding;

void ex_find(const ex_scenario *scenario, const ex_search *search, ex_finding *finding);

/* Searches for a shorter schedule with the same verdict. */
void ex_shorten(const ex_scenario *scenario, const ex_search *search, ex_finding *finding);

/* Replays and prints the finding. */
void ex_show(FILE *to, const ex_scenario *scenario, bool weak, const ex_schedule *schedule);

/* "3:1,17:2", or "-" for no choices. Reading returns false for anything else. */
void ex_print_schedule(FILE *to, const ex_schedule *schedule);
bool ex_read_schedule(const char *text, ex_schedule *schedule);

/* The states reached since ex_reach_begin: how many the scenario's rows find wrong, all, and whether each row of each
 * table names a state, and fits a scenario. */
void ex_reach_begin(void);
unsigned ex_reach_missing(const ex_scenario *scenario, FILE *to);
void ex_reach_print(FILE *to);
bool ex_reach_tables_fit(const ex_scenario *const *scenarios, unsigned count);

double ex_seconds(void);

#endif
