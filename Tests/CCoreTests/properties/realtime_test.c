/* SPDX-License-Identifier: Apache-2.0
 *
 * RealtimeSanitizer ends the program when a function marked nonblocking allocates, locks or makes a blocking
 * system call: every try_ call, with no sleeper on the other side. The first test shows that it checks.
 */
#include "support/test.h"
#include <interlock/interlock.h>
#include <interlock/pool.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#define ROUNDS 1000

void __rtsan_disable(void);
void __rtsan_enable(void);

static void *volatile kept;

static void allocate(void) ILK_NONBLOCKING;
static void allocate(void) ILK_NONBLOCKING {
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wfunction-effects"
    kept = malloc(16);
#pragma clang diagnostic pop
}

TEST(the_sanitizer_finds_an_allocation) {
    pid_t child = fork();
    check(child >= 0);
    if (child == 0) {
        close(STDERR_FILENO);
        allocate();
        _exit(0);
    }
    int status;
    check_equal(waitpid(child, &status, 0), child);
    check(!WIFEXITED(status) || WEXITSTATUS(status) != 0);
}

/* The calls that give up are not marked (they may hand over to a waiter). */
static bool try_read(ilk_rwlock *lock) ILK_NONBLOCKING {
    return ilk_rwlock_try_read_lock(lock);
}

static bool try_write(ilk_rwlock *lock) ILK_NONBLOCKING {
    return ilk_rwlock_try_write_lock(lock);
}

static bool try_permit(ilk_semaphore *semaphore) ILK_NONBLOCKING {
    return ilk_semaphore_try_wait(semaphore);
}

static bool count_down(ilk_latch *latch) ILK_NONBLOCKING {
    ilk_latch_count_down(latch);
    return ilk_latch_try_wait(latch) && ilk_latch_count(latch) == 0;
}

static bool try_mutex(ilk_mutex *mutex) ILK_NONBLOCKING {
    return ilk_mutex_try_lock(mutex);
}
/* contract: rwlock.F */
TEST(locks_do_not_block) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_semaphore semaphore = ILK_SEMAPHORE_INIT(1);
    ilk_semaphore observed = ILK_SEMAPHORE_INIT(1);
    ilk_atomic_fetch_or(&observed.word, ILK__SEMAPHORE_OBSERVED, memory_order_relaxed);
    ilk_latch latch;
    ilk_latch_init(&latch, ROUNDS + 1);
    ilk_mutex mutex;
    ilk_mutex_init(&mutex, true);
    /* A thread's first use of any mutex asks the kernel for its id, which cannot block: the sanitizer does
     * not know. */
    __rtsan_disable();
    ilk_mutex_lock(&mutex);
    ilk_mutex_unlock(&mutex);
    __rtsan_enable();
    for (int i = 0; i < ROUNDS; i++) {
        check(try_read(&lock) && !try_write(&lock));
        ilk_rwlock_read_unlock(&lock);
        check(try_write(&lock) && !try_read(&lock));
        ilk_rwlock_write_unlock(&lock);
        check(try_permit(&semaphore) && !try_permit(&semaphore));
        ilk_semaphore_signal(&semaphore, 1);
        check(try_permit(&observed) && !try_permit(&observed)); /* the slow path takes it */
        ilk_semaphore_signal(&observed, 1);
        check(!count_down(&latch));
        check(try_mutex(&mutex) && !try_mutex(&mutex));
        ilk_mutex_unlock(&mutex);
    }
    check(count_down(&latch)); /* the last one opens it; no thread sleeps */
}

enum { LARGE = 128 }; /* a ring in which a side that finds nothing may pause */

/* Every verb, on an empty ring of `capacity`: one at a time, in batches and in place, and for more than it
 * has. A macro: the two rings have no common type. */
