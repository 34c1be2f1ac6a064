/* SPDX-License-Identifier: Apache-2.0
 *
 * See objects.h. An object that ends stays linked in the index, and serves the next one of its list. Objects begin and
 * end under the mutex of the tables.
 *
 * Must not happen: a reader without the lock takes an object for another one's.
 *
 *   one address                  another
 *     id = 0 (OB4)
 *     address (OB11)               id (OB2)
 *     id (OB3)                     address (OB10)
 *                                  id, the same (OB12)
 * A reader that sees the new address sees that the old id is gone; one that sees the new id sees the new address. It
 * remembers the id with the object, and compares when it comes back.
 */
#include "diagnostics/objects.h"

#include "diagnostics/demangle.h"
#include "diagnostics/edges.h"
#include "diagnostics/rings.h"
#include "diagnostics/tables.h"
#include "platform/reaches.h"
#include "platform/yield.h"
#include <stddef.h>
#include <stdlib.h>

static struct ilk__index objects;
static struct ilk__object *first_of_all; /* guarded by the tables' mutex, as what follows */
static struct ilk__counters *first_free; /* times */
static uint64_t last_object_id;
static ILK_ATOMIC(bool) has_objects; /* since the first began */
static ILK_ATOMIC(uint64_t) losses;  /* objects not watched for want of memory */

ILK_ATOMIC(uint32_t) ilk__diagnoses;

void ilk_diagnose(uint32_t what) {
    uint32_t seen = ilk__diagnosed_bits();
    const uint32_t bits = what & ILK_DIAGNOSE_ALL;
    ilk__demangle_prepare();
    while (!ilk_atomic_compare_exchange_weak(&ilk__diagnoses, &seen, (seen & ILK__DIAGNOSES_SOME) | bits,
                                             memory_order_relaxed, memory_order_relaxed)) { /* OB1 */
    }
    if ((bits & ILK_DIAGNOSE_CONTENTION) != 0) {
        ilk__rings_resume();
    }
}

uint32_t ilk_diagnosed(void) {
    return ilk__diagnosed_bits() & ILK_DIAGNOSE_ALL;
}

uint32_t ilk__object_watches(const struct ilk__object *object) ILK_NONBLOCKING {
    const uint32_t own = ilk_atomic_load(&object->watches, memory_order_relaxed); /* OB1 */
    return (own | ilk__diagnosed_bits()) & ~ILK__DIAGNOSES_SOME;
}

static bool is_at(const struct ilk__index_link *link, const void *address) ILK_NONBLOCKING {
    return ilk__object_id_at((const struct ilk__object *)link, address) != 0;
}

struct ilk__object *ilk__object_find(const void *address) ILK_NONBLOCKING {
    return (struct ilk__object *)ilk__index_find(&objects, ilk__index_hash_of(address), is_at, address);
}

uint64_t ilk__object_id_at(const struct ilk__object *object, const void *address) ILK_NONBLOCKING {
    const uint64_t id = ilk__object_id(object);
    /* OB10 acquire, pairs with OB11.
     * Carries: the end of the object before.
     * If weaker: its id is taken for that of the object at this address. */
    const uintptr_t seen = ilk_atomic_load(&object->address, memory_order_acquire);
    if (seen != (uintptr_t)address) {
        return 0;
    }
    /* OB12 relaxed: OB10 orders it. */
    const bool is_same = ilk_atomic_load(&object->id, memory_order_relaxed) == id;
    ILK__REACHES(OBJECT_CHANGES_AS_READ, !is_same);
    return is_same ? id : 0;
}

bool ilk__object_is_watched_at(const void *address) ILK_NONBLOCKING {
    const struct ilk__object *object = ilk__object_find(address);
    return object != NULL && ilk__object_watches(object) != 0;
}

/* ---- With the tables locked ---- */

static void end_object(struct ilk__object *object) {
    ilk__edges_end(object);
    ilk__ring_end(object);
    ilk_atomic_store(&object->id, 0, memory_order_relaxed); /* OB4 */
    struct ilk__counters *times = ilk__object_times(object);
    if (times != NULL) {
        ilk_atomic_store(&object->times, NULL, memory_order_relaxed); /* OB4 */
        times->next_free = first_free;
        first_free = times;
    }
}

