/* SPDX-License-Identifier: Apache-2.0
 *
 * See pool.h.
 */
#include "support/pool.h"

uint64_t far_limit(void) {
    return ilk_deadline_in_ns(MILLISECONDS(120000));
}

ilk_pool *pool_make(ilk_pool_options options) {
    ilk_pool *pool = NULL;
    check_equal(ilk_pool_create(&pool, &options), ILK_OK);
    return pool;
}

ilk_pool *pool_of(uint32_t threads) {
    return pool_make((ilk_pool_options){.threads = threads});
}

ilk_pool *pool_of_at_most(uint32_t threads) {
    return pool_make((ilk_pool_options){.threads = threads, .max_threads = threads});
}

void pool_await_blocked(ilk_pool *pool, uint32_t threads) {
    const uint64_t deadline = far_limit();
    while (ilk_pool_get_info(pool).blocked != threads) {
        check(ilk_now_ns() < deadline);
        sched_yield();
    }
}

void pool_await_end(ilk_pool *pool) {
    const uint64_t deadline = far_limit();
    check_equal(ilk_pool_wait_until(pool, deadline), ILK_OK);
    check(ilk_now_ns() < deadline);
}

void pool_end(ilk_pool *pool) {
    ilk_pool_close(pool);
    pool_await_end(pool);
    ilk_pool_destroy(pool);
}

void pool_submit_as(ilk_pool *pool, ilk_job *job, void (*function)(void *context), void *context,
                    ilk_group *group, ilk_priority priority) {
    ilk_job_init(job, function, context);
    ilk_job_set_group(job, group);
    ilk_job_set_priority(job, priority);
    check(ilk_pool_submit(pool, job));
}

void pool_submit(ilk_pool *pool, ilk_job *job, void (*function)(void *context), void *context,
                 ilk_group *group) {
    pool_submit_as(pool, job, function, context, group, ILK_PRIORITY_NORMAL);
}

void group_await(ilk_group *group) {
    const uint64_t deadline = far_limit();
    check_equal(ilk_group_wait_until(group, deadline), ILK_OK);
    check(ilk_now_ns() < deadline);
}
