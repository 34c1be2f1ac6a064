/* SPDX-License-Identifier: Apache-2.0
 *
 * Histories of real threads on the real core.
 *
 *     history_native [--operations N] [--seconds N] [--seed N] [SUBJECT...]
 *
 * runs and checks subjects (native.h), those whose names fit one of the patterns, until they have made so many
 * operations, and so long. Without a pattern two planted faults follow, which must be found and blamed: one changed
 * result, and a register that sometimes returns an old value.
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

enum { ATTEMPTS = 10, ENOUGH_OVERLAPS = 200, RECORDED = 8 /* of a thread in a turn */, MOST_SECONDS = 120 };

static struct {
    ex_recorder *recorder;
    atomic_uint arrived, burst;
    const subject *subject;
    unsigned threads;
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
void ex_not_before(size_t operation, uint64_t moment) {
    (void)operation;
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

/* Between bursts only: inside one, threads share only the object. */
static void begin_together(void) {
    unsigned burst = atomic_load(&s.burst);
    if (atomic_fetch_add(&s.arrived, 1) + 1 == s.threads) {
        atomic_store(&s.arrived, 0);
        atomic_fetch_add(&s.burst, 1);
        return;
    }
    for (unsigned probes = 0; atomic_load(&s.burst) == burst; probes++) {
        if (probes > 200) {
            sched_yield();
        }
    }
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
    for (uint64_t i = 0; i < TURNS; i++) {
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
    const long cores = sysconf(_SC_NPROCESSORS_ONLN);
    s.subject = subject;
    s.threads = subject->threads != 0  ? subject->threads
                : cores < 2            ? 2
                : cores > MOST_THREADS ? MOST_THREADS
                                       : (unsigned)cores;
    s.runs++;
    s.recorder = ex_recorder_create(s.threads, RECORDED * TURNS);
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

static size_t overlaps_in(const ex_history *history) {
    size_t count = 0;
    for (size_t i = 0; i < history->count; i++) {
        count += history->operations[i].meets != 0;
    }
    return count;
}

/* Runs and checks until so many operations are made, so long has passed, and enough operations have overlapped. The
 * recorder keeps the last history. */
static ex_history expect_fit(const subject *subject, uint64_t least_operations, double least_seconds) {
    ex_history history = {0};
    size_t operations = 0, overlaps = 0;
    unsigned attempts = 0;
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
                      (overlaps < ENOUGH_OVERLAPS && attempts < ATTEMPTS)));
    printf("%-6s %-13s %s, %u threads: %zu operations checked, %zu overlap another, %.2f s, %.0f a second\n",
           fits ? "fits" : "WRONG", subject->name, subject->what, s.threads, operations, overlaps, passed,
           (double)operations / passed);
    if (overlaps < ENOUGH_OVERLAPS) {
        printf(
            "       few overlap: the threads hardly ran side by side on this machine, so this says little\n");
    }
    s.wrong += !fits;
    return history;
}

static void expect_misfit(const char *what, ex_history *history, const ex_model *model,
                          const void *parameters) {
    char *text = NULL;
    size_t size = 0;
    FILE *to = open_memstream(&text, &size);
    bool fits = ex_history_fits(history, model, parameters, to);
    fclose(to);
    bool blamed = strstr(text, "cannot be placed") != NULL;
    printf("%-6s %s\n%.*s", !fits && blamed ? "found" : "WRONG", what, 2000, text);
    s.wrong += fits || !blamed;
    free(text);
}

/* A pop returns what another pop returned before. */
static void change_one_answer(ex_history *history) {
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
}

static void show_planted_faults(void) {
    const subject *mpmc = &ring_subjects[0];
    const subject faulty = {"faulty", "", 0, &ex_register, NULL, NULL, faulty_turn};
    ex_history history = expect_fit(mpmc, 0, 0);
    change_one_answer(&history);
    expect_misfit("the same with one answer changed", &history, mpmc->model, mpmc->parameters);
    ex_recorder_destroy(s.recorder);
    history = run(&faulty);
    expect_misfit("a register that answers an old value now and then", &history, faulty.model, NULL);
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
    uint64_t operations = 0, least_seconds = 0;
    unsigned ran = 0;
    s.seed = 1;
    char **argument = arguments + 1;
    for (; argument + 1 < arguments + count && strncmp(*argument, "--", 2) == 0; argument += 2) {
        *(strcmp(*argument, "--operations") == 0 ? &operations
          : strcmp(*argument, "--seconds") == 0  ? &least_seconds
                                                 : &s.seed) = strtoull(argument[1], NULL, 10);
    }
    printf("seed %llu\n", (unsigned long long)s.seed);
    for (size_t list = 0; list < sizeof lists / sizeof lists[0]; list++) {
        for (const subject *subject = lists[list]; subject->name != NULL; subject++) {
            if (is_wanted(subject->name, argument)) {
                (void)expect_fit(subject, operations, (double)least_seconds);
                ex_recorder_destroy(s.recorder);
                ran++;
            }
        }
    }
    if (*argument == NULL) {
        show_planted_faults();
    }
    printf("%u subjects, %u not as they should be\n", ran, s.wrong);
    return s.wrong == 0 && ran > 0 ? 0 : 1;
}
