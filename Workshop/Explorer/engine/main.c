/* SPDX-License-Identifier: Apache-2.0
 *
 * The command line of every explorer program, which scripts/explore builds and calls. Exit status 0: every
 * scenario ended as it declares; 1: one did not; 2: the command was not understood.
 */
#include "explore.h"
#include "state.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_SCENARIOS = 1024 };

static const ex_scenario *scenarios[MOST_SCENARIOS];
static unsigned scenario_count;

void ex_enter(const ex_scenario *scenario) {
    if (scenario_count == MOST_SCENARIOS) {
        fputs("explorer: too many scenarios\n", stderr);
        exit(2);
    }
    scenarios[scenario_count++] = scenario;
}

typedef struct budget {
    uint64_t depth_first, random, pct; /* pct: for each depth */
} budget;

static const budget smoke = {1500, 400, 250};
static const budget hunt = {20000, 2000, 1000};
static const budget quick = {60000, 2000, 1300};
static const budget standard = {4000000, 40000, 30000};
static const budget all = {20000000, 400000, 200000};

static struct {
    const char *names[64];
    unsigned name_count;
    const char *strategy; /* NULL: the whole plan */
    int bound;            /* -1: the scenario's */
    uint64_t executions;  /* 0: the budget's */
    uint64_t seed;
    unsigned modes; /* 0: the scenario's */
    unsigned slice, slices;
    bool quiet, is_quick, first_failure, rate, states, any_states;
    const budget *budget;
} options = {.bound = -1, .seed = 1, .slices = 1, .budget = &standard};

static int by_name(const void *a, const void *b) {
    return strcmp((*(const ex_scenario *const *)a)->name, (*(const ex_scenario *const *)b)->name);
}

static bool is_asked_for(const ex_scenario *scenario) {
    for (unsigned i = 0; i < options.name_count; i++) {
        size_t length = strlen(options.names[i]);
        bool prefix = length > 0 && options.names[i][length - 1] == '*';
        if (prefix ? strncmp(options.names[i], scenario->name, length - 1) == 0
                   : strcmp(options.names[i], scenario->name) == 0) {
            return true;
        }
    }
    return options.name_count == 0;
}

/* A search of one's own choice need not reach what the whole plan does. */
static bool judges_states(void) {
    return !options.any_states && options.strategy == NULL && options.executions == 0 && options.bound < 0;
}

static const char *search_label(const ex_search *search, char *text, size_t size) {
    static const char *const names[] = {"dfs", "random", "pct", "replay"};
    if (search->strategy == EX_RANDOM || search->bound >= EX_UNBOUNDED) {
        snprintf(text, size, "%s", names[search->strategy]);
    } else {
        snprintf(text, size, "%s:%d", names[search->strategy], search->bound);
    }
    return text;
}

static unsigned make_plan(const ex_scenario *scenario, bool weak, ex_search *plan) {
    int bound = weak ? scenario->weak_bound : scenario->sc_bound;
    bound = bound != 0 ? bound : weak ? 2 : 3;
    if (options.bound >= 0) {
        bound = options.bound;
    }
    uint64_t weight = scenario->weight != 0 ? scenario->weight : 1;
    const budget *b = options.is_quick && scenario->slow ? &smoke : options.budget;
    unsigned count = 0;
    const char *only = options.strategy;
    if (only == NULL || strcmp(only, "dfs") == 0) {
        plan[count++] = (ex_search){EX_DEPTH_FIRST, weak, bound, 0, b->depth_first};
    }
    if (only == NULL || strcmp(only, "random") == 0) {
        plan[count++] = (ex_search){EX_RANDOM, weak, 0, options.seed, b->random * weight};
    }
    if (only == NULL || strcmp(only, "pct") == 0) {
        for (int depth = 3; depth <= 5; depth++) {
            if (options.bound < 0 || options.bound == depth || only == NULL) {
                plan[count++] = (ex_search){EX_PCT, weak, depth, options.seed, b->pct * weight};
            }
        }
    }
    for (unsigned i = 0; i < count && options.executions != 0; i++) {
        plan[i].executions = options.executions;
    }
    return count;
}

static bool still_fails(const ex_scenario *scenario) {
    static ex_schedule schedule;
    for (unsigned i = 0; i < 4 && scenario->once_failed[i] != NULL; i++) {
        const char *text = scenario->once_failed[i];
        bool weak = strncmp(text, "weak ", 5) == 0;
        if (!ex_read_schedule(strchr(text, ' ') + 1, &schedule)) {
            fprintf(stderr, "explorer: %s: not a schedule: %s\n", scenario->name, text);
            exit(2);
        }
        ex_strategy_replay(&schedule);
        if (ex_run_once(scenario, weak, false) != EX_CLEAN) {
            ex_show(stdout, scenario, weak, &schedule);
            return true;
        }
    }
    return false;
}

