/* SPDX-License-Identifier: Apache-2.0
 *
 * Under RealtimeSanitizer, which ends the program when a function marked nonblocking allocates, locks or
 * makes a blocking system call: every try_ call, where nobody sleeps on the other side. The first test
 * shows that the sanitizer is there and looks.
 */
#include "support/test.h"
#include <interlock/interlock.h>
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

static void the_sanitizer_finds_an_allocation(void **state) {
    (void)state;
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

/* The calls that give up are not marked (they may hand over to a waiter): they stand outside. */
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
    return ilk_latch_try_wait(latch);
}

static bool try_mutex(ilk_mutex *mutex) ILK_NONBLOCKING {
    return ilk_mutex_try_lock(mutex);
}

static void locks_do_not_block(void **state) {
    (void)state;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_semaphore semaphore = ILK_SEMAPHORE_INIT(1);
    ilk_latch latch;
    ilk_latch_init(&latch, ROUNDS + 1);
    ilk_mutex mutex;
    ilk_mutex_init(&mutex, true);
    /* A thread's first use of any mutex asks the kernel for its id: a system call, but one that cannot
     * block. The sanitizer holds every system call for one that can. */
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
        check(!count_down(&latch));
        check(try_mutex(&mutex) && !try_mutex(&mutex));
        ilk_mutex_unlock(&mutex);
    }
}

static bool use_spsc(ilk_spsc *ring) ILK_NONBLOCKING {
    int values[3] = {1, 2, 3}, out[3];
    size_t count = 1;
    bool good = ilk_spsc_try_push(ring, values, sizeof *values);
    good = good && ilk_spsc_try_push_many(ring, values, 3, sizeof *values) == 2; /* full */
    good = good && !ilk_spsc_try_push(ring, values, sizeof *values);
    good = good && ilk_spsc_try_pop(ring, out, sizeof *out);
    good = good && ilk_spsc_try_pop_many(ring, out, 3, sizeof *out) == 2;
    good = good && !ilk_spsc_try_pop(ring, out, sizeof *out);
    good = good && ilk_spsc_reserve(ring, &count) != NULL;
    ilk_spsc_commit(ring, 1);
    good = good && ilk_spsc_peek(ring, &count) != NULL;
    ilk_spsc_release(ring, 1);
    return good && ilk_spsc_count(ring) == 0;
}

static bool use_mpmc(ilk_mpmc *ring) ILK_NONBLOCKING {
    int values[3] = {1, 2, 3}, out[3];
    size_t count = 1;
    bool good = ilk_mpmc_try_push(ring, values, sizeof *values);
    good = good && ilk_mpmc_try_push_many(ring, values, 3, sizeof *values) == 2; /* full */
    good = good && !ilk_mpmc_try_push(ring, values, sizeof *values);
    good = good && ilk_mpmc_try_pop(ring, out, sizeof *out);
    good = good && ilk_mpmc_try_pop_many(ring, out, 3, sizeof *out) == 2;
    good = good && !ilk_mpmc_try_pop(ring, out, sizeof *out);
    good = good && ilk_mpmc_reserve(ring, &count) != NULL;
    ilk_mpmc_commit(ring, 1);
    good = good && ilk_mpmc_peek(ring, &count) != NULL;
    ilk_mpmc_release(ring, 1);
    return good && ilk_mpmc_count(ring) == 0;
}

static void rings_do_not_block(void **state) {
    (void)state;
    ilk_spsc *spsc = NULL;
    ilk_mpmc *mpmc = NULL;
    check_equal(ilk_spsc_create(&spsc, 3, sizeof(int)), ILK_OK);
    check_equal(ilk_mpmc_create(&mpmc, 3, sizeof(int)), ILK_OK);
    for (int i = 0; i < ROUNDS; i++) {
        check(use_spsc(spsc));
        check(use_mpmc(mpmc));
    }
    ilk_spsc_destroy(spsc);
    ilk_mpmc_destroy(mpmc);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_sanitizer_finds_an_allocation),
    cmocka_unit_test(locks_do_not_block),
    cmocka_unit_test(rings_do_not_block),
};

TEST_MAIN(tests)
