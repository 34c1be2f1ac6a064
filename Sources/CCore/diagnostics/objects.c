/* SPDX-License-Identifier: Apache-2.0
 *
 * See objects.h. A bucket's list only grows: an object that ends stays linked, and serves the next one of its
 * bucket. Objects begin and end under the mutex of the tables.
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

#include "diagnostics/rings.h"
#include "diagnostics/tables.h"
#include <stddef.h>
#include <stdlib.h>

enum { OBJECT_BUCKETS = 1021 };

static ILK_ATOMIC(struct ilk__object *) object_buckets[OBJECT_BUCKETS];
static uint64_t last_object_id;      /* guarded by the tables' mutex */
static ILK_ATOMIC(bool) has_objects; /* since the first began */
static ILK_ATOMIC(uint64_t) losses;  /* objects not watched for want of memory */

ILK_ATOMIC(uint32_t) ilk__diagnoses;

static ILK_ATOMIC(struct ilk__object *) * object_bucket_of(const void *address) {
    return &object_buckets[((uintptr_t)address / sizeof(void *)) % OBJECT_BUCKETS];
}

void ilk_diagnose(uint32_t what) {
    uint32_t seen = ilk__diagnosed_bits();
    const uint32_t bits = what & ILK_DIAGNOSE_ALL;
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

static uint32_t own_watches(const struct ilk__object *object) {
    return ilk_atomic_load(&object->watches, memory_order_relaxed); /* OB1 */
}

uint32_t ilk__object_watches(const struct ilk__object *object) ILK_NONBLOCKING {
    return (own_watches(object) | ilk__diagnosed_bits()) & ~ILK__DIAGNOSES_SOME;
}

struct ilk__object *ilk__object_find(const void *address) ILK_NONBLOCKING {
    /* OB5 acquire, pairs with OB6 (linking).
     * Carries: the link to the next object.
     * If weaker: we follow a pointer that is not there yet. */
    struct ilk__object *object = ilk_atomic_load(object_bucket_of(address), memory_order_acquire);
    while (object != NULL && ilk__object_id_at(object, address) == 0) {
        ilk_plain_read(&object->next, sizeof object->next);
        object = object->next;
    }
    return object;
}

uint64_t ilk__object_id_at(const struct ilk__object *object, const void *address) ILK_NONBLOCKING {
    const uint64_t id = ilk__object_id(object);
    /* OB10 acquire, pairs with OB11.
     * Carries: the end of the object before.
     * If weaker: its id is taken for that of the object at this address. */
    const uintptr_t seen = ilk_atomic_load(&object->address, memory_order_acquire);
    /* OB12 relaxed: OB10 orders it. */
    return seen == (uintptr_t)address && ilk_atomic_load(&object->id, memory_order_relaxed) == id ? id : 0;
}

bool ilk__object_is_watched_at(const void *address) ILK_NONBLOCKING {
    const struct ilk__object *object = ilk__object_find(address);
    return object != NULL && ilk__object_watches(object) != 0;
}

/* ---- With the tables locked ---- */

static void end_object(struct ilk__object *object) {
    ilk_atomic_store(&object->id, 0, memory_order_relaxed); /* OB4 */
}

static void begin_object(struct ilk__object *object, const void *address, ilk_object_kind kind,
                         uint32_t watches, uint32_t traits) {
    /* OB11 release, pairs with OB10. */
    ilk_atomic_store(&object->address, (uintptr_t)address, memory_order_release);
    ilk_atomic_store(&object->kind, (uint32_t)kind, memory_order_relaxed); /* OB4 */
    ilk_atomic_store(&object->watches, watches, memory_order_relaxed);     /* OB1 */
    ilk_atomic_store(&object->traits, traits, memory_order_relaxed);       /* OB7 */
    ilk__figures_clear(&object->figures);
    /* OB3 release, pairs with OB2. */
    ilk_atomic_store(&object->id, ++last_object_id, memory_order_release);
}

/* A free object of the bucket, or NULL. */
static struct ilk__object *free_object(const void *address) {
    struct ilk__object *object = ilk_atomic_load(object_bucket_of(address), memory_order_relaxed); /* OB8 */
    while (object != NULL && ilk__object_id(object) != 0) {
        object = object->next;
    }
    return object;
}

static void link_object(struct ilk__object *object, const void *address) {
    ILK_ATOMIC(struct ilk__object *) *bucket = object_bucket_of(address);
    ilk_atomic_store(&has_objects, true, memory_order_relaxed); /* OB13 */
    ilk_plain_write(&object->next, sizeof object->next);
    /* OB8 relaxed: under the mutex of the tables. */
    object->next = ilk_atomic_load(bucket, memory_order_relaxed);
    /* OB6 release, pairs with OB5. */
    ilk_atomic_store(bucket, object, memory_order_release);
}

/* ---- The calls ---- */

/* `renews`: an object that is there has ended. */
static struct ilk__object *object_at(const void *address, ilk_object_kind kind, uint32_t watches,
                                     uint32_t traits, bool renews) {
    struct ilk__object *spare = NULL;
    for (;;) {
        sigset_t before;
        ilk__tables_lock(&before);
        struct ilk__object *object = ilk__object_find(address);
        if (object == NULL || renews) {
            const uint32_t kept = object != NULL ? own_watches(object) : 0;
            if (object == NULL) {
                object = free_object(address);
            } else {
                end_object(object);
            }
            if (object == NULL && spare != NULL) {
                object = spare;
                spare = NULL;
                link_object(object, address);
            }
            if (object != NULL) {
                begin_object(object, address, kind, watches == ILK__WATCHES_KEPT ? kept : watches, traits);
            }
        }
        ilk__tables_unlock(&before);
        if (object != NULL) {
            free(spare);
            return object;
        }
        spare = calloc(1, sizeof *spare);
        if (spare == NULL) {
            ilk_atomic_fetch_add(&losses, 1, memory_order_relaxed); /* OB9 */
            return NULL;
        }
    }
}

struct ilk__object *ilk__object_begin(const void *address, ilk_object_kind kind, uint32_t watches,
                                      uint32_t traits) {
    return object_at(address, kind, watches, traits, true);
}

struct ilk__object *ilk__object_watch(const void *address, ilk_object_kind kind, uint32_t watches,
                                      uint32_t traits) {
    if ((watches & ILK_DIAGNOSE_ALL) != 0) {
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
            (void)ilk__object_add_traits(object, traits);
        }
        ilk__tables_unlock(&before);
    }
    return object;
}

