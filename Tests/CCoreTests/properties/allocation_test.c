/* SPDX-License-Identifier: Apache-2.0
 *
 * The linker puts the functions below in front of the allocator (--wrap), and the n-th call fails, for every
 * n. A failed call answers ILK_NOMEM, changes nothing and leaks nothing; the calls that promise not to
 * allocate do not.
 */
#include "support/test.h"
#include <interlock/interlock.h>
#include <interlock/pool.h>
#include <stdlib.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_posix_memalign(void **out, size_t alignment, size_t size);
void __real_free(void *memory);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __wrap_posix_memalign(void **out, size_t alignment, size_t size);
void __wrap_free(void *memory);

static _Thread_local long calls;        /* allocations since the count was set to 0 */
static _Thread_local long fails_at = 0; /* the number of the failing one; 0: none */
static _Thread_local long live;         /* allocated and not freed, by this thread */
static _Thread_local size_t asked_for;  /* by the last call of aligned_alloc */

static bool this_one_fails(void) {
    return ++calls == fails_at;
}

static void *counted(void *memory) {
    live += memory != NULL ? 1 : 0;
    return memory;
}

void *__wrap_malloc(size_t size) {
    return this_one_fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size) {
    return this_one_fails() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    asked_for = size;
    return this_one_fails() ? NULL : counted(__real_aligned_alloc(alignment, size));
}

int __wrap_posix_memalign(void **out, size_t alignment, size_t size) {
    if (this_one_fails()) {
        return 12; /* ENOMEM */
    }
    int error = __real_posix_memalign(out, alignment, size);
    live += error == 0 ? 1 : 0;
    return error;
}

void __wrap_free(void *memory) {
    live -= memory != NULL ? 1 : 0;
    __real_free(memory);
}

static void fail_every_allocation(ilk_status (*attempt)(void)) {
    long live_before = live;
    long made = 0;
    for (long failing = 1;; failing++) {
        calls = 0;
        fails_at = failing;
        ilk_status status = attempt();
        fails_at = 0;
        check_equal(live, live_before);
        if (status == ILK_OK) {
            made = calls;
            break; /* fewer than `failing`: all have failed once */
        }
        check_equal(status, ILK_NOMEM);
    }
    check(made > 0); /* or nothing is in front of the allocator */
}

static ilk_status make_spsc(void) {
    ilk_spsc *const untouched = (ilk_spsc *)&calls;
    ilk_spsc *ring = untouched;
    ilk_status status = ilk_spsc_create(&ring, 100, 24);
    if (status == ILK_OK) {
        ilk_spsc_destroy(ring);
    } else {
        check(ring == untouched);
    }
    return status;
}

static ilk_status make_mpmc(void) {
    ilk_mpmc *const untouched = (ilk_mpmc *)&calls;
    ilk_mpmc *ring = untouched;
    ilk_status status = ilk_mpmc_create(&ring, 100, 24);
    if (status == ILK_OK) {
        ilk_mpmc_destroy(ring);
    } else {
        check(ring == untouched);
    }
    return status;
}

static ilk_status try_spsc(size_t capacity, size_t element_size) {
    ilk_spsc *ring = NULL;
    const ilk_status status = ilk_spsc_create(&ring, capacity, element_size);
    check(ring == NULL);
    return status;
}

static ilk_status try_mpmc(size_t capacity, size_t element_size) {
    ilk_mpmc *ring = NULL;
    const ilk_status status = ilk_mpmc_create(&ring, capacity, element_size);
    check(ring == NULL);
    return status;
}

/* Rings around the largest size, with the allocation failing: the request fits in a ptrdiff_t and holds the
 * elements, and a size is refused only where it could not. `beside`: a slot's bytes beside its element. */
