/* SPDX-License-Identifier: Apache-2.0
 *
 * Histories of real threads on the real core: rings, the semaphore, and a map under the reader-writer lock.
 * Then two planted faults, which must be found and blamed: one changed result, and a register that sometimes
 * returns an old value.
 */
#include "models.h"
#include "recorder.h"
#include <interlock/mpmc.h>
#include <interlock/rwlock.h>
#include <interlock/semaphore.h>
#include <interlock/spsc.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Bursts begin together; otherwise one thread would end before the next runs. */
enum { OPERATIONS = 16384, BURST = 64, MOST_THREADS = 4, ATTEMPTS = 10, ENOUGH_OVERLAPS = 200 };

static struct {
    ex_recorder *recorder;
    atomic_uint arrived, burst;
    unsigned threads;
    unsigned wrong;
    uint64_t seed;
    ilk_mpmc *mpmc;
    ilk_spsc *spsc;
    ilk_semaphore semaphore;
    ilk_rwlock lock;
    uint32_t map[EX_MAP_KEYS];
    atomic_uint cell;
} s;

static uint64_t next_random(uint64_t *state) {
    *state ^= *state << 13;
    *state ^= *state >> 7;
    *state ^= *state << 17;
    return *state;
}

static void mpmc_operation(unsigned thread, uint64_t random, uint64_t number) {
    uint64_t element = number * MOST_THREADS + thread + 1;
    if (random % 2 == 0) {
        ex_record_call(s.recorder, thread, EX_PUSH, element);
        bool pushed = ilk_mpmc_try_push(s.mpmc, &element, sizeof element);
        ex_record_return(s.recorder, thread, pushed ? EX_DONE : EX_REFUSED);
    } else {
        ex_record_call(s.recorder, thread, EX_POP, 0);
        bool popped = ilk_mpmc_try_pop(s.mpmc, &element, sizeof element);
        ex_record_return(s.recorder, thread, popped ? element : EX_EMPTY);
    }
}

static void spsc_operation(unsigned thread, uint64_t random, uint64_t number) {
    (void)random;
    uint64_t element = number + 1;
    if (thread == 0) {
        ex_record_call(s.recorder, thread, EX_PUSH, element);
        bool pushed = ilk_spsc_try_push(s.spsc, &element, sizeof element);
        ex_record_return(s.recorder, thread, pushed ? EX_DONE : EX_REFUSED);
    } else {
        ex_record_call(s.recorder, thread, EX_POP, 0);
        bool popped = ilk_spsc_try_pop(s.spsc, &element, sizeof element);
        ex_record_return(s.recorder, thread, popped ? element : EX_EMPTY);
    }
}

static void semaphore_operation(unsigned thread, uint64_t random, uint64_t number) {
    (void)random;
    if (number % 2 == 0) {
        ex_record_call(s.recorder, thread, EX_WAIT, 0);
        ilk_semaphore_wait(&s.semaphore);
        ex_record_return(s.recorder, thread, EX_DONE);
    } else {
        ex_record_call(s.recorder, thread, EX_SIGNAL, 1);
        ilk_semaphore_signal(&s.semaphore, 1);
        ex_record_return(s.recorder, thread, EX_DONE);
    }
}

static void map_operation(unsigned thread, uint64_t random, uint64_t number) {
    uint32_t *value = &s.map[random / 16 % EX_MAP_KEYS];
    uint64_t argument = (uint64_t)(value - s.map) << 32;
    uint32_t answer;
    if (random % 4 != 0) {
        ex_record_call(s.recorder, thread, EX_GET, argument);
        ilk_rwlock_read_lock(&s.lock);
        answer = *value;
        ilk_rwlock_read_unlock(&s.lock);
    } else {
        bool removes = random % 16 == 0;
        uint32_t new_value = removes ? 0 : (uint32_t)(number * MOST_THREADS + thread + 1);
        ex_record_call(s.recorder, thread, removes ? EX_REMOVE : EX_PUT, argument | new_value);
        ilk_rwlock_write_lock(&s.lock);
        answer = *value;
        *value = new_value;
        ilk_rwlock_write_unlock(&s.lock);
    }
    ex_record_return(s.recorder, thread, answer);
}

