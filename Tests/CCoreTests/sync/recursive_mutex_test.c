/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_recursive_mutex: further locks of the owner, beside other threads and in a child; what init makes; misuse; what
 * diagnosis sees.
 */
#include "support/fork.h"
#include "support/misuse.h"
#include <interlock/diagnostics.h>
#include <interlock/recursive_mutex.h>
#include <unistd.h>

struct other {
    ilk_recursive_mutex *mutex;
    bool tried;
    ilk_status status; /* of a passed deadline */
    struct thread thread;
};
static void try_both(void *context) {
    struct other *self = context;
    self->tried = ilk_recursive_mutex_try_lock(self->mutex);
    self->status = ilk_recursive_mutex_lock_until(self->mutex, 0);
    if (self->tried) {
        ilk_recursive_mutex_unlock(self->mutex);
    }
    if (self->status == ILK_OK) {
        ilk_recursive_mutex_unlock(self->mutex);
    }
}
static bool is_free_to_others(ilk_recursive_mutex *mutex) {
    struct other other = {mutex, false, ILK_CLOSED, {0}};
    thread_start(&other.thread, try_both, &other);
    thread_join(&other.thread);
    check_equal(other.status, other.tried ? ILK_OK : ILK_TIMEDOUT);
    return other.tried;
}

/* contract: ilk_recursive_mutex_init */
TEST(init_makes_a_held_one_free_as_ilk_mutex_init) {
    for (int inherits = 0; inherits <= 1; inherits++) {
        ilk_recursive_mutex mutex = ILK_RECURSIVE_MUTEX_INIT;
        ilk_recursive_mutex_lock(&mutex);
        ilk_recursive_mutex_lock(&mutex);
        ilk_recursive_mutex_init(&mutex, inherits);
        ilk_mutex same;
        ilk_mutex_init(&same, inherits);
        check_equal(ilk_atomic_load(&mutex.mutex.settings, memory_order_relaxed),
                    ilk_atomic_load(&same.settings, memory_order_relaxed));
        ilk_recursive_mutex_lock(&mutex);
        ilk_recursive_mutex_unlock(&mutex);
        check(is_free_to_others(&mutex));
    }
}

/* contract: recursive_mutex.E, ilk_recursive_mutex_init, ilk_recursive_mutex_lock, ilk_recursive_mutex_try_lock */
/* contract: ilk_recursive_mutex_lock_until, ilk_recursive_mutex_unlock */
TEST(the_unlock_of_the_first_lock_gives_it_up) {
    static ilk_recursive_mutex zero;
    ilk_recursive_mutex defined = ILK_RECURSIVE_MUTEX_INIT, made[2];
    ilk_recursive_mutex_init(&made[0], false);
    ilk_recursive_mutex_init(&made[1], true);
    ilk_recursive_mutex *const kinds[] = {&zero, &defined, &made[0], &made[1]};
    for (size_t kind = 0; kind < sizeof kinds / sizeof *kinds; kind++) {
        ilk_recursive_mutex *mutex = kinds[kind];
        for (int round = 0; round < 3; round++) {
            check(is_free_to_others(mutex));
            ilk_recursive_mutex_lock(mutex);
            check(ilk_recursive_mutex_try_lock(mutex));
            check_equal(ilk_recursive_mutex_lock_until(mutex, 0), ILK_OK);
            ilk_recursive_mutex_lock(mutex);
            for (int held = 4; held > 0; held--) {
                check(!is_free_to_others(mutex));
                ilk_recursive_mutex_unlock(mutex);
            }
        }
        check(is_free_to_others(mutex));
    }
}

struct user {
    ilk_recursive_mutex *mutex;
    uint64_t *plain;
    int rounds;
};
static void count_within(struct user *self, int depth) {
    ilk_recursive_mutex_lock(self->mutex);
    ++*self->plain;
    if (depth > 1) {
        count_within(self, depth - 1);
    }
    ++*self->plain; /* still the owner */
    ilk_recursive_mutex_unlock(self->mutex);
}
static void use(void *context) {
    struct user *self = context;
    for (int round = 0; round < self->rounds; round++) {
        count_within(self, 1 + round % 4);
    }
}
TEST(it_has_one_owner_at_a_time_however_deep) {
    enum { THREADS = 4, EACH = 4 * 2500 };
    for (int inherits = 0; inherits <= 1; inherits++) {
        ilk_recursive_mutex mutex;
        ilk_recursive_mutex_init(&mutex, inherits);
        const int rounds = stress_rounds(EACH / 4) * 4;
        uint64_t plain = 0;
        struct user users[THREADS];
        for (int index = 0; index < THREADS; index++) {
            users[index] = (struct user){&mutex, &plain, rounds};
        }
        threads_run(THREADS, use, users, sizeof *users);
        check_equal(plain, (uint64_t)THREADS * (uint64_t)rounds / 4 * 2 * (1 + 2 + 3 + 4));
        check(is_free_to_others(&mutex));
    }
}