static void begin_object(struct ilk__object *object, const void *address, ilk_object_kind kind) {
    /* OB11 release, pairs with OB10: the object before has ended before its address is this one's. */
    ilk_atomic_store(&object->address, (uintptr_t)address, memory_order_release);
    ilk_atomic_store(&object->kind, (uint32_t)kind, memory_order_relaxed); /* OB4 */
    ilk_atomic_store(&object->watches, 0, memory_order_relaxed);           /* OB1 */
    ilk_atomic_store(&object->traits, 0, memory_order_relaxed);            /* OB7 */
    ilk_atomic_store(&object->acquisitions, 0, memory_order_relaxed);      /* FG1 */
    /* OB3 release, pairs with OB2: address, kind and emptied figures are there before the id that names
     * them. */
    ilk_atomic_store(&object->id, ++last_object_id, memory_order_release);
}

static bool is_free(const struct ilk__index_link *link, const void *unused) ILK_NONBLOCKING {
    (void)unused;
    return ilk__object_id((const struct ilk__object *)link) == 0;
}

/* What one of the calls has allocated, and not used yet; freed at its end. */
struct spares {
    struct ilk__object *object;
    struct ilk__counters *times;
    bool grows; /* the index is full */
};

/* A free object where `address` belongs, or NULL. */
static struct ilk__object *free_object(const void *address, struct spares *spares) {
    struct ilk__object *object =
        (struct ilk__object *)ilk__index_find(&objects, ilk__index_hash_of(address), is_free, NULL);
    ILK__REACHES(OBJECT_FOLLOWS, object != NULL);
    if (object == NULL && spares->object != NULL) {
        object = spares->object;
        spares->object = NULL;
        object->next_of_all = first_of_all;
        first_of_all = object;
        ilk_atomic_store(&has_objects, true, memory_order_relaxed); /* OB13 */
        spares->grows |= ilk__index_link(&objects, ilk__index_hash_of(address), &object->link);
    }
    return object;
}

static bool wants_times(const struct ilk__object *object) {
    const uint32_t bits = ILK_DIAGNOSE_CONTENTION | ILK_DIAGNOSE_HANG;
    return (ilk__object_watches(object) & bits) != 0 && ilk__object_times(object) == NULL;
}

/* False: it wants times, and there are none. */
static bool give_times(struct ilk__object *object, struct spares *spares) {
    if (!wants_times(object)) {
        return true;
    }
    struct ilk__counters *times = first_free;
    ILK__REACHES(TIMES_FOLLOW, times != NULL);
    if (times != NULL) {
        first_free = times->next_free;
    } else {
        times = spares->times;
        spares->times = NULL;
    }
    if (times != NULL) {
        ilk__figures_clear(times);
        /* OB6 release, pairs with OB5: the times are empty before another thread adds to them. */
        ilk_atomic_store(&object->times, times, memory_order_release);
    }
    return times != NULL;
}

/* ---- The calls ---- */

/* With the tables locked; NULL: no spare. */
static struct ilk__object *place_object(const void *address, ilk_object_kind kind, struct spares *spares) {
    struct ilk__object *object = ilk__object_find(address);
    if (object != NULL && ilk__object_kind_of(object) == kind) {
        return object;
    }
    if (object != NULL) {
        end_object(object);
    } else {
        object = free_object(address, spares);
    }
    if (object != NULL) {
        begin_object(object, address, kind);
    }
    return object;
}

/* NULL: no memory. Without memory for times alone, the object has none. */
static struct ilk__object *object_at(const void *address, ilk_object_kind kind) {
    struct spares spares = {0};
    struct ilk__object *object;
    for (bool is_done = false; !is_done;) {
        sigset_t before;
        ilk__tables_lock(&before);
        object = place_object(address, kind, &spares);
        is_done = object != NULL && give_times(object, &spares);
        ilk__tables_unlock(&before);
        if (object == NULL) {
            spares.object = calloc(1, sizeof *spares.object);
            is_done = spares.object == NULL;
        } else if (!is_done) {
            spares.times = calloc(1, sizeof *spares.times);
            is_done = spares.times == NULL;
        }
    }
    if (object == NULL) {
        ilk_atomic_fetch_add(&losses, 1, memory_order_relaxed); /* OB9 */
    }
    if (spares.grows) {
        ilk__index_grow(&objects);
    }
    free(spares.object);
    free(spares.times);
    return object;
}