/* Two pairs of verdicts are one fault seen at different moments: a race and a use of ended memory; a deadlock
 * and a lost wake-up, if the word has its old value again. */
static bool is_the_same_fault(ex_verdict found, ex_verdict wanted) {
    bool both_memory =
        (found == EX_RACE || found == EX_DEAD_MEMORY) && (wanted == EX_RACE || wanted == EX_DEAD_MEMORY);
    bool both_asleep = (found == EX_DEADLOCK || found == EX_LOST_WAKEUP) &&
                       (wanted == EX_DEADLOCK || wanted == EX_LOST_WAKEUP);
    return found == wanted || both_memory || both_asleep;
}

/* Runs one mode's plan. True if it ended as the scenario declares. */
static bool run_mode(const ex_scenario *scenario, bool weak) {
    static ex_finding finding, best;
    static ex_search best_by;
    ex_verdict wanted = scenario->finds;
    if (scenario->finds_in != 0 && (scenario->finds_in & (weak ? EX_WEAK : EX_SC)) == 0) {
        wanted = EX_CLEAN;
    }
    ex_search plan[8];
    unsigned count = make_plan(scenario, weak, plan);
    best.verdict = EX_CLEAN;
    ex_reach_begin();
    bool wrong = false;
    double seconds = 0;
    char line[512];
    int used = 0;
    for (unsigned i = 0; i < count && !wrong; i++) {
        ex_find(scenario, &plan[i], &finding);
        seconds += finding.seconds;
        if (options.rate) {
            char rate_label[24];
            printf("%s, %s, %s: %.0f executions a second\n", scenario->name, weak ? "weak" : "sc",
                   search_label(&plan[i], rate_label, sizeof rate_label),
                   (double)finding.executions / finding.seconds);
        }
        const char *how = finding.verdict != EX_CLEAN ? "!" : finding.exhausted ? "." : "";
        char label[24];
        used += snprintf(line + used, sizeof line - (size_t)used, "  %s %llu%s",
                         search_label(&plan[i], label, sizeof label), (unsigned long long)finding.executions,
                         how);
        wrong = finding.verdict != EX_CLEAN && !is_the_same_fault(finding.verdict, wanted);
        if (finding.verdict != EX_CLEAN &&
            (wrong || best.verdict == EX_CLEAN || finding.schedule.length < best.schedule.length)) {
            best = finding;
            best_by = plan[i];
        }
        if (finding.exhausted && wanted == EX_CLEAN && plan[i].bound >= EX_UNBOUNDED) {
            break; /* every schedule has been seen */
        }
    }
    const bool is_clean = best.verdict == EX_CLEAN;
    if (is_clean && judges_states() && ex_reach_missing(scenario, NULL) > 0) {
        best.verdict = EX_UNREACHED;
    }
    bool as_wanted = !wrong && is_the_same_fault(best.verdict, wanted);
    printf("%-6s %-44s %-4s%s  %.1f s\n", as_wanted ? (wanted == EX_CLEAN ? "clean" : "found") : "WRONG",
           scenario->name, weak ? "weak" : "sc", line, seconds);
    if (options.states) {
        ex_reach_print(stdout);
    }
    if (!as_wanted && is_clean && wanted != EX_CLEAN) {
        printf("       expected: %s (%s); nothing was found\n", ex_verdict_name(wanted), scenario->claim);
    } else if (best.verdict == EX_UNREACHED && (!as_wanted || !options.quiet)) {
        (void)ex_reach_missing(scenario, stdout);
    } else if (!is_clean && (!as_wanted || !options.quiet)) {
        ex_shorten(scenario, &best_by, &best);
        ex_show(stdout, scenario, weak, &best.schedule);
    }
    fflush(stdout);
    return as_wanted;
}

static bool run_scenario(const ex_scenario *scenario) {
    bool right = true;
    if (scenario->once_failed[0] != NULL && still_fails(scenario)) {
        right = false;
    }
    unsigned modes = scenario->modes != 0 ? scenario->modes : EX_SC | EX_WEAK;
    if (options.modes != 0) {
        modes &= options.modes;
    }
    if (modes & EX_SC) {
        right &= run_mode(scenario, false);
    }
    if ((modes & EX_WEAK) && (right || !options.first_failure)) {
        right &= run_mode(scenario, true);
    }
    return right;
}

static const ex_scenario *find_scenario(const char *name, size_t length) {
    for (unsigned i = 0; i < scenario_count; i++) {
        if (strlen(scenarios[i]->name) == length && strncmp(scenarios[i]->name, name, length) == 0) {
            return scenarios[i];
        }
    }
    return NULL;
}

