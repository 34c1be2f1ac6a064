/* SPDX-License-Identifier: Apache-2.0
 *
 * The fast paths whose instructions are counted: paths PATH ROUNDS [switched]. With "switched" the objects are made
 * while diagnosis is on, which is off again when the rounds begin: they must cost the same.
 */
#include <interlock/diagnostics.h>
#include <interlock/interlock.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static ilk_rwlock lock;
static ilk_mutex mutex;
static ilk_semaphore semaphore;
static ilk_spsc *spsc;
static ilk_mpmc *mpmc;
static const uint64_t element = 1;

static void read_lock(void) {
    ilk_rwlock_read_lock(&lock);
    ilk_rwlock_read_unlock(&lock);
}
static void write_lock(void) {
    ilk_rwlock_write_lock(&lock);
    ilk_rwlock_write_unlock(&lock);
}
static void upgrade_and_downgrade(void) {
    ilk_rwlock_upgradable_lock(&lock);
    ilk_rwlock_upgrade(&lock);
    ilk_rwlock_downgrade(&lock);
    ilk_rwlock_read_unlock(&lock);
}
static void lock_mutex(void) {
    ilk_mutex_lock(&mutex);
    ilk_mutex_unlock(&mutex);
}
static void try_mutex(void) {
    if (ilk_mutex_try_lock(&mutex)) {
        ilk_mutex_unlock(&mutex);
    }
}
static void take_permit(void) {
    ilk_semaphore_wait(&semaphore);
    ilk_semaphore_signal(&semaphore, 1);
}
static void pass_spsc(void) {
    uint64_t popped;
    if (ilk_spsc_push_until(spsc, &element, sizeof element, ILK_FOREVER) != ILK_OK ||
        ilk_spsc_pop_until(spsc, &popped, sizeof popped, ILK_FOREVER) != ILK_OK) {
        abort();
    }
}
static void pass_mpmc(void) {
    uint64_t popped;
    if (ilk_mpmc_push_until(mpmc, &element, sizeof element, ILK_FOREVER) != ILK_OK ||
        ilk_mpmc_pop_until(mpmc, &popped, sizeof popped, ILK_FOREVER) != ILK_OK) {
        abort();
    }
}

static const struct {
    const char *name;
    void (*pass)(void);
} paths[] = {
    {"rwlock-read", read_lock},   {"rwlock-write", write_lock}, {"rwlock-upgrade", upgrade_and_downgrade},
    {"mutex-lock", lock_mutex},   {"mutex-try", try_mutex},     {"semaphore", take_permit},
    {"spsc-push-pop", pass_spsc}, {"mpmc-push-pop", pass_mpmc},
};

int main(int argument_count, char **arguments) {
    if (argument_count < 3) {
        for (size_t index = 0; index < sizeof paths / sizeof *paths; index++) {
            puts(paths[index].name);
        }
        return 0;
    }
    /* Contention would have the rings sampled by a thread, whose instructions count too. */
    ilk_diagnose(argument_count > 3 ? ILK_DIAGNOSE_ORDER | ILK_DIAGNOSE_HANG : 0);
    ilk_rwlock_init(&lock);
    ilk_mutex_init(&mutex, false);
    ilk_semaphore_init(&semaphore, 1);
    if (ilk_spsc_create(&spsc, 64, sizeof element) != ILK_OK ||
        ilk_mpmc_create(&mpmc, 64, sizeof element) != ILK_OK) {
        return 1;
    }
    ilk_diagnose(0);
    void (*pass)(void) = NULL;
    for (size_t index = 0; index < sizeof paths / sizeof *paths; index++) {
        pass = strcmp(arguments[1], paths[index].name) == 0 ? paths[index].pass : pass;
    }
    if (pass == NULL) {
        (void)fprintf(stderr, "paths: no path is called \"%s\"\n", arguments[1]);
        return 2;
    }
    for (long rounds = atol(arguments[2]); rounds > 0; rounds--) {
        pass();
    }
    return 0;
}
