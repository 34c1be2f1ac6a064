/* SPDX-License-Identifier: Apache-2.0
 *
 * The timers of a pool, as its other files see them.
 */
#ifndef INTERLOCK_POOL_TIMERS_H
#define INTERLOCK_POOL_TIMERS_H

#include "pool/pool.h"

/* How many are set. */
uint32_t ilk__pool_timers_count(ilk_pool *pool);
/* In a child of fork. */
void ilk__pool_timers_forget(ilk_pool *pool);
/* Submits all to the pool, which hands them back. */
void ilk__pool_timers_hand_back(ilk_pool *pool);
/* Ends the thread, but in a child of fork, and frees the timers. */
void ilk__pool_timers_end(ilk_pool *pool, bool has_thread);

#endif
