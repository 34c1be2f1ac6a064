/* SPDX-License-Identifier: Apache-2.0
 *
 * Histories of real threads on the real core.
 *
 *     history_native [--operations N] [--seconds N] [--seed N] [SUBJECT...]
 *
 * runs and checks subjects (native.h), those whose names fit one of the patterns, until they have made so many
 * operations, and so long; half a second at least. Where there are two cores, one whose operations hardly overlap is
 * wrong too. Without a pattern two planted faults follow, which must be found and blamed: one changed result, and a
 * register that sometimes returns an old value, which is the subject "faulty", too.
 */
#include "native.h"
#include "recorder.h"
#include <fnmatch.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { ATTEMPTS = 30, ENOUGH_OVERLAPS = 200, RECORDED = 8 /* of a thread in a turn */, MOST_SECONDS = 120 };
/* Before a thread yields between bursts. On a busy machine one that yields soon is long away, and the other alone: of
 * operations on mpmc, spsc and deque beside two other programs 30, 48 and 28 % overlapped one of another kind with 200
 * probes, at times under 3 %, and 50, 69 and 68 % with 100,000. */
enum { PROBES = 100000, PROBES_ON_SHARED_CORES = 200 };
static const double LEAST_SECONDS = 0.5; /* finds a downgrade that lets a writer in */

static struct {
    ex_recorder *recorder;
    atomic_uint arrived, burst;
    const subject *subject;
    unsigned threads, probes, turns;
    uint64_t seed, runs;
    unsigned wrong;
} s;

static atomic_uint cell;

static _Thread_local unsigned self;

size_t ex_begin(unsigned kind, uint64_t argument) {
    if (!ex_record_call(s.recorder, self, kind, argument)) {
        fputs("history_native: a recorder is full\n", stderr);
        exit(2);
    }
    return 0;
}
void ex_not_early(uint64_t deadline_ns) {
    if (ilk_deadline_in_ns(0) < deadline_ns) {
        printf("%s: WRONG: a wait timed out before its deadline\n", s.subject->name);
        exit(1);
    }
}
void ex_not_before(size_t operation, uint64_t moment) {
    (void)operation;
    ex_not_early(moment);
    ex_record_not_before(s.recorder, self, moment);
}
void ex_end(size_t operation, uint64_t result) {
    (void)operation;
    ex_record_return(s.recorder, self, result);
}

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

/* The planted fault: reads sometimes return the value before the last. */
static void faulty_turn(unsigned thread, uint64_t random, uint64_t number) {
    static _Thread_local unsigned kept;
    if (random % 4 == 0) {
        unsigned value = (unsigned)(number * MOST_THREADS + thread + 1);
        const size_t operation = ex_begin(EX_WRITE, value);
        atomic_store(&cell, value);
        ex_end(operation, 0);
    } else {
        const size_t operation = ex_begin(EX_READ, 0);
        unsigned value = atomic_load(&cell);
        unsigned old = number % 1000 == 999 ? kept : value;
        kept = value;
        ex_end(operation, old);
    }
}

static void prepare_cell(void) {
    atomic_store(&cell, 0);
}
static const subject faulty = {"faulty", "old values", 0, &ex_register, NULL, prepare_cell, faulty_turn};

/* Between bursts only: inside one, threads share only the object. */
static void begin_together(void) {
    unsigned burst = atomic_load(&s.burst);
    if (atomic_fetch_add(&s.arrived, 1) + 1 == s.threads) {
        atomic_store(&s.arrived, 0);
        atomic_fetch_add(&s.burst, 1);
        return;
    }
    for (unsigned probes = 0; atomic_load(&s.burst) == burst; probes++) {
        if (probes > s.probes) {
            sched_yield();
        }
    }
}

static unsigned allowed_cores(void) {
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? (unsigned)CPU_COUNT(&allowed) : 1;
}

