/* SPDX-License-Identifier: Apache-2.0
 *
 * What the library keeps for each thread. local.h is the way to it.
 */
#ifndef INTERLOCK_PLATFORM_LOCAL_STATE_H
#define INTERLOCK_PLATFORM_LOCAL_STATE_H

#include <interlock/inline/attributes.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ILK__THREAD_CLAIMS = 8 };

/* Listed locks: in checked builds only, for this memory is short (local_native.c). */
#ifdef ILK_CHECKED
enum { ILK__THREAD_HELD = 16 };
#else
enum { ILK__THREAD_HELD = 0 };
#endif

/* Slots of a many-to-many ring that this thread has open in place. */
struct ilk__thread_claim {
    const void *ring; /* NULL: this entry is free */
    uint64_t position;
    uint64_t count : 63;
    uint64_t for_reading : 1;
};

struct ilk__hook_call; /* see ring/hook.h */
struct pool_worker;    /* see pool/pool.h */
struct ilk__record;    /* see diagnostics/records.h */

struct ilk__thread_state {
    struct ilk__thread_claim claims[ILK__THREAD_CLAIMS];
    const struct ilk__hook_call *hook_calls; /* calls of ring hooks that this thread is in; innermost first */
#ifdef ILK_CHECKED
    const void *held[ILK__THREAD_HELD];
#endif
    uint8_t held_count;
    bool has_ended : 1;          /* its reader slots are given back for good */
    bool has_ended_record : 1;   /* its record is given back */
    uint8_t has_tables_for_fork; /* forks that it is inside of, each with the mutex of the tables */
    uint8_t has_pools_for_fork;  /* the same with the mutex of the pools' list */
    uint32_t id_before_fork;     /* its id as its last fork began */
    struct pool_worker *worker;  /* the calling thread is one of a pool's; see pool/pool.h */
    struct ilk__record *record;  /* what diagnosis knows of it; NULL: nothing yet */
    uint32_t held_unlisted;      /* locks held beyond those listed */
    uint32_t
        judges; /* names the lock whose waiters' predicates it judges, 0 for none; see wait/conditions.c */
};

#endif