static void create_at_the_limit(ilk_status (*create)(size_t capacity, size_t element_size),
                                size_t element_size, size_t beside) {
    const size_t slot = element_size + beside;
    const size_t most = (size_t)PTRDIFF_MAX / slot;
    const size_t overhead = 2048; /* the ring's own fields, and rounding */
    int refused = 0, tried = 0;
    for (size_t capacity = most + 2; capacity + overhead > most && capacity > 0; capacity--) {
        fails_at = 1;
        calls = 0;
        const ilk_status status = create(capacity, element_size);
        fails_at = 0;
        if (status == ILK_INVALID) {
            check_equal(calls, 0);
            check(tried == 0); /* larger is refused, smaller is not */
            refused++;
            check(capacity > most || capacity * slot > (size_t)PTRDIFF_MAX - overhead);
        } else {
            check_equal(status, ILK_NOMEM);
            check_equal(calls, 1);
            tried++;
            check(asked_for <= (size_t)PTRDIFF_MAX && asked_for >= capacity * slot);
        }
    }
    check(refused >= 2); /* those above the limit */
    check(tried > 0 || slot > (size_t)PTRDIFF_MAX - overhead);
}
/* contract: ilk_mpmc_create, ilk_spsc_create */
TEST(sizes_at_the_limit_are_told_from_those_above_it) {
    static const size_t sizes[] = {1, 3, 8, 24, 4096, PTRDIFF_MAX / 2, PTRDIFF_MAX - 1024};
    for (size_t s = 0; s < sizeof sizes / sizeof *sizes; s++) {
        create_at_the_limit(try_spsc, sizes[s], 0);
        create_at_the_limit(try_mpmc, sizes[s], sizeof(uint64_t)); /* the stamp */
    }
}

static ilk_status make_pool(void) {
    ilk_pool *const untouched = (ilk_pool *)&calls;
    ilk_pool *pool = untouched;
    const ilk_pool_options options = {.threads = 1};
    ilk_status status = ilk_pool_create(&pool, &options);
    if (status == ILK_OK) {
        live -= 1; /* the started thread frees it, and counts for itself */
        ilk_pool_destroy(pool);
    } else {
        check(pool == untouched);
    }
    return status;
}

static ilk_status name_something(void) {
    static int object;
    char name[ILK_NAME_SIZE];
    ilk_status status = ilk_set_name(&object, "something");
    check_equal(ilk_get_name(&object, name, sizeof name), status == ILK_OK);
    check_equal(ilk_set_name(&object, NULL), ILK_OK);
    return status;
}
static ilk_status make_wait_set(void) {
    ilk_wait_set *const untouched = (ilk_wait_set *)&calls;
    ilk_wait_set *set = untouched;
    static ilk_latch latch; /* open */
    ilk_status status = ilk_wait_set_create(&set);
    if (status != ILK_OK) {
        check(set == untouched);
        return status;
    }
    status = ilk_wait_set_add_latch(set, &latch, &latch);
    check_equal(ilk_wait_set_remove(set, &latch), status == ILK_OK);
    ilk_wait_set_destroy(set);
    return status;
}
/* contract: ilk_mpmc_create, ilk_pool_create, ilk_set_name, ilk_spsc_create, ilk_wait_set_create */
TEST(every_failing_allocation_answers_no_memory) {
    fail_every_allocation(make_spsc);
    fail_every_allocation(make_mpmc);
    fail_every_allocation(make_pool);
    fail_every_allocation(name_something);
    fail_every_allocation(make_wait_set);
}
/* contract: ilk_set_name */
TEST(an_earlier_name_outlives_a_failure) {
    int object = 0;
    char name[ILK_NAME_SIZE];
    check_equal(ilk_set_name(&object, "first"), ILK_OK);
    calls = 0;
    fails_at = 1;
    (void)ilk_set_name(&object, "second");
    bool failed = calls > 0;
    fails_at = 0;
    check(ilk_get_name(&object, name, sizeof name));
    assert_string_equal(name, failed ? "first" : "second");
    check_equal(ilk_set_name(&object, NULL), ILK_OK);
}

/* ---- Calls that never allocate ---- */