static void unlock_free(void *context) {
    ilk_recursive_mutex mutex = ILK_RECURSIVE_MUTEX_INIT;
    ilk_recursive_mutex_lock(&mutex);
    ilk_recursive_mutex_lock(&mutex);
    ilk_recursive_mutex_unlock(&mutex);
    ilk_recursive_mutex_unlock(&mutex);
    ilk_recursive_mutex_unlock(&mutex);
}
static void lock_twice_and_keep(void *context) {
    ilk_recursive_mutex_lock(context);
    ilk_recursive_mutex_lock(context);
    sleep_for_ever();
}
static void unlock_by_another(void *context) {
    static ilk_recursive_mutex mutex = ILK_RECURSIVE_MUTEX_INIT;
    misuse_beside(lock_twice_and_keep, &mutex);
    ilk_recursive_mutex_unlock(&mutex);
}
/* As if it were locked 2^32 - 1 times, and once more. */
static void lock_as_often_as_possible(ilk_recursive_mutex *mutex) {
    ilk_recursive_mutex_lock(mutex);
    mutex->more = UINT32_MAX - 1;
    check(ilk_recursive_mutex_try_lock(mutex));
    mutex->more--;
    ilk_recursive_mutex_lock(mutex);
    mutex->more--;
    check_equal(ilk_recursive_mutex_lock_until(mutex, 0), ILK_OK);
}
static void lock_too_often(void *context) {
    lock_as_often_as_possible(context);
    ilk_recursive_mutex_lock(context);
}
static void try_too_often(void *context) {
    lock_as_often_as_possible(context);
    check(!ilk_recursive_mutex_try_lock(context));
}
static void lock_in_time_too_often(void *context) {
    lock_as_often_as_possible(context);
    check_equal(ilk_recursive_mutex_lock_until(context, 0), ILK_TIMEDOUT);
}
TEST(misuse_of_a_recursive_mutex_is_reported) {
    ilk_recursive_mutex mutex = ILK_RECURSIVE_MUTEX_INIT;
    expect_misuse(unlock_free, NULL, "ilk_recursive_mutex_unlock", "does not own it");
    expect_misuse(unlock_by_another, NULL, "ilk_recursive_mutex_unlock", "does not own it");
    expect_misuse(lock_too_often, &mutex, "ilk_recursive_mutex_lock", "2^32 times");
    expect_misuse(try_too_often, &mutex, "ilk_recursive_mutex_try_lock", "2^32 times");
    expect_misuse(lock_in_time_too_often, &mutex, "ilk_recursive_mutex_lock_until", "2^32 times");
}

TEST(a_child_goes_on_with_the_locks_of_the_thread_that_forked) {
    need_children();
    ilk_recursive_mutex mutex = ILK_RECURSIVE_MUTEX_INIT;
    ilk_recursive_mutex_lock(&mutex);
    ilk_recursive_mutex_lock(&mutex);
    const pid_t child = fork();
    if (is_child(child)) {
        check(ilk_recursive_mutex_try_lock(&mutex)); /* the third */
        for (int held = 3; held > 0; held--) {
            check(!is_free_to_others(&mutex));
            ilk_recursive_mutex_unlock(&mutex);
        }
        _exit(is_free_to_others(&mutex) ? 0 : 1);
    }
    expect_exit(child, 0);
    check(!is_free_to_others(&mutex));
    ilk_recursive_mutex_unlock(&mutex);
    ilk_recursive_mutex_unlock(&mutex);
}

TEST(diagnosis_sees_its_mutex_at_the_same_address) {
    ilk_diagnose(ILK_DIAGNOSE_CONTENTION);
    ilk_figures_reset();
    ilk_recursive_mutex mutex = ILK_RECURSIVE_MUTEX_INIT;
    ilk_recursive_mutex_lock(&mutex);
    ilk_recursive_mutex_lock(&mutex);
    ilk_recursive_mutex_unlock(&mutex);
    ilk_recursive_mutex_unlock(&mutex);
    ilk_figures figures[16]; /* some of other tests, where all of them are watched */
    const size_t count = ilk_figures_snapshot(figures, 16);
    size_t own = 0;
    while (own < count && figures[own].object != &mutex) {
        own++;
    }
    check(own < count && count <= 16);
    check_equal(figures[own].acquisitions, 1); /* from the first lock to its unlock */
    ilk_diagnose(0);
}
