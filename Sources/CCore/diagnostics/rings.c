/* SPDX-License-Identifier: Apache-2.0
 *
 * See rings.h. A list of its own under the mutex of the tables: a ring's end forgets its object under the same mutex,
 * so no ring is sampled that has ended.
 */
#include "diagnostics/rings.h"

#include "diagnostics/tables.h"
#include "diagnostics/watchdog.h"
#include <stdlib.h>
#include <string.h>

struct watched_ring {
    struct watched_ring *next;
    struct ilk__object *object;
    uint64_t id; /* the object's; differs once the ring has ended */
    ilk__ring_depth *depth;
    struct ilk__ring_samples samples;
};

static struct watched_ring *first_ring; /* with the tables locked */

static struct watched_ring *find_ring(const struct ilk__object *object) {
    const ilk_object_kind kind = ilk__object_kind_of(object);
    struct watched_ring *ring = kind == ILK_OBJECT_SPSC || kind == ILK_OBJECT_MPMC ? first_ring : NULL;
    while (ring != NULL && (ring->object != object || ring->id != ilk__object_id(object))) {
        ring = ring->next;
    }
    return ring;
}

static struct watched_ring *ended_ring(void) {
    struct watched_ring *ring = first_ring;
    while (ring != NULL && ring->id == ilk__object_id(ring->object)) {
        ring = ring->next;
    }
    return ring;
}

/* Keeps the samples of a ring that is there. False: no memory. */
static bool enter_ring(struct ilk__object *object, size_t capacity, ilk__ring_depth *depth) {
    struct watched_ring *spare = calloc(1, sizeof *spare);
    sigset_t before;
    ilk__tables_lock(&before);
    struct watched_ring *watched = find_ring(object);
    const bool is_new = watched == NULL;
    if (is_new) {
        watched = ended_ring();
    }
    if (watched == NULL && spare != NULL) {
        watched = spare;
        spare = NULL;
        watched->next = first_ring;
        first_ring = watched;
    }
    if (is_new && watched != NULL) {
        watched->object = object;
        watched->id = ilk__object_id(object);
        watched->depth = depth;
        watched->samples = (struct ilk__ring_samples){.capacity = capacity};
    }
    ilk__tables_unlock(&before);
    free(spare);
    return watched != NULL;
}

static void have_sampled(const struct ilk__object *object) {
    if ((ilk__object_watches(object) & ILK_DIAGNOSE_CONTENTION) != 0) {
        ilk__watchdog_sample();
    }
}

void ilk__ring_begin(const void *ring, ilk_object_kind kind, size_t capacity, ilk__ring_depth *depth) {
    struct ilk__object *object = ilk__object_begin(ring, kind, 0, 0);
    if (object != NULL && enter_ring(object, capacity, depth)) {
        have_sampled(object);
    }
}

ilk_status ilk__ring_observe(const void *ring, ilk_object_kind kind, uint32_t what, size_t capacity,
                             ilk__ring_depth *depth) {
    if ((what & ILK_DIAGNOSE_ALL) == 0 && !ilk__diagnoses_all()) {
        ilk__object_forget(ring);
        return ILK_OK;
    }
    struct ilk__object *object = ilk__object_watch(ring, kind, what, 0);
    if (object == NULL) {
        return ILK_NOMEM;
    }
    if (!enter_ring(object, capacity, depth)) {
        ilk__object_forget(ring);
        return ILK_NOMEM;
    }
    have_sampled(object);
    return ILK_OK;
}

void ilk__rings_resume(void) {
    sigset_t before;
    ilk__tables_lock(&before);
    const bool any = first_ring != NULL;
    ilk__tables_unlock(&before);
    if (any) {
        ilk__watchdog_sample();
    }
}

void ilk__ring_add_wait(const void *ring, bool pushes) {
    const struct ilk__object *object = ilk__object_find(ring);
    if (object == NULL) {
        return;
    }
    sigset_t before;
    ilk__tables_lock(&before);
    struct watched_ring *watched = find_ring(object);
    if (watched != NULL) {
        uint64_t *waits = pushes ? &watched->samples.full_waits : &watched->samples.empty_waits;
        *waits += 1;
    }
    ilk__tables_unlock(&before);
}

static void sample(struct watched_ring *ring, uint64_t now_ns) {
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
    for (struct watched_ring *ring = first_ring; ring != NULL; ring = ring->next) {
        if (ring->id == ilk__object_id(ring->object) &&
            (ilk__object_watches(ring->object) & ILK_DIAGNOSE_CONTENTION) != 0) {
            any = true;
            sample(ring, now_ns);
        }
    }
    ilk__tables_unlock(&before);
    return any;
}

bool ilk__ring_copy(const struct ilk__object *object, struct ilk__ring_samples *copy) {
    const struct watched_ring *ring = find_ring(object);
    if (ring != NULL) {
        *copy = ring->samples;
    }
    return ring != NULL;
}

void ilk__ring_clear(const struct ilk__object *object) {
    struct watched_ring *ring = find_ring(object);
    if (ring != NULL) {
        ring->samples = (struct ilk__ring_samples){.capacity = ring->samples.capacity};
    }
}