static bool never(void *unused) {
    return false;
}
static void wait_in_everything(void *context) {
    ilk_wait_set *set = NULL;
    check_equal(ilk_wait_set_create(&set), ILK_OK);
    calls = 0;
    const uint64_t soon = ilk_deadline_in_ns(1000000);
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_rwlock_read_lock(&lock);
    check_equal(ilk_rwlock_write_lock_until(&lock, soon), ILK_TIMEDOUT);
    ilk_rwlock_read_unlock(&lock);
    check_equal(ilk_rwlock_upgradable_lock_until(&lock, soon), ILK_OK);
    check_equal(ilk_rwlock_upgradable_lock_until(&lock, soon), ILK_TIMEDOUT);
    ilk_rwlock_upgrade(&lock);
    ilk_rwlock_downgrade(&lock);
    ilk_rwlock_read_unlock(&lock);
    ilk_rwlock_destroy(&lock);
    ilk_semaphore semaphore = ILK_SEMAPHORE_INIT(0);
    check_equal(ilk_semaphore_wait_until(&semaphore, soon + 1000000), ILK_TIMEDOUT);
    ilk_semaphore_signal(&semaphore, 1);
    ilk_semaphore_wait(&semaphore);
    ilk_semaphore_destroy(&semaphore);
    ilk_latch latch;
    ilk_latch_init(&latch, 1);
    check_equal(ilk_latch_wait_until(&latch, soon + 2000000), ILK_TIMEDOUT);
    ilk_latch_count_down(&latch);
    ilk_barrier barrier;
    ilk_barrier_init(&barrier, 1);
    check(ilk_barrier_wait(&barrier));
    ilk_barrier_init(&barrier, 2);
    check_equal(ilk_barrier_wait_until(&barrier, soon + 3000000, NULL), ILK_TIMEDOUT);
    for (int inherits = 0; inherits < 2; inherits++) {
        ilk_mutex mutex;
        ilk_mutex_init(&mutex, inherits == 1);
        ilk_mutex_lock(&mutex);
        ilk_mutex_unlock(&mutex);
        check(ilk_mutex_try_lock(&mutex));
        check(!ilk_mutex_try_lock(&mutex));
        check_equal(ilk_mutex_await_until(&mutex, never, NULL, soon + 3500000), ILK_TIMEDOUT);
        ilk_condition condition = ILK_CONDITION_INIT;
        check_equal(ilk_condition_wait_until(&condition, &mutex, soon + 3700000), ILK_TIMEDOUT);
        ilk_mutex_unlock(&mutex);
    }
    void *keys[1];
    size_t count;
    check_equal(ilk_wait_set_wait_until(set, keys, 1, &count, soon + 4000000), ILK_TIMEDOUT);
    ilk_wait_set_wake(set);
    check_equal(calls, 0);
    ilk_wait_set_destroy(set);
}
/* contract: condition.h, ilk_mutex_lock, ilk_wait_set_wait_until, ilk_wait_set_wake */
TEST(locks_and_their_waits_never_allocate) {
    wait_in_everything(NULL);
    struct thread thread; /* nor for a thread's first use */
    thread_start(&thread, wait_in_everything, NULL);
    thread_join(&thread);
}

static void ignore_event(void *context, ilk_ring_event event) {}
/* contract: ilk_mpmc_create, ilk_spsc_create, mpmc.E, spsc.E */
TEST(rings_allocate_at_creation_only) {
    ilk_spsc *spsc = NULL;
    ilk_mpmc *mpmc = NULL;
    check_equal(ilk_spsc_create(&spsc, 3, sizeof(int)), ILK_OK);
    check_equal(ilk_mpmc_create(&mpmc, 3, sizeof(int)), ILK_OK);
    calls = 0;
    int values[3] = {1, 2, 3};
    size_t count = 3;
    const uint64_t soon = ilk_deadline_in_ns(1000000);
    check_equal(ilk_spsc_try_push_many(spsc, values, 3, sizeof *values), 3);
    check_equal(ilk_spsc_push_until(spsc, values, sizeof *values, soon), ILK_TIMEDOUT);
    check(ilk_spsc_peek(spsc, &count) != NULL);
    ilk_spsc_release(spsc, 3);
    check(ilk_spsc_reserve(spsc, &count) != NULL);
    ilk_spsc_commit(spsc, 1);
    ilk_spsc_close(spsc);
    check_equal(ilk_mpmc_try_push_many(mpmc, values, 3, sizeof *values), 3);
    check_equal(ilk_mpmc_push_until(mpmc, values, sizeof *values, soon + 1000000), ILK_TIMEDOUT);
    check(ilk_mpmc_push_overwriting(mpmc, values, sizeof *values, values));
    count = 3;
    check(ilk_mpmc_peek(mpmc, &count) != NULL);
    ilk_mpmc_release(mpmc, count);
    count = 1;
    check(ilk_mpmc_reserve(mpmc, &count) != NULL);
    ilk_mpmc_commit(mpmc, 1);
    ilk_mpmc_close(mpmc);
    ilk_spsc_set_notify(spsc, ignore_event, NULL);
    ilk_mpmc_set_notify(mpmc, ignore_event, NULL);
    check(!ilk_spsc_arm_push(spsc));
    check(!ilk_mpmc_arm_push(mpmc));
    check_equal(calls, 0);
    ilk_spsc_destroy(spsc);
    ilk_mpmc_destroy(mpmc);
}

