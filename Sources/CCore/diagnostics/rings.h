/* SPDX-License-Identifier: Apache-2.0
 *
 * The figures that only rings have: waits that found them full or empty, and samples of their depth, which a thread
 * of the library takes ten times a second.
 */
#ifndef INTERLOCK_DIAGNOSTICS_RINGS_H
#define INTERLOCK_DIAGNOSTICS_RINGS_H

#include "diagnostics/objects.h"
#include <interlock/diagnostics.h>
#include <stddef.h>
#include <stdint.h>

enum { ILK__DEPTHS_KEPT = 100 };

struct ilk__ring_samples {
    uint64_t capacity, full_waits, empty_waits;
    uint64_t samples, full_samples, empty_samples, deepest;
    uint64_t depths[ILK__DEPTHS_KEPT]; /* the newest at (samples - 1) % ILK__DEPTHS_KEPT */
    uint64_t times_ns[ILK__DEPTHS_KEPT];
};

typedef size_t ilk__ring_depth(const void *ring);

/* Has the depth of a new ring sampled until the object at its address ends. Without memory it is not. */
void ilk__ring_begin(const void *ring, ilk_object_kind kind, size_t capacity, ilk__ring_depth *depth);

/* ilk_spsc_observe and ilk_mpmc_observe. */
ilk_status ilk__ring_observe(const void *ring, ilk_object_kind kind, uint32_t what, size_t capacity,
                             ilk__ring_depth *depth);

/* Contention is watched from now on: rings made before may have no samples yet. */
void ilk__rings_resume(void);

/* A push will wait for room, or a pop for an element. */
void ilk__ring_add_wait(const void *ring, bool pushes);

/* Takes one sample of each ring. False: there is none whose contention is watched. */
bool ilk__rings_sample(uint64_t now_ns);

/* With the tables locked: the object ends. */
void ilk__ring_end(struct ilk__object *object);

/* With the tables locked: the object's samples so far. False: it is no ring. */
bool ilk__ring_copy(const struct ilk__object *object, struct ilk__ring_samples *copy);
/* Likewise. */
void ilk__ring_clear(const struct ilk__object *object);

#endif