struct ilk__object *ilk__object_of(const void *address, ilk_object_kind kind) {
    struct ilk__object *object = ilk__object_find(address);
    return object != NULL && ilk__object_kind_of(object) == kind
               ? object
               : object_at(address, kind, 0, 0, object != NULL);
}

static bool forget(const void *address, bool though_watched) {
    /* OB13 relaxed: an object begins before it ends, and a thread that ends it has synchronised with its users. Not the
     * switches: what was watched may end while diagnosis is off. */
    if (!ilk_atomic_load(&has_objects, memory_order_relaxed) || ilk__object_find(address) == NULL) {
        return true;
    }
    sigset_t before;
    ilk__tables_lock(&before);
    struct ilk__object *object = ilk__object_find(address);
    const bool is_ended = object == NULL || though_watched || ilk__object_watches(object) == 0;
    if (object != NULL && is_ended) {
        end_object(object);
    }
    ilk__tables_unlock(&before);
    return is_ended;
}

void ilk__object_forget(const void *address) {
    (void)forget(address, true);
}

bool ilk__object_forget_unwatched(const void *address) {
    return forget(address, false);
}

bool ilk__object_add_traits(struct ilk__object *object, uint32_t traits) {
    if (ilk__object_has_traits(object, traits)) {
        return false;
    }
    /* OB7 relaxed: each trait is a fact by itself, and stays; LO6 orders it with the searches for circles. */
    return (ilk_atomic_fetch_or(&object->traits, traits, memory_order_relaxed) & traits) != traits;
}

bool ilk__object_has_traits(const struct ilk__object *object, uint32_t traits) {
    return (ilk_atomic_load(&object->traits, memory_order_relaxed) & traits) == traits; /* OB7 */
}

void ilk__objects_visit(void (*visit)(struct ilk__object *object, void *context), void *context) {
    sigset_t before;
    ilk__tables_lock(&before);
    for (unsigned index = 0; index < OBJECT_BUCKETS; index++) {
        struct ilk__object *object = ilk_atomic_load(&object_buckets[index], memory_order_relaxed); /* OB8 */
        for (; object != NULL; object = object->next) {
            if (ilk__object_id(object) != 0) {
                visit(object, context);
            }
        }
    }
    ilk__tables_unlock(&before);
}

uint64_t ilk__objects_lost(void) {
    /* OB9 relaxed: a count for reports. */
    return ilk_atomic_load(&losses, memory_order_relaxed);
}
