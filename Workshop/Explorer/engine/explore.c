/* SPDX-License-Identifier: Apache-2.0
 *
 * The search loop, and shortening. See explore.h.
 */
#include "explore.h"
#include "state.h"
#include <stdlib.h>
#include <string.h>
#include <time.h>

double ex_seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void keep_schedule(ex_finding *finding) {
    const ex_schedule *taken = ex_strategy_taken();
    finding->schedule.length = taken->length;
    memcpy(finding->schedule.choices, taken->choices, taken->length * sizeof taken->choices[0]);
    finding->steps = ex.steps;
}

void ex_find(const ex_scenario *scenario, const ex_search *search, ex_finding *finding) {
    finding->verdict = EX_CLEAN;
    finding->executions = 0;
    finding->exhausted = false;
    double start = ex_seconds();
    ex_strategy_begin(search->strategy, search->bound, search->seed);
    while (finding->executions < search->executions) {
        ex_verdict verdict = ex_run_once(scenario, search->weak, false);
        finding->executions++;
        if (verdict != EX_CLEAN) {
            finding->verdict = verdict;
            keep_schedule(finding);
            break;
        }
        if (!ex_strategy_next()) {
            finding->exhausted = true;
            break;
        }
    }
    finding->seconds = ex_seconds() - start;
}

/* Fewer choices other than the default, then fewer steps. */
static bool is_shorter(unsigned choices, uint32_t steps, const ex_finding *than) {
    return choices < than->schedule.length || (choices == than->schedule.length && steps < than->steps);
}

static bool try_schedule(const ex_scenario *scenario, bool weak, const ex_schedule *schedule,
                         ex_finding *finding) {
    ex_strategy_replay(schedule);
    if (ex_run_once(scenario, weak, false) != finding->verdict) {
        return false;
    }
    if (!is_shorter(ex_strategy_taken()->length, ex.steps, finding)) {
        return false;
    }
    keep_schedule(finding);
    return true;
}

/* Leaves out one choice, or two adjacent ones, as long as the rest still fails. */
static void leave_choices_out(const ex_scenario *scenario, bool weak, ex_finding *finding) {
    static ex_schedule shorter;
    bool improved = true;
    while (improved) {
        improved = false;
        for (unsigned width = 2; width >= 1 && !improved; width--) {
            for (unsigned left_out = 0; left_out + width <= finding->schedule.length && !improved;
                 left_out++) {
                shorter.length = 0;
                for (unsigned i = 0; i < finding->schedule.length; i++) {
                    if (i < left_out || i >= left_out + width) {
                        shorter.choices[shorter.length++] = finding->schedule.choices[i];
                    }
                }
                improved = try_schedule(scenario, weak, &shorter, finding);
            }
        }
    }
}

enum { SHORTENING_EXECUTIONS = 200000 };

void ex_shorten(const ex_scenario *scenario, const ex_search *search, ex_finding *finding) {
    leave_choices_out(scenario, search->weak, finding);
    /* Depth-first with few preemptions often finds a simpler schedule. */
    static ex_finding simpler;
    for (int bound = 0; bound <= 3; bound++) {
        ex_search depth_first = {EX_DEPTH_FIRST, search->weak, bound, 0, SHORTENING_EXECUTIONS / 4};
        ex_find(scenario, &depth_first, &simpler);
        if (simpler.verdict == finding->verdict) {
            leave_choices_out(scenario, search->weak, &simpler);
            if (is_shorter(simpler.schedule.length, simpler.steps, finding)) {
                finding->schedule = simpler.schedule;
                finding->steps = simpler.steps;
            }
            break;
        }
    }
}

void ex_print_schedule(FILE *to, const ex_schedule *schedule) {
    if (schedule->length == 0) {
        fputc('-', to);
    }
    for (unsigned i = 0; i < schedule->length; i++) {
        fprintf(to, "%s%u:%u", i == 0 ? "" : ",", schedule->choices[i].at, schedule->choices[i].taken);
    }
}

bool ex_read_schedule(const char *text, ex_schedule *schedule) {
    schedule->length = 0;
    if (strcmp(text, "-") == 0) {
        return true;
    }
    while (*text != '\0') {
        char *end;
        unsigned long at = strtoul(text, &end, 10);
        if (end == text || *end != ':' || schedule->length == EX_LONGEST_SCHEDULE) {
            return false;
        }
        text = end + 1;
        unsigned long taken = strtoul(text, &end, 10);
        if (end == text || (*end != ',' && *end != '\0')) {
            return false;
        }
        schedule->choices[schedule->length++] = (ex_choice){(uint32_t)at, (uint32_t)taken};
        text = *end == ',' ? end + 1 : end;
    }
    return true;
}

void ex_show(FILE *to, const ex_scenario *scenario, bool weak, const ex_schedule *schedule) {
    ex_strategy_replay(schedule);
    ex_verdict verdict = ex_run_once(scenario, weak, true);
    fprintf(to, "\n%s: %s", scenario->name, ex_verdict_name(verdict));
    if (verdict != EX_CLEAN) {
        fprintf(to, ": %s", ex.message);
        if (ex.failed_file != NULL) {
            fprintf(to, " (%s:%d)", ex.failed_file, ex.failed_line);
        }
        fprintf(to, "\n  in %s", ex_title(ex.current));
    }
    fprintf(to, "\n  replay: scripts/explore --replay '%s %s ", scenario->name, weak ? "weak" : "sc");
    ex_print_schedule(to, schedule);
    fprintf(to, "'\n\n");
    ex_trace_print(to);
    fputc('\n', to);
}
