/* SPDX-License-Identifier: Apache-2.0
 *
 * See rings.h. A ring's end forgets its object under the mutex of the tables, which the sampler holds: no ring is
 * sampled that has ended.
 */
#include "diagnostics/rings.h"

#include "diagnostics/tables.h"
#include "diagnostics/watchdog.h"
#include <stdlib.h>
#include <string.h>

/* What is known of a watched ring; free ones have no object. */
struct ilk__watched_ring {
    LIST_ENTRY(ilk__watched_ring) link;
    struct ilk__object *object;
    ilk__ring_depth *depth;
    struct ilk__ring_samples samples;
};

/* With the tables locked. */
static LIST_HEAD(, ilk__watched_ring) watched_rings, free_rings;

static struct ilk__watched_ring *take_free_ring(void) {
    struct ilk__watched_ring *ring = LIST_FIRST(&free_rings);
    if (ring != NULL) {
        LIST_REMOVE(ring, link);
    }
    return ring;
}

/* With the tables locked. False: no memory. */
static bool give_samples(struct ilk__object *object, size_t capacity, ilk__ring_depth *depth,
                         struct ilk__watched_ring **spare) {
    struct ilk__watched_ring *ring = take_free_ring();
    if (ring == NULL) {
        ring = *spare;
        *spare = NULL;
    }
    if (ring != NULL) {
        ring->object = object;
        ring->depth = depth;
        ring->samples = (struct ilk__ring_samples){.capacity = capacity};
        object->ring = ring;
        LIST_INSERT_HEAD(&watched_rings, ring, link);
    }
    return ring != NULL;
}

/* Keeps the samples of the ring at `address`, unless another thread has had its object forgotten. False: no memory. */
static bool enter_ring(struct ilk__object *object, const void *address, size_t capacity,
                       ilk__ring_depth *depth) {
    struct ilk__watched_ring *spare = calloc(1, sizeof *spare);
    sigset_t before;
    ilk__tables_lock(&before);
    const bool is_entered = object->ring != NULL || ilk__object_id_at(object, address) == 0 ||
                            give_samples(object, capacity, depth, &spare);
    ilk__tables_unlock(&before);
    free(spare);
    return is_entered;
}

void ilk__ring_end(struct ilk__object *object) {
    if (object->ring != NULL) {
        LIST_REMOVE(object->ring, link);
        LIST_INSERT_HEAD(&free_rings, object->ring, link);
        object->ring = NULL;
    }
}

static void have_sampled(const struct ilk__object *object) {
    if ((ilk__object_watches(object) & ILK_DIAGNOSE_CONTENTION) != 0) {
        ilk__watchdog_sample();
    }
}

void ilk__ring_begin(const void *ring, ilk_object_kind kind, size_t capacity, ilk__ring_depth *depth) {
    ilk__object_forget(ring); /* one that was there */
    struct ilk__object *object = ilk__object_of(ring, kind);
    if (object != NULL && enter_ring(object, ring, capacity, depth)) {
        have_sampled(object);
    }
}

ilk_status ilk__ring_observe(const void *ring, ilk_object_kind kind, uint32_t what, size_t capacity,
                             ilk__ring_depth *depth) {
    if ((what & ILK_DIAGNOSE_ALL) == 0 && !ilk__diagnoses_all()) {
        ilk__object_forget(ring);
        return ILK_OK;
    }
    struct ilk__object *object = ilk__object_watch(ring, kind, what);
    if (object == NULL) {
        return ILK_NOMEM;
    }
    if (!enter_ring(object, ring, capacity, depth)) {
        ilk__object_forget(ring);
        return ILK_NOMEM;
    }
    have_sampled(object);
    return ILK_OK;
}

void ilk__rings_resume(void) {
    sigset_t before;
    ilk__tables_lock(&before);
    const bool any = !LIST_EMPTY(&watched_rings);
    ilk__tables_unlock(&before);
    if (any) {
        ilk__watchdog_sample();
    }
}

void ilk__ring_add_wait(const void *ring, bool pushes) {
    if (ilk__object_find(ring) == NULL) {
        return;
    }
    sigset_t before;
    ilk__tables_lock(&before);
    const struct ilk__object *object = ilk__object_find(ring);
    if (object != NULL && object->ring != NULL) {
        struct ilk__ring_samples *samples = &object->ring->samples;
        uint64_t *waits = pushes ? &samples->full_waits : &samples->empty_waits;
        *waits += 1;
    }
    ilk__tables_unlock(&before);
}

static void sample(struct ilk__watched_ring *ring, uint64_t now_ns) {
    struct ilk__ring_samples *samples = &ring->samples;
    const uint64_t depth = ring->depth(ilk__object_address(ring->object));
    samples->depths[samples->samples % ILK__DEPTHS_KEPT] = depth;
    samples->times_ns[samples->samples % ILK__DEPTHS_KEPT] = now_ns;
    samples->samples++;
    samples->full_samples += depth >= samples->capacity ? 1 : 0;
    samples->empty_samples += depth == 0 ? 1 : 0;
    samples->deepest = depth > samples->deepest ? depth : samples->deepest;
}

bool ilk__rings_sample(uint64_t now_ns) {
    bool any = false;
    sigset_t before;
    ilk__tables_lock(&before);
    struct ilk__watched_ring *ring;
    LIST_FOREACH(ring, &watched_rings, link) {
        if ((ilk__object_watches(ring->object) & ILK_DIAGNOSE_CONTENTION) != 0) {
            any = true;
            sample(ring, now_ns);
        }
    }
    ilk__tables_unlock(&before);
    return any;
}

bool ilk__ring_copy(const struct ilk__object *object, struct ilk__ring_samples *copy) {
    if (object->ring != NULL) {
        *copy = object->ring->samples;
    }
    return object->ring != NULL;
}

void ilk__ring_clear(const struct ilk__object *object) {
    if (object->ring != NULL) {
        object->ring->samples = (struct ilk__ring_samples){.capacity = object->ring->samples.capacity};
    }
}