static void pin(unsigned thread) {
    cpu_set_t allowed, one;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        return;
    }
    unsigned wanted = thread % (unsigned)CPU_COUNT(&allowed);
    for (int core = 0; core < CPU_SETSIZE; core++) {
        if (CPU_ISSET(core, &allowed) && wanted-- == 0) {
            CPU_ZERO(&one);
            CPU_SET(core, &one);
            (void)pthread_setaffinity_np(pthread_self(), sizeof one, &one);
            return;
        }
    }
}

static void *thread_main(void *argument) {
    self = (unsigned)(uintptr_t)argument;
    pin(self);
    uint64_t random = (s.seed + s.runs * MOST_THREADS) * (self + 1) + 0x9E3779B97F4A7C15;
    for (uint64_t i = 0; i < s.turns; i++) {
        if (i % BURST == 0) {
            begin_together();
        }
        s.subject->turn(self, next_random(&random) >> 20, i);
    }
    return NULL;
}

static void hangs(int signal) {
    (void)signal;
    static const char text[] = ": WRONG: a thread waits, and none wakes it\n";
    (void)!write(STDOUT_FILENO, s.subject->name, strlen(s.subject->name));
    (void)!write(STDOUT_FILENO, text, sizeof text - 1);
    _exit(1);
}

static ex_history run(const subject *subject) {
    pthread_t ids[MOST_THREADS];
    /* More threads than cores would not overlap, but for those that sleep. */
    const unsigned cores = allowed_cores();
    s.subject = subject;
    s.threads = subject->threads != 0  ? subject->threads
                : cores < 2            ? 2
                : cores > MOST_THREADS ? MOST_THREADS
                                       : cores;
    s.turns = subject->threads != 0 ? TURNS_THAT_SLEEP : TURNS;
    s.probes = s.threads <= cores ? PROBES : PROBES_ON_SHARED_CORES;
    s.runs++;
    s.recorder = ex_recorder_create(s.threads, RECORDED * s.turns);
    atomic_store(&s.arrived, 0);
    if (s.recorder == NULL) {
        fputs("history_native: no memory\n", stderr);
        exit(2);
    }
    fflush(stdout);
    signal(SIGALRM, hangs);
    alarm(MOST_SECONDS);
    for (unsigned i = 0; i < s.threads; i++) {
        if (pthread_create(&ids[i], NULL, thread_main, (void *)(uintptr_t)i) != 0) {
            fputs("history_native: no threads\n", stderr);
            exit(2);
        }
    }
    for (unsigned i = 0; i < s.threads; i++) {
        pthread_join(ids[i], NULL);
    }
    alarm(0);
    return ex_recorder_history(s.recorder);
}

