/* SPDX-License-Identifier: Apache-2.0
 *
 * What the files of the soak share; main.c has the design.
 */
#ifndef INTERLOCK_TESTS_SOAK_H
#define INTERLOCK_TESTS_SOAK_H

#include <interlock/interlock.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* What is exercised, and what happens to it: the names of the record. */
#define PRIMITIVES(X)                                                                                        \
    X(rwlock), X(plain_rwlock), X(mutex), X(inheriting_mutex), X(condition), X(semaphore),                   \
        X(barging_semaphore), X(barrier), X(latch), X(spsc), X(mpmc), X(wait_set), X(pool)
#define FAULTS(X)                                                                                            \
    X(signals), X(threads_ended), X(threads_cancelled), X(forks), X(membarrier_refused_first),               \
        X(membarrier_refused_late), X(memory_refused), X(threads_refused), X(stops), X(quota_periods),       \
        X(one_core), X(twice_the_threads), X(fifo_threads), X(idle_threads), X(diagnosis)
#define NUMBER_OF(name) number_of_##name
#define FAULT_OF(name) fault_of_##name
enum primitive { PRIMITIVES(NUMBER_OF), primitives };
enum fault { FAULTS(FAULT_OF), faults };

/* A thread of a crew, as the supervisor sees it. */
struct row {
    _Alignas(128) _Atomic(uint64_t) operations; /* calls begun: its heartbeat */
    _Atomic(const char *) doing;                /* NULL: it waits for its crew, or has ended */
    _Atomic(pid_t) thread;
    int primitive, index;
};

enum { MOST_ROWS = 160 };

/* Memory of both processes. */
struct shared {
    uint64_t seed;
    const char *origin;      /* where the child has the first of its strings */
    uint32_t chosen;         /* bits of enum fault */
    _Atomic(bool) is_ending; /* every thread is to end */
    _Atomic(uint64_t) happened[faults];
    struct row rows[MOST_ROWS];
};
extern struct shared *shared;

/* What a crew does, in episodes: one thread sets up, all work, one checks. */
struct activity {
    enum primitive primitive;
    int threads;
    size_t size; /* of the state, zeroed at first */
    int variant;
    void (*set_up)(void *state, int variant);
    void (*work)(void *state, int index);
    void (*check)(void *state, bool is_last);
};
extern const struct activity locks[], meetings[], rings[], wait_sets[], pools[]; /* end with 0 threads */

/* ---- child.c ---- */

/* The child of a round; `seconds` long. Does not return. */
_Noreturn void child_run(double seconds);

/* Counts an operation of the calling thread, which is about to call `doing`. */
void at(const char *doing);

/* Ends the round as failed. */
_Noreturn void failed(const char *place, const char *claim);
#define TEXT(line) #line
#define LINE(line) TEXT(line)
#define expect(claim) ((claim) ? (void)0 : failed(__FILE__ ":" LINE(__LINE__), #claim))

/* Below `bound`; the seed, the thread and the episode decide. */
uint32_t chance(uint32_t bound);
void chance_begin(uint64_t seed);

/* Passed, soon or never. */
uint64_t some_deadline(void);

/* ---- faults.c ---- */

static inline bool is_chosen(enum fault fault) {
    return (shared->chosen >> fault & 1) != 0;
}
static inline void happens(enum fault fault) {
    atomic_fetch_add_explicit(&shared->happened[fault], 1, memory_order_relaxed);
}

uint32_t faults_of(uint64_t seed);
void faults_before_start(void); /* before the child's program: the library finds them there */
void faults_disturb(void);      /* begins the threads that send signals, fork and diagnose */
void faults_end_disturbance(void);
void faults_check(void); /* what handlers did */
void faults_refuse_late(void);
void faults_schedule(int number); /* of the calling thread, which is the crews' so-many-th */

/* Runs `body`, on a thread that ends at once or is cancelled meanwhile, where that is chosen. */
void faults_run(void (*body)(void *state, int index), void *state, int index);

extern _Atomic(bool) is_disturbing; /* the threads that do are to go on */

/* ---- diagnosis.c ---- */

void *diagnosis_run(void *unused);
void *diagnosis_keep_order(void *unused); /* any number of threads */

/* What the library gets is refused now and then; these are not. */
int __real_pthread_create(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
void *__real_calloc(size_t, size_t);

#endif
