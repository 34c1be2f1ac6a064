/* SPDX-License-Identifier: Apache-2.0
 *
 * Groups: how many jobs have not ended, and the job that follows. waits.c waits for them.
 *
 * The subtraction that makes the count 0 is the last touch: a waiter may free the group. The thread that makes it takes
 * the follower out before, and submits it afterwards. It wakes workers of its own pool, which is there; the pool that
 * the group names may have ended with jobs of before.
 */
#include "pool/pool.h"

#include "diagnostics/misuse.h"
#include <interlock/park.h>
#include <stddef.h>

void ilk_group_init(ilk_group *group) {
    /* GR1 relaxed: no other thread uses the group yet. */
    ilk_atomic_store(&group->word, 0, memory_order_relaxed);
    ilk_atomic_store(&group->pool, NULL, memory_order_relaxed); /* GR1 */
    group->follower_pool = NULL;
    group->follower = NULL;
}

void ilk__group_enter(ilk_group *group, ilk_pool *pool) ILK_NONBLOCKING {
    /* GR2 relaxed: constant while the group has jobs; a waiter reads it after the submission that it waits for. */
    if (ilk_atomic_load(&group->pool, memory_order_relaxed) != pool) {
        /* GR8 acquire, pairs with GR3 (release, entering).
         * Carries: the pool that another thread's first job has given the group.
         * If weaker: two threads that submit its first jobs at once are reported. */
        if (ilk_atomic_load(&group->word, memory_order_acquire) >= GROUP_ONE &&
            ilk_atomic_load(&group->pool, memory_order_relaxed) != pool) { /* GR2 */
            ilk__misuse("ilk_pool_submit", pool, "a job of group %p, whose other jobs are another pool's",
                        (const void *)group);
        }
        ilk_atomic_store(&group->pool, pool, memory_order_relaxed); /* GR2 */
    }
    /* GR3 release, pairs with GR8 (acquire, entering): the group has its pool before it has a job. */
    ilk_atomic_fetch_add(&group->word, GROUP_ONE, memory_order_release);
}

void ilk__group_leave(ilk_group *group, ilk_pool *pool) {
    ilk_job *follower = NULL;
    ilk_pool *follower_pool = NULL;
    /* GR5 acquire, pairs with GR6 (release, follow).
     * Carries: the follower. If weaker: we submit a pointer that is not written yet. */
    uint32_t word = ilk_atomic_load(&group->word, memory_order_acquire);
    for (;;) {
        const bool is_last = word / GROUP_ONE == 1;
        uint32_t next = word - GROUP_ONE;
        if (is_last && (word & GROUP_FOLLOWER) != 0) {
            ilk_plain_read(&group->follower, sizeof group->follower);
            follower = group->follower;
            follower_pool = group->follower_pool;
            next -= GROUP_FOLLOWER;
        }
        /* GR4 acq_rel, pairs with GR6 and GR10 (release, follow, and a worker that sleeps), with GR7 (acquire, waiting)
         * and with itself.
         * Carries: what every job did, along the chain of subtractions.
         * If weaker: a waiter, or the follower, misses the work of a job. */
        if (ilk_atomic_compare_exchange_weak(&group->word, &word, next, memory_order_acq_rel,
                                             memory_order_acquire)) {
            break;
        }
        follower = NULL;
    }
    /* The group may be gone. */
    if (word / GROUP_ONE == 1) {
        if ((word & GROUP_SLEEPERS) != 0) {
            ILK__REACHES(GROUP_WAKES, true);
            ilk_park_wake(&group->word, ILK_PARK_ALL);
        }
        if ((word & GROUP_WORKERS) != 0) {
            ILK__REACHES(GROUP_WAKES_WORKERS, true);
            ilk__pool_end_waits(pool, group);
        }
        ILK__REACHES(GROUP_FOLLOWED, follower != NULL);
        if (follower != NULL) {
            ilk__pool_push_outstanding(follower_pool, follower);
        }
    }
}

bool ilk_group_follow(ilk_group *group, ilk_pool *pool, ilk_job *job) {
    if (!ilk__pool_outstanding_add(pool)) {
        return false;
    }
    if (job->group != NULL) {
        ilk__group_enter(job->group, pool);
    }
    uint32_t word = ilk_atomic_load(&group->word, memory_order_acquire); /* GR7 */
    do {
        if (word < GROUP_ONE) { /* no pool of before is touched: it may be gone */
            ilk__pool_push_outstanding(pool, job);
            return true;
        }
        if ((word & GROUP_FOLLOWER) != 0) {
            ilk__misuse("ilk_group_follow", group, "it has a job that follows already");
        }
        group->follower_pool = pool;
        ilk_plain_write(&group->follower, sizeof group->follower);
        group->follower = job;
        /* GR6 release, pairs with GR4 and GR5 (acquire, leaving).
         * Carries: the follower, which the last job submits. See there. */
    } while (!ilk_atomic_compare_exchange_weak(&group->word, &word, word | GROUP_FOLLOWER,
                                               memory_order_release, memory_order_acquire)); /* GR7 */
    return true;
}
