/* SPDX-License-Identifier: Apache-2.0
 *
 * What the tests of ilk_pool share: pools made and ended, jobs submitted, waits with a far limit. Such a wait fails
 * when its limit has come, also where what it waits for is over by then: its wake-up was lost.
 */
#ifndef INTERLOCK_TESTS_SUPPORT_POOL_H
#define INTERLOCK_TESTS_SUPPORT_POOL_H

#include "support/test.h"
#include <interlock/pool.h>

/* Beyond what any step of a test takes, on a busy machine too. */
uint64_t far_limit(void);

ilk_pool *pool_make(ilk_pool_options options);
ilk_pool *pool_of(uint32_t threads);
ilk_pool *pool_of_at_most(uint32_t threads); /* no thread takes over for one that blocks */

/* Waits until so many of its threads are blocked. */
void pool_await_blocked(ilk_pool *pool, uint32_t threads);

/* Waits until the closed pool has ended. */
void pool_await_end(ilk_pool *pool);

/* Closes the pool, waits for it, and destroys it. */
void pool_end(ilk_pool *pool);

void pool_submit(ilk_pool *pool, ilk_job *job, void (*function)(void *context), void *context,
                 ilk_group *group);
void pool_submit_as(ilk_pool *pool, ilk_job *job, void (*function)(void *context), void *context,
                    ilk_group *group, ilk_priority priority);

void group_await(ilk_group *group);

#endif
