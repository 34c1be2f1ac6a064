/* SPDX-License-Identifier: Apache-2.0
 *
 * Which states a search has reached, which it should have, and which it cannot.
 */
#include "explore.h"
#include "state.h"
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_TABLES = 64 };

static const char *const names[] = {"",
#define NAME(name, sentence) #name,
                                    EX_STATES(NAME)};
static const char *const sentences[] = {"",
#define SENTENCE(name, sentence) sentence,
                                        EX_STATES(SENTENCE)};

static struct {
    const ex_must_reach *rows;
    bool cannot; /* be reached */
} tables[MOST_TABLES];
static unsigned table_count;
static uint64_t reached[EX_STATE_COUNT], passed[EX_STATE_COUNT];

void ex_enter_states(const ex_must_reach *table, bool cannot) {
    if (table_count == MOST_TABLES) {
        abort();
    }
    tables[table_count].rows = table;
    tables[table_count++].cannot = cannot;
}

/* Not in setup() and check(): there is nothing to explore. */
void ex_pass(ex_state state, bool holds) {
    if (ex.running && ex.current != 0) {
        passed[state]++;
        reached[state] += holds;
    }
}

void ex_reach(ex_state state) {
    ex_pass(state, true);
}

void ex_reach_begin(void) {
    memset(reached, 0, sizeof reached);
    memset(passed, 0, sizeof passed);
}

/* The pattern that begins at `*list`, which goes on to the next; "" after the last. */
static const char *next_pattern(const char **list) {
    static char pattern[80];
    const size_t length = strcspn(*list, " ");
    snprintf(pattern, sizeof pattern, "%.*s", (int)length, *list);
    *list += length + strspn(*list + length, " ");
    return pattern;
}

static bool names_scenario(const ex_must_reach *row, const ex_scenario *scenario) {
    for (const char *list = row->scenarios; *list != '\0';) {
        if (fnmatch(next_pattern(&list), scenario->name, 0) == 0) {
            return true;
        }
    }
    return false;
}

/* 1 with a line that says so, or 0. */
static unsigned report(FILE *to, bool is_wrong, const ex_scenario *scenario, const char *what,
                       ex_state state) {
    if (is_wrong && to != NULL) {
        fprintf(to, "       %s %s %s: %s\n", scenario->name, what, names[state], sentences[state]);
    }
    return is_wrong;
}

unsigned ex_reach_missing(const ex_scenario *scenario, FILE *to) {
    unsigned missing = 0;
    for (unsigned i = 0; i < table_count; i++) {
        for (const ex_must_reach *row = tables[i].rows; row->scenarios != NULL; row++) {
            if (!names_scenario(row, scenario)) {
                continue;
            }
            for (const ex_state *state = row->states; *state != EX_NO_STATE; state++) {
                const bool wanted = !tables[i].cannot;
                missing += report(to, wanted && reached[*state] == 0, scenario, "has not reached", *state);
                missing += report(to, !wanted && passed[*state] == 0, scenario, "has not passed the mark of",
                                  *state);
                missing +=
                    report(to, !wanted && reached[*state] != 0, scenario, "cannot have reached", *state);
            }
        }
    }
    return missing;
}

void ex_reach_print(FILE *to) {
    for (unsigned state = EX_NO_STATE + 1; state < EX_STATE_COUNT; state++) {
        if (passed[state] != 0) {
            fprintf(to, "       %-34s %llu of %llu\n", names[state], (unsigned long long)reached[state],
                    (unsigned long long)passed[state]);
        }
    }
}

static bool fits_one(const char *pattern, const ex_scenario *const *scenarios, unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        if (fnmatch(pattern, scenarios[i]->name, 0) == 0) {
            return true;
        }
    }
    return false;
}

bool ex_reach_tables_fit(const ex_scenario *const *scenarios, unsigned count) {
    bool fit = true;
    for (unsigned i = 0; i < table_count; i++) {
        for (const ex_must_reach *row = tables[i].rows; row->scenarios != NULL; row++) {
            if (row->states[0] == EX_NO_STATE) {
                fprintf(stderr, "explorer: a row without states: %s\n", row->scenarios);
                fit = false;
            }
            for (const char *list = row->scenarios; *list != '\0';) {
                const char *pattern = next_pattern(&list);
                if (!fits_one(pattern, scenarios, count)) {
                    fprintf(stderr, "explorer: a row is for %s, and no scenario is called so\n", pattern);
                    fit = false;
                }
            }
        }
    }
    return fit;
}