/* The planted fault: reads sometimes return the value before the last. */
static void faulty_operation(unsigned thread, uint64_t random, uint64_t number) {
    static _Thread_local unsigned kept;
    if (random % 4 == 0) {
        unsigned value = (unsigned)(number * MOST_THREADS + thread + 1);
        ex_record_call(s.recorder, thread, EX_WRITE, value);
        atomic_store(&s.cell, value);
        ex_record_return(s.recorder, thread, 0);
    } else {
        ex_record_call(s.recorder, thread, EX_READ, 0);
        unsigned value = atomic_load(&s.cell);
        unsigned answer = number % 1000 == 999 ? kept : value;
        kept = value;
        ex_record_return(s.recorder, thread, answer);
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

typedef void (*body)(unsigned thread, uint64_t random, uint64_t number);
static body running;

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
    unsigned thread = (unsigned)(uintptr_t)argument;
    pin(thread);
    uint64_t random = s.seed * (thread + 1) + 0x9E3779B97F4A7C15;
    for (uint64_t i = 0; i < OPERATIONS; i++) {
        if (i % BURST == 0) {
            begin_together();
        }
        running(thread, next_random(&random) >> 20, i);
    }
    return NULL;
}

static ex_history run(body operation, unsigned threads) {
    pthread_t ids[MOST_THREADS];
    running = operation;
    s.threads = threads;
    s.recorder = ex_recorder_create(threads, OPERATIONS);
    atomic_store(&s.arrived, 0);
    if (s.recorder == NULL) {
        fputs("history_native: no memory\n", stderr);
        exit(2);
    }
    for (unsigned i = 0; i < threads; i++) {
        if (pthread_create(&ids[i], NULL, thread_main, (void *)(uintptr_t)i) != 0) {
            fputs("history_native: no threads\n", stderr);
            exit(2);
        }
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(ids[i], NULL);
    }
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

/* Runs and checks until enough operations have overlapped. The recorder keeps the last history. */
static ex_history expect_fit(const char *what, void (*prepare)(void), body operation, unsigned threads,
                             const ex_model *model, const void *parameters) {
    ex_history history = {0};
    size_t operations = 0, overlaps = 0;
    unsigned attempts = 0;
    bool fits = true;
    double start = seconds();
    do {
        if (attempts > 0) {
            ex_recorder_destroy(s.recorder);
        }
        prepare();
        history = run(operation, threads);
        fits = ex_history_fits(&history, model, parameters, stdout);
        operations += history.count;
        overlaps += overlaps_in(&history);
    } while (fits && overlaps < ENOUGH_OVERLAPS && ++attempts < ATTEMPTS);
    printf("%-6s %-34s %zu operations of %u threads, %zu overlap another, %.2f s\n", fits ? "fits" : "WRONG",
           what, operations, threads, overlaps, seconds() - start);
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

static const ex_queue_parameters ring = {.capacity = 3, .inexact = true};
static const uint32_t permits = 1;

static void prepare_mpmc(void) {
    ilk_mpmc_destroy(s.mpmc);
    if (ilk_mpmc_create(&s.mpmc, ring.capacity, sizeof(uint64_t)) != ILK_OK) {
        exit(2);
    }
}
static void prepare_spsc(void) {
    ilk_spsc_destroy(s.spsc);
    if (ilk_spsc_create(&s.spsc, ring.capacity, sizeof(uint64_t)) != ILK_OK) {
        exit(2);
    }
}
static void prepare_semaphore(void) {
    ilk_semaphore_init(&s.semaphore, permits);
}
static void prepare_map(void) {
    ilk_rwlock_init(&s.lock);
    memset(s.map, 0, sizeof s.map);
}

int main(int count, char **arguments) {
    s.seed = count > 1 ? strtoull(arguments[1], NULL, 10) : 1;
    printf("seed %llu\n", (unsigned long long)s.seed);
    /* More threads than cores would not overlap. */
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned threads = cores < 2 ? 2 : cores > MOST_THREADS ? MOST_THREADS : (unsigned)cores;

    ex_history history = expect_fit("mpmc ring, try_push and try_pop", prepare_mpmc, mpmc_operation, threads,
                                    &ex_bounded_queue, &ring);
    change_one_answer(&history);
    expect_misfit("the same with one answer changed", &history, &ex_bounded_queue, &ring);
    ex_recorder_destroy(s.recorder);
    expect_fit("spsc ring, try_push and try_pop", prepare_spsc, spsc_operation, 2, &ex_bounded_queue, &ring);
    ex_recorder_destroy(s.recorder);
    expect_fit("semaphore, wait and signal", prepare_semaphore, semaphore_operation, threads, &ex_semaphore,
               &permits);
    ex_recorder_destroy(s.recorder);
    expect_fit("map under the reader-writer lock", prepare_map, map_operation, threads, &ex_map, NULL);
    ex_recorder_destroy(s.recorder);

    history = run(faulty_operation, threads);
    expect_misfit("a register that answers an old value now and then", &history, &ex_register, NULL);
    ex_recorder_destroy(s.recorder);

    ilk_mpmc_destroy(s.mpmc);
    ilk_spsc_destroy(s.spsc);
    ilk_semaphore_destroy(&s.semaphore);
    printf("%u not as they should be\n", s.wrong);
    return s.wrong == 0 ? 0 : 1;
}