struct ilk__object *ilk__object_watch(const void *address, ilk_object_kind kind, uint32_t watches) {
    if ((watches & ILK_DIAGNOSE_ALL) != 0) {
        ilk__demangle_prepare();
        ilk_atomic_fetch_or(&ilk__diagnoses, ILK__DIAGNOSES_SOME, memory_order_relaxed); /* OB1 */
    }
    struct ilk__object *object;
    bool is_watched = false;
    while (!is_watched && (object = ilk__object_of(address, kind)) != NULL) {
        sigset_t before;
        ilk__tables_lock(&before);
        is_watched = ilk__object_id_at(object, address) != 0; /* no thread has forgotten it */
        if (is_watched) {
            ilk_atomic_store(&object->watches, watches & ILK_DIAGNOSE_ALL, memory_order_relaxed); /* OB1 */
        }
        ilk__tables_unlock(&before);
    }
    return object != NULL ? ilk__object_of(address, kind) : NULL; /* its times */
}

struct ilk__object *ilk__object_of(const void *address, ilk_object_kind kind) {
    struct ilk__object *object = ilk__object_find(address);
    const bool is_known = object != NULL && ilk__object_kind_of(object) == kind;
    return is_known && !wants_times(object) ? object : object_at(address, kind);
}

void ilk__object_forget(const void *address) {
    if (!ilk__objects_were_there() || ilk__object_find(address) == NULL) {
        return;
    }
    sigset_t before;
    ilk__tables_lock(&before);
    struct ilk__object *object = ilk__object_find(address);
    if (object != NULL) {
        end_object(object);
    }
    ilk__tables_unlock(&before);
}

bool ilk__objects_were_there(void) {
    /* OB13 relaxed: an object begins before it ends, and a thread that ends it has synchronised with its users. Not the
     * switches: what was watched may end while diagnosis is off. */
    return ilk_atomic_load(&has_objects, memory_order_relaxed);
}

bool ilk__object_unmark_first(const void *address, ILK_ATOMIC(uint32_t) * word, uint32_t mark) {
    uint32_t seen;
    do {
        /* OB14 acquire, pairs with RW23 and SE10.
         * Carries: that there are objects.
         * If weaker: what a thread has noted there is not given up. */
        seen = ilk_atomic_load(word, memory_order_acquire);
        if (ilk__objects_were_there()) {
            return false;
        }
        /* OB15 acquire, pairs with RW23 and SE10.
         * Carries: the object that is watched.
         * If weaker: an observe beside this call is lost. */
    } while (!ilk_atomic_compare_exchange_weak(word, &seen, seen & ~mark, memory_order_acquire,
                                               memory_order_relaxed));
    if (ilk__object_find(address) != NULL) {
        ilk_atomic_fetch_or(word, mark, memory_order_relaxed); /* OB16 relaxed: once more. */
    }
    return true;
}

bool ilk__object_settle(const void *address, bool is_new) {
    struct ilk__object *object = ilk__object_find(address);
    const bool stays = object != NULL && !is_new && ilk__object_watches(object) != 0;
    if (object != NULL && !stays) {
        end_object(object);
    }
    return stays;
}

bool ilk__object_add_traits(struct ilk__object *object, uint32_t traits) {
    if (ilk__object_has_traits(object, traits)) {
        return false;
    }
    /* OB7 relaxed: each trait is a fact by itself, and stays; order.c says how searches for cycles see it. */
    return (ilk_atomic_fetch_or(&object->traits, traits, memory_order_relaxed) & traits) != traits;
}

bool ilk__object_has_traits(const struct ilk__object *object, uint32_t traits) {
    return (ilk_atomic_load(&object->traits, memory_order_relaxed) & traits) == traits; /* OB7 */
}

void ilk__objects_visit(void (*visit)(struct ilk__object *object, void *context), void *context) {
    enum { VISITS = 64 }; /* in one hold of the mutex: threads that name their objects wait for it */
    sigset_t before;
    ilk__tables_lock(&before);
    unsigned visits = 0;
    for (struct ilk__object *object = first_of_all; object != NULL; object = object->next_of_all) {
        if (ilk__object_id(object) != 0) {
            visit(object, context);
        }
        if (++visits % VISITS == 0) { /* the list only grows, at its head */
            ilk__tables_unlock(&before);
            ilk__thread_yield();
            ilk__tables_lock(&before);
        }
    }
    ilk__tables_unlock(&before);
}

uint64_t ilk__objects_lost(void) {
    /* OB9 relaxed: a count for reports. */
    return ilk_atomic_load(&losses, memory_order_relaxed);
}