/* "NAME sc|weak SCHEDULE", as a finding prints it. */
static int replay(const char *text) {
    static ex_schedule schedule;
    const char *space = strchr(text, ' ');
    const char *second = space != NULL ? strchr(space + 1, ' ') : NULL;
    if (second == NULL || !ex_read_schedule(second + 1, &schedule)) {
        fprintf(stderr, "explorer: a replay line reads NAME sc|weak SCHEDULE\n");
        return 2;
    }
    const ex_scenario *scenario = find_scenario(text, (size_t)(space - text));
    if (scenario == NULL) {
        fprintf(stderr, "explorer: no scenario of that name: %.*s\n", (int)(space - text), text);
        return 2;
    }
    ex_show(stdout, scenario, strncmp(space + 1, "weak", 4) == 0, &schedule);
    return ex.verdict == EX_CLEAN ? 0 : 1;
}

static void list(void) {
    for (unsigned i = 0; i < scenario_count; i++) {
        printf("%-46s %s%s\n", scenarios[i]->name, scenarios[i]->finds != EX_CLEAN ? "[broken] " : "",
               scenarios[i]->claim);
    }
}

static int usage(void) {
    fputs("usage: explore [SCENARIO|PREFIX*]... [--sc|--weak] [--strategy dfs|random|pct] [--bound N]\n"
          "               [--executions N] [--seed N] [--smoke|--hunt|--quick|--all] [--slice I/N] [--quiet] "
          "[--first]\n"
          "               [--states] [--any-states]\n"
          "       explore --replay 'NAME sc|weak SCHEDULE'\n"
          "       explore --list\n"
          "In the results, \".\" after a count: depth-first saw every schedule within its bound;\n"
          "\"!\": found at that execution.\n",
          stderr);
    return 2;
}

int main(int count, char **arguments) {
    qsort(scenarios, scenario_count, sizeof scenarios[0], by_name);
    for (int i = 1; i < count; i++) {
        const char *argument = arguments[i];
        const char *value = i + 1 < count ? arguments[i + 1] : NULL;
        if (strcmp(argument, "--list") == 0) {
            list();
            return 0;
        } else if (strcmp(argument, "--replay") == 0 && value != NULL) {
            return replay(value);
        } else if (strcmp(argument, "--strategy") == 0 && value != NULL) {
            options.strategy = arguments[++i];
        } else if (strcmp(argument, "--bound") == 0 && value != NULL) {
            options.bound = atoi(arguments[++i]);
        } else if (strcmp(argument, "--seed") == 0 && value != NULL) {
            options.seed = strtoull(arguments[++i], NULL, 10);
        } else if (strcmp(argument, "--executions") == 0 && value != NULL) {
            options.executions = strtoull(arguments[++i], NULL, 10);
        } else if (strcmp(argument, "--slice") == 0 && value != NULL) {
            if (sscanf(arguments[++i], "%u/%u", &options.slice, &options.slices) != 2 ||
                options.slices == 0) {
                return usage();
            }
            options.slice--;
        } else if (strcmp(argument, "--sc") == 0) {
            options.modes = EX_SC;
        } else if (strcmp(argument, "--weak") == 0) {
            options.modes = EX_WEAK;
        } else if (strcmp(argument, "--quick") == 0) {
            options.budget = &quick;
            options.is_quick = true;
            options.quiet = true;
        } else if (strcmp(argument, "--smoke") == 0) {
            options.budget = &smoke;
            options.quiet = true;
        } else if (strcmp(argument, "--hunt") == 0) {
            options.budget = &hunt;
            options.quiet = true;
        } else if (strcmp(argument, "--all") == 0) {
            options.budget = &all;
            options.quiet = true;
        } else if (strcmp(argument, "--quiet") == 0) {
            options.quiet = true;
        } else if (strcmp(argument, "--rate") == 0) {
            options.rate = true;
        } else if (strcmp(argument, "--states") == 0) {
            options.states = true;
        } else if (strcmp(argument, "--any-states") == 0) {
            options.any_states = true;
        } else if (strcmp(argument, "--first") == 0) {
            options.first_failure = true;
        } else if (argument[0] != '-' && options.name_count < 64) {
            options.names[options.name_count++] = argument;
        } else {
            return usage();
        }
    }
    if (!ex_reach_tables_fit(scenarios, scenario_count)) {
        return 1;
    }
    unsigned ran = 0, wrong = 0;
    double start = ex_seconds();
    for (unsigned i = 0; i < scenario_count; i++) {
        if (is_asked_for(scenarios[i]) && ran++ % options.slices == options.slice) {
            wrong += !run_scenario(scenarios[i]);
            if (wrong > 0 && options.first_failure) {
                return 1;
            }
        }
    }
    if (ran == 0) {
        fputs("explorer: no scenario of that name; --list shows them\n", stderr);
        return 2;
    }
    printf("%u scenarios, %u not as they should be, %.1f s, seed %llu\n", ran, wrong, ex_seconds() - start,
           (unsigned long long)options.seed);
    return wrong == 0 ? 0 : 1;
}
