/* SPDX-License-Identifier: Apache-2.0
 *
 * One thread serves three ilk_spsc rings that another fills in turn: by a wait set, by polling all three, and, for
 * comparison, one ilk_mpmc ring that takes the elements of all. At full speed, and with pauses between elements, where
 * what counts is the server's processor time and how long an element waits.
 *
 *     cmake -S Benchmarks -B build-bench && cmake --build build-bench --target bench_wait_set
 *     build-bench/bench_wait_set
 */
#include <interlock/inline/atomic.h>
#include <interlock/wait_set.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { RINGS = 3, CAPACITY = 1024, FULL_SPEED = 3000000, PACED = 20000, ROUNDS = 5 };

struct run {
    ilk_spsc *rings[RINGS];
    ilk_mpmc *shared; /* or NULL */
    ilk_wait_set *set;
    uint64_t pause_ns;
    int elements;
    uint64_t *waited_ns; /* of each element */
    double cpu_ns;       /* of the server */
};

static void count(struct run *run, int *popped, uint64_t pushed_at) {
    if (run->pause_ns > 0) {
        run->waited_ns[*popped] = ilk_now_ns() - pushed_at;
    }
    ++*popped;
}

static void serve_set(struct run *run) {
    for (int popped = 0; popped < run->elements;) {
        void *ready[RINGS];
        size_t found;
        if (ilk_wait_set_wait_until(run->set, ready, RINGS, &found, ILK_FOREVER) != ILK_OK) {
            abort();
        }
        uint64_t element;
        for (size_t i = 0; i < found; i++) {
            while (ilk_spsc_try_pop(ready[i], &element, sizeof element)) {
                count(run, &popped, element);
            }
        }
    }
}

static void serve_polling(struct run *run) {
    for (int popped = 0; popped < run->elements;) {
        uint64_t element;
        for (int i = 0; i < RINGS; i++) {
            while (ilk_spsc_try_pop(run->rings[i], &element, sizeof element)) {
                count(run, &popped, element);
            }
        }
        ilk_cpu_relax();
    }
}

static void serve_shared(struct run *run) {
    for (int popped = 0; popped < run->elements;) {
        uint64_t element;
        if (ilk_mpmc_pop_until(run->shared, &element, sizeof element, ILK_FOREVER) != ILK_OK) {
            abort();
        }
        count(run, &popped, element);
    }
}

static const struct way {
    const char *name;
    void (*serve)(struct run *run);
} ways[] = {
    {"wait set, 3 rings", serve_set}, {"polling 3 rings", serve_polling}, {"1 ilk_mpmc", serve_shared}};

struct server {
    const struct way *way;
    struct run *run;
};

static void *run_server(void *context) {
    const struct server *server = context;
    server->way->serve(server->run);
    struct timespec used;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    server->run->cpu_ns = (double)used.tv_sec * 1e9 + (double)used.tv_nsec;
    return NULL;
}

static void fill(struct run *run, const struct way *way) {
    for (int i = 0; i < run->elements; i++) {
        if (run->pause_ns > 0) {
            const struct timespec pause = {0, (long)run->pause_ns};
            nanosleep(&pause, NULL);
        }
        const uint64_t element = run->pause_ns > 0 ? ilk_now_ns() : 0;
        const ilk_status status =
            way->serve == serve_shared
                ? ilk_mpmc_push_until(run->shared, &element, sizeof element, ILK_FOREVER)
                : ilk_spsc_push_until(run->rings[i % RINGS], &element, sizeof element, ILK_FOREVER);
        if (status != ILK_OK) {
            abort();
        }
    }
}

static int compare(const void *one, const void *other) {
    const uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;
    return a < b ? -1 : a > b;
}

/* Seconds. */
static double measure(const struct way *way, struct run *run) {
    if (ilk_wait_set_create(&run->set) != ILK_OK ||
        ilk_mpmc_create(&run->shared, CAPACITY * RINGS, sizeof(uint64_t)) != ILK_OK) {
        abort();
    }
    for (int i = 0; i < RINGS; i++) {
        if (ilk_spsc_create(&run->rings[i], CAPACITY, sizeof(uint64_t)) != ILK_OK ||
            ilk_wait_set_add_spsc(run->set, run->rings[i], ILK_READABLE, run->rings[i]) != ILK_OK) {
            abort();
        }
    }
    struct server server = {way, run};
    pthread_t thread;
    const uint64_t begin = ilk_now_ns();
    if (pthread_create(&thread, NULL, run_server, &server) != 0) {
        abort();
    }
    fill(run, way);
    pthread_join(thread, NULL);
    const double seconds = (double)(ilk_now_ns() - begin) / 1e9;
    ilk_wait_set_destroy(run->set);
    for (int i = 0; i < RINGS; i++) {
        ilk_spsc_destroy(run->rings[i]);
    }
    ilk_mpmc_destroy(run->shared);
    return seconds;
}

int main(void) {
    uint64_t *waited = calloc(PACED, sizeof *waited);
    if (waited == NULL) {
        return 1;
    }
    printf(
        "| server | million elements/s | CPU, an element each 50 us | an element waits: median, 99 %% |\n");
    printf("|---|---:|---:|---:|\n");
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        double best = 0;
        for (int round = 0; round < ROUNDS; round++) {
            struct run run = {.elements = FULL_SPEED};
            const double speed = FULL_SPEED / measure(&ways[i], &run) / 1e6;
            best = speed > best ? speed : best;
        }
        struct run run = {.elements = PACED, .pause_ns = 50000, .waited_ns = waited};
        const double seconds = measure(&ways[i], &run);
        qsort(waited, PACED, sizeof *waited, compare);
        printf("| %s | %.1f | %.0f %% | %.1f, %.1f us |\n", ways[i].name, best, run.cpu_ns / seconds / 1e7,
               (double)waited[PACED / 2] / 1e3, (double)waited[PACED * 99L / 100] / 1e3);
    }
    free(waited);
    return 0;
}