static double seconds(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

/* Operations that overlap one of another kind: those of one kind, as reads, fit in any order. */
static size_t overlaps_in(const ex_history *history) {
    size_t count = 0;
    for (size_t i = 0; i < history->count; i++) {
        const ex_operation *operation = &history->operations[i];
        count += (operation->meets & ~(UINT64_C(1) << operation->kind)) != 0;
    }
    return count;
}

/* Runs and checks until so many operations are made, so long has passed, and enough operations have overlapped. The
 * recorder keeps the last history. */
static ex_history expect_fit(const subject *subject, uint64_t least_operations, double least_seconds) {
    ex_history history = {0};
    size_t operations = 0, overlaps = 0;
    unsigned attempts = 0;
    const bool has_cores = allowed_cores() > 1;
    const unsigned most_attempts = has_cores ? ATTEMPTS : 1;
    bool fits = true;
    const double start = seconds();
    double passed = 0;
    do {
        if (attempts++ > 0) {
            ex_recorder_destroy(s.recorder);
        }
        subject->prepare();
        history = run(subject);
        fits = ex_history_fits(&history, subject->model, subject->parameters, stdout);
        operations += history.count;
        overlaps += overlaps_in(&history);
        passed = seconds() - start;
    } while (fits && (operations < least_operations || passed < least_seconds ||
                      (overlaps < ENOUGH_OVERLAPS && attempts < most_attempts)));
    const bool few_overlap = overlaps < ENOUGH_OVERLAPS;
    const bool right = fits && !(few_overlap && has_cores);
    printf("%-6s %-15s %s, %u threads: %zu operations checked, %zu overlap one of another kind, %.2f s, "
           "%.0f a second\n",
           right ? "fits" : "WRONG", subject->name, subject->what, s.threads, operations, overlaps, passed,
           (double)operations / passed);
    if (few_overlap) {
        printf("       few overlap: the threads hardly ran side by side, so this says little\n");
    }
    s.wrong += !right;
    return history;
}

/* `culprit`: the wrong operation, which is blamed, or overlaps the one that is. */
static void expect_misfit(const char *what, ex_history *history, const ex_model *model,
                          const void *parameters, const char *culprit) {
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    bool fits = ex_history_fits(history, model, parameters, to);
    fclose(to);
    bool blamed = strstr(text, "cannot be placed") != NULL && strstr(text, culprit) != NULL;
    printf("%-6s %s\n%.*s", !fits && blamed ? "found" : "WRONG", what, 2000, text);
    s.wrong += fits || !blamed;
    free(text);
}

/* A pop returns what another pop returned before: that. */
static uint64_t change_one_answer(ex_history *history) {
    ex_operation *late = NULL, *early = NULL;
    for (size_t i = history->count / 2; i-- > 0;) {
        ex_operation *operation = &history->operations[i];
        if (operation->kind == EX_POP && operation->result < EX_DONE) {
            if (late == NULL) {
                late = operation;
            } else if (operation->returned < late->called) {
                early = operation;
                break;
            }
        }
    }
    if (early == NULL) {
        fputs("history_native: a history without two pops\n", stderr);
        exit(2);
    }
    late->result = early->result;
    return late->result;
}

static void show_planted_faults(void) {
    const subject *mpmc = &ring_subjects[0];
    char culprit[64];
    ex_history history = expect_fit(mpmc, 0, 0);
    snprintf(culprit, sizeof culprit, "pop() = %llu ", (unsigned long long)change_one_answer(&history));
    expect_misfit("the same with one answer changed", &history, mpmc->model, mpmc->parameters, culprit);
    ex_recorder_destroy(s.recorder);
    faulty.prepare();
    history = run(&faulty);
    expect_misfit("a register that answers an old value now and then", &history, faulty.model, NULL,
                  "read() = ");
    ex_recorder_destroy(s.recorder);
}

static bool is_wanted(const char *name, char **patterns) {
    bool fits = *patterns == NULL;
    while (!fits && *patterns != NULL) {
        fits = fnmatch(*patterns++, name, 0) == 0;
    }
    return fits;
}

int main(int count, char **arguments) {
    const subject *const lists[] = {ring_subjects, lock_subjects, condition_subjects, wait_set_subjects};
    uint64_t operations = 0, seconds_wanted = 0;
    unsigned ran = 0;
    s.seed = 1;
    char **argument = arguments + 1;
    for (; argument + 1 < arguments + count && strncmp(*argument, "--", 2) == 0; argument += 2) {
        *(strcmp(*argument, "--operations") == 0 ? &operations
          : strcmp(*argument, "--seconds") == 0  ? &seconds_wanted
                                                 : &s.seed) = strtoull(argument[1], NULL, 10);
    }
    const double least_seconds = seconds_wanted > 0 ? (double)seconds_wanted : LEAST_SECONDS;
    printf("seed %llu\n", (unsigned long long)s.seed);
    for (size_t list = 0; list < sizeof lists / sizeof lists[0]; list++) {
        for (const subject *subject = lists[list]; subject->name != NULL; subject++) {
            if (is_wanted(subject->name, argument)) {
                (void)expect_fit(subject, operations, least_seconds);
                ex_recorder_destroy(s.recorder);
                ran++;
            }
        }
    }
    if (*argument == NULL) {
        show_planted_faults();
    } else if (strcmp(*argument, faulty.name) == 0) {
        (void)expect_fit(&faulty, operations, least_seconds);
        ran++;
    }
    printf("%u subjects, %u not as they should be\n", ran, s.wrong);
    return s.wrong == 0 && ran > 0 ? 0 : 1;
}
