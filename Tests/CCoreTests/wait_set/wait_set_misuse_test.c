/* SPDX-License-Identifier: Apache-2.0
 *
 * Misuse of ilk_wait_set, and of what is in one.
 */
/* contract: wait_set.h */
#include "support/misuse.h"
#include "wait_set/waiting.h"

static void wait_for_ever(void *set) {
    void *keys[1];
    size_t count;
    (void)!ilk_wait_set_wait_until(set, keys, 1, &count, ILK_FOREVER);
}

static void two_threads_wait(void *context) {
    ilk_wait_set *set = new_set();
    misuse_beside(wait_for_ever, set);
    wait_for_ever(set);
}

static void destroyed_beside_a_wait(void *context) {
    ilk_wait_set *set = new_set();
    misuse_beside(wait_for_ever, set);
    ilk_wait_set_destroy(set);
}

static void spsc_destroyed_in_a_set(void *context) {
    ilk_spsc *ring = new_spsc(1);
    check_equal(ilk_wait_set_add_spsc(new_set(), ring, ILK_WRITABLE, NULL), ILK_OK);
    ilk_spsc_destroy(ring);
}

static void mpmc_destroyed_in_a_set(void *context) {
    ilk_mpmc *ring = new_mpmc(1);
    check_equal(ilk_wait_set_add_mpmc(new_set(), ring, ILK_WRITABLE, NULL), ILK_OK);
    ilk_mpmc_destroy(ring);
}

static void semaphore_destroyed_in_a_set(void *context) {
    ilk_wait_set *set = new_set();
    ilk_semaphore semaphore = ILK_SEMAPHORE_INIT(0);
    check_equal(ilk_wait_set_add_semaphore(set, &semaphore, NULL), ILK_OK);
    check(!is_ready(set, NULL)); /* from here on it is in the queue */
    ilk_semaphore_destroy(&semaphore);
}

/* A set that keeps a permit, which does not count, beside the most there can be. */
static ilk_wait_set *keep_permit_beyond_the_most(ilk_semaphore *semaphore) {
    ilk_wait_set *set = new_set();
    check_equal(ilk_wait_set_add_semaphore(set, semaphore, NULL), ILK_OK);
    check(!is_ready(set, NULL));
    ilk_semaphore_signal(semaphore, 1);
    check(ilk_semaphore_try_signal(semaphore, ILK_SEMAPHORE_MAX));
    return set;
}
static void permit_given_back_by_remove(void *context) {
    ilk_semaphore semaphore = ILK_SEMAPHORE_INIT(0);
    ilk_wait_set_remove(keep_permit_beyond_the_most(&semaphore), NULL);
}
static void permit_given_back_by_destroy(void *context) {
    ilk_semaphore semaphore = ILK_SEMAPHORE_INIT(0);
    ilk_wait_set_destroy(keep_permit_beyond_the_most(&semaphore));
}

static const struct misuse table[] = {
    {two_threads_wait, "ilk_wait_set_wait_until", "another thread waits on the set"},
    {destroyed_beside_a_wait, "ilk_wait_set_destroy", "destroyed while a thread waits"},
    {spsc_destroyed_in_a_set, "ilk_spsc_destroy", "destroyed while it is in a wait set"},
    {mpmc_destroyed_in_a_set, "ilk_mpmc_destroy", "destroyed while it is in a wait set"},
    {semaphore_destroyed_in_a_set, "ilk_semaphore_destroy", "destroyed while 1 threads wait"},
    {permit_given_back_by_remove, "ilk_semaphore_signal", "permits more than"},
    {permit_given_back_by_destroy, "ilk_semaphore_signal", "permits more than"},
};

TEST(misuse_of_a_wait_set_is_reported) {
    EXPECT_ALL(table);
}

TEST(a_semaphore_in_whose_queue_its_set_does_not_stand_is_destroyed_unnoticed) {
    ilk_wait_set *set = new_set();
    ilk_semaphore semaphore = ILK_SEMAPHORE_INIT(0);
    check_equal(ilk_wait_set_add_semaphore(set, &semaphore, NULL), ILK_OK);
    ilk_semaphore_destroy(&semaphore);
    ilk_wait_set_destroy(set);
}
