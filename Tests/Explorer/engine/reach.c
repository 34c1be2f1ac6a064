/* SPDX-License-Identifier: Apache-2.0
 *
 * Which states a search has reached, and which it should have.
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

static const ex_must_reach *tables[MOST_TABLES];
static unsigned table_count;
static uint64_t reached[EX_STATE_COUNT];

void ex_enter_states(const ex_must_reach *table) {
    if (table_count == MOST_TABLES) {
        abort();
    }
    tables[table_count++] = table;
}

/* Not in setup() and check(): there is nothing to explore. */
void ex_reach(ex_state state) {
    if (ex.running && ex.current != 0) {
        reached[state]++;
    }
}

void ex_reach_begin(void) {
    memset(reached, 0, sizeof reached);
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

unsigned ex_reach_missing(const ex_scenario *scenario, FILE *to) {
    unsigned missing = 0;
    for (unsigned i = 0; i < table_count; i++) {
        for (const ex_must_reach *row = tables[i]; row->scenarios != NULL; row++) {
            for (unsigned j = 0; names_scenario(row, scenario) && row->states[j] != EX_NO_STATE; j++) {
                if (reached[row->states[j]] == 0) {
                    missing++;
                    if (to != NULL) {
                        fprintf(to, "       %s has not reached %s: %s\n", scenario->name,
                                names[row->states[j]], sentences[row->states[j]]);
                    }
                }
            }
        }
    }
    return missing;
}

void ex_reach_print(FILE *to) {
    for (unsigned state = 0; state < EX_STATE_COUNT; state++) {
        if (reached[state] != 0) {
            fprintf(to, "       %-34s %llu\n", names[state], (unsigned long long)reached[state]);
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
        for (const ex_must_reach *row = tables[i]; row->scenarios != NULL; row++) {
            for (const char *list = row->scenarios; *list != '\0';) {
                const char *pattern = next_pattern(&list);
                if (!fits_one(pattern, scenarios, count)) {
                    fprintf(stderr, "explorer: %s must reach %s, and no scenario is called so\n", pattern,
                            names[row->states[0]]);
                    fit = false;
                }
            }
        }
    }
    return fit;
}