/* ---- The pool ---- */

struct allocating {
    ilk_pool *pool;
    ilk_group group;
    ilk_job jobs[400];
    long of_worker; /* allocations on the worker's thread */
};

static void do_nothing(void *context) {}

static void visit_nothing(void *context, size_t first, size_t end) {}

/* Everything a job does with its pool; more jobs than a deque holds. */
static void use_pool(void *context) {
    struct allocating *allocating = context;
    ilk_group group = {0};
    calls = 0;
    for (int i = 0; i < 300; i++) {
        ilk_job_init(&allocating->jobs[i], do_nothing, NULL);
        ilk_job_set_group(&allocating->jobs[i], &group);
        check(ilk_pool_submit(allocating->pool, &allocating->jobs[i]));
    }
    ilk_job forked;
    ilk_pool_fork(allocating->pool, &forked, do_nothing, NULL);
    ilk_pool_join(allocating->pool, &forked);
    check(ilk_pool_for(allocating->pool, 0, 1000, 1, visit_nothing, NULL));
    check_equal(ilk_group_wait_until(&group, ILK_FOREVER), ILK_OK);
    ilk_pool_will_block(); /* another thread would be one too many */
    ilk_pool_did_block();
    allocating->of_worker = calls;
}
/* contract: pool.E */
TEST(a_pool_allocates_for_threads_only) {
    static struct allocating allocating;
    const ilk_pool_options options = {.threads = 1, .max_threads = 1};
    check_equal(ilk_pool_create(&allocating.pool, &options), ILK_OK);
    ilk_timer timers[100];
    ilk_timer_init(&timers[0], do_nothing, NULL);
    check_equal(ilk_pool_submit_at(allocating.pool, &timers[0], ILK_FOREVER),
                ILK_OK); /* the first starts a thread */
    calls = 0;
    ilk_job job, follower, *many[50];
    ilk_job_init(&job, use_pool, &allocating);
    ilk_job_set_group(&job, &allocating.group);
    check(ilk_pool_submit(allocating.pool, &job));
    ilk_job_init(&follower, do_nothing, NULL);
    check(ilk_group_follow(&allocating.group, allocating.pool, &follower));
    for (int i = 1; i < 100; i++) {
        ilk_timer_init(&timers[i], do_nothing, NULL);
        ilk_job_set_group(ilk_timer_job(&timers[i]), &allocating.group);
        check_equal(ilk_pool_submit_at(allocating.pool, &timers[i], ilk_deadline_in_ns(1000)), ILK_OK);
        (void)ilk_pool_cancel(allocating.pool, &timers[i]);
    }
    for (int i = 0; i < 50; i++) {
        many[i] = &allocating.jobs[300 + i];
        ilk_job_init(many[i], do_nothing, NULL);
        ilk_job_set_group(many[i], &allocating.group);
    }
    check(ilk_pool_submit_many(allocating.pool, many, 50));
    check(ilk_pool_for(allocating.pool, 0, 1000, 1, visit_nothing, NULL));
    check_equal(ilk_group_wait_until(&allocating.group, ILK_FOREVER), ILK_OK);
    check(ilk_pool_cancel(allocating.pool, &timers[0]));
    ilk_pool_close(allocating.pool);
    check_equal(ilk_pool_wait_until(allocating.pool, ILK_FOREVER), ILK_OK);
    check_equal(calls, 0);
    check_equal(allocating.of_worker, 0);
    ilk_pool_destroy(allocating.pool);
}