#define USE_RING(name)                                                                                       \
    static bool use_##name(ilk_##name *ring) ILK_NONBLOCKING {                                               \
        const size_t capacity = ilk_##name##_capacity(ring);                                                 \
        int values[LARGE] = {1, 2, 3}, out[LARGE];                                                           \
        bool good = !ilk_##name##_try_pop(ring, out, sizeof *out);                                           \
        for (size_t i = 0; i < capacity; i++) {                                                              \
            good = good && ilk_##name##_try_push(ring, values, sizeof *values);                              \
        }                                                                                                    \
        good = good && !ilk_##name##_try_push(ring, values, sizeof *values);                                 \
        good = good && ilk_##name##_try_push_many(ring, values, 1, sizeof *values) == 0;                     \
        for (size_t i = 0; i < capacity; i++) {                                                              \
            good = good && ilk_##name##_try_pop(ring, out, sizeof *out);                                     \
        }                                                                                                    \
        good = good && !ilk_##name##_try_pop(ring, out, sizeof *out);                                        \
        good = good && ilk_##name##_try_pop_many(ring, out, 1, sizeof *out) == 0;                            \
        good =                                                                                               \
            good && ilk_##name##_try_push_many(ring, values, capacity - 1, sizeof *values) == capacity - 1;  \
        good = good && ilk_##name##_try_pop_many(ring, out, capacity, sizeof *out) == capacity - 1;          \
        for (size_t done = 0; good && done < capacity;) { /* in two pieces, across the end */                \
            size_t count = capacity - done;                                                                  \
            good = ilk_##name##_reserve(ring, &count) != NULL;                                               \
            ilk_##name##_commit(ring, count);                                                                \
            done += count;                                                                                   \
        }                                                                                                    \
        size_t count = 1;                                                                                    \
        good = good && ilk_##name##_reserve(ring, &count) == NULL;                                           \
        for (size_t done = 0; good && done < capacity;) {                                                    \
            count = 0;                                                                                       \
            good = ilk_##name##_peek(ring, &count) != NULL;                                                  \
            ilk_##name##_release(ring, count);                                                               \
            done += count;                                                                                   \
        }                                                                                                    \
        count = 1;                                                                                           \
        good = good && ilk_##name##_peek(ring, &count) == NULL;                                              \
        return good && ilk_##name##_count(ring) == 0 && !ilk_##name##_is_closed(ring);                       \
    }                                                                                                        \
    /* And on a closed ring with one element in it. */                                                       \
    static bool drain_##name(ilk_##name *ring) ILK_NONBLOCKING {                                             \
        int values[2] = {1, 2}, out[2];                                                                      \
        size_t count = 1;                                                                                    \
        bool good = ilk_##name##_is_closed(ring) && !ilk_##name##_try_push(ring, values, sizeof *values);    \
        good = good && ilk_##name##_try_push_many(ring, values, 2, sizeof *values) == 0;                     \
        good = good && ilk_##name##_reserve(ring, &count) == NULL;                                           \
        good = good && ilk_##name##_try_pop_many(ring, out, 2, sizeof *out) == 1;                            \
        good = good && !ilk_##name##_try_pop(ring, out, sizeof *out);                                        \
        return good && ilk_##name##_peek(ring, &count) == NULL;                                              \
    }                                                                                                        \
    static void name##_does_not_block(size_t capacity, bool hook) {                                          \
        ilk_##name *ring = NULL;                                                                             \
        check_equal(ilk_##name##_create(&ring, capacity, sizeof(int)), ILK_OK);                              \
        if (hook) {                                                                                          \
            ilk_##name##_set_notify(ring, never_called, NULL);                                               \
        }                                                                                                    \
        for (int i = 0; i < ROUNDS; i++) {                                                                   \
            check(use_##name(ring));                                                                         \
        }                                                                                                    \
        const int last = 1;                                                                                  \
        check(ilk_##name##_try_push(ring, &last, sizeof last));                                              \
        close_##name(ring);                                                                                  \
        check(drain_##name(ring));                                                                           \
        ilk_##name##_destroy(ring);                                                                          \
    }

/* Closing makes system calls: it wakes any sleeper. */
static void close_spsc(ilk_spsc *ring) {
    __rtsan_disable();
    ilk_spsc_close(ring);
    __rtsan_enable();
}
static void close_mpmc(ilk_mpmc *ring) {
    __rtsan_disable();
    ilk_mpmc_close(ring);
    __rtsan_enable();
}

static void never_called(void *context, ilk_ring_event event) {
    abort();
}

USE_RING(spsc)
USE_RING(mpmc)
/* contract: ilk_mpmc_commit, ilk_mpmc_peek, ilk_mpmc_release, ilk_mpmc_reserve, ilk_spsc_commit */
/* contract: ilk_spsc_peek, ilk_spsc_release, ilk_spsc_reserve, mpmc.E, spsc.E */
TEST(rings_do_not_block) {
    const size_t capacities[] = {1, 3, LARGE};
    for (size_t i = 0; i < sizeof capacities / sizeof *capacities; i++) {
        for (int hook = 0; hook < 2; hook++) {
            spsc_does_not_block(capacities[i], hook == 1);
            mpmc_does_not_block(capacities[i], hook == 1);
        }
    }
}

/* ---- The pool ---- */

enum { POOL_JOBS = 64 };

static bool submit_all(ilk_pool *pool, ilk_job *jobs, ilk_job *const *many) ILK_NONBLOCKING {
    bool good = true;
    for (int i = 0; i < POOL_JOBS; i++) {
        good = good && ilk_pool_submit(pool, &jobs[i]);
    }
    return good && ilk_pool_submit_many(pool, many, POOL_JOBS);
}

static void fork_all(ilk_pool *pool, ilk_job *jobs, void (*function)(void *)) ILK_NONBLOCKING {
    for (int i = 0; i < POOL_JOBS; i++) {
        ilk_pool_fork(pool, &jobs[i], function, NULL);
    }
}

static void do_nothing(void *context) {}

struct busy {
    ilk_pool *pool;
    struct stage stage; /* 1: the worker is in a job; 2: it may end */
};

/* See locks_do_not_block. */
static void use_a_mutex(void) {
    ilk_mutex mutex;
    ilk_mutex_init(&mutex, false);
    __rtsan_disable();
    ilk_mutex_lock(&mutex);
    ilk_mutex_unlock(&mutex);
    __rtsan_enable();
}

/* On the pool's own thread: into its deque, and past its end. */
static void submit_and_fork(void *context) {
    struct busy *busy = context;
    static ilk_job own[POOL_JOBS], more[POOL_JOBS], forked[POOL_JOBS], *many[POOL_JOBS];
    for (int i = 0; i < POOL_JOBS; i++) {
        ilk_job_init(&own[i], do_nothing, NULL);
        ilk_job_init(&more[i], do_nothing, NULL);
        many[i] = &more[i];
    }
    use_a_mutex();
    stage_reach(&busy->stage, 1);
    stage_await(&busy->stage, 2);
    check(submit_all(busy->pool, own, many));
    for (int round = 0; round < 6; round++) {
        fork_all(busy->pool, forked, do_nothing);
        for (int i = POOL_JOBS - 1; i >= 0; i--) {
            ilk_pool_join(busy->pool, &forked[i]);
        }
    }
    __rtsan_disable(); /* from here on the thread may wake its waiters */
}
/* contract: pool.E */
TEST(a_submission_that_wakes_no_thread_does_not_block) {
    static struct busy busy;
    busy = (struct busy){.stage = STAGE_INIT};
    const ilk_pool_options options = {.threads = 1};
    use_a_mutex();
    check_equal(ilk_pool_create(&busy.pool, &options), ILK_OK);
    static ilk_job first, jobs[POOL_JOBS], more[POOL_JOBS], *many[POOL_JOBS];
    ilk_group group = {0};
    ilk_job_init(&first, submit_and_fork, &busy);
    __rtsan_disable(); /* this one may wake the worker */
    check(ilk_pool_submit(busy.pool, &first));
    __rtsan_enable();
    stage_await(&busy.stage, 1);
    for (int i = 0; i < POOL_JOBS; i++) {
        ilk_job_init(&jobs[i], do_nothing, NULL);
        ilk_job_init(&more[i], do_nothing, NULL);
        ilk_job_set_group(&jobs[i], &group);
        ilk_job_set_priority(&jobs[i], (ilk_priority)(i % 3));
        many[i] = &more[i];
    }
    check(submit_all(busy.pool, jobs, many));
    static ilk_job forked[POOL_JOBS];
    fork_all(busy.pool, forked, do_nothing); /* not the pool's thread: join would run them */
    __rtsan_disable();
    stage_reach(&busy.stage, 2);
    check_equal(ilk_group_wait_until(&group, ILK_FOREVER), ILK_OK);
    ilk_pool_close(busy.pool);
    check_equal(ilk_pool_wait_until(busy.pool, ILK_FOREVER), ILK_OK);
    ilk_pool_destroy(busy.pool);
    __rtsan_enable();
}
