/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of names, which is cold: a hash of libbsd lists under the mutex of the tables. Each bucket has a
 * count: destroying a nameless object takes the mutex only if a name shares its bucket.
 */
#include "diagnostics/names.h"

#include "diagnostics/tables.h"
#include "platform/bsd.h"
#include <interlock/diagnostics.h>
#include <interlock/inline/atomic.h>
#include <stdint.h>
#include <stdlib.h>

struct entry {
    LIST_ENTRY(entry) link;
    const void *object;
    char name[ILK_NAME_SIZE];
};

enum { NAME_BUCKET_COUNT = 251 };

struct name_bucket {
    LIST_HEAD(, entry) entries; /* an empty LIST is all zero bits */
    ILK_ATOMIC(uint32_t) count; /* changes under the mutex */
};

static struct name_bucket name_buckets[NAME_BUCKET_COUNT];

static struct name_bucket *name_bucket_of(const void *object) {
    return &name_buckets[((uintptr_t)object / sizeof(void *)) % NAME_BUCKET_COUNT];
}

/* With the mutex held. */
static struct entry *find(const void *object) {
    struct entry *entry;
    LIST_FOREACH(entry, &name_bucket_of(object)->entries, link) {
        if (entry->object == object) {
            return entry;
        }
    }
    return NULL;
}

/* False if `object` has no name. */
static bool rename_entry(const void *object, const char *name) {
    struct entry *entry = find(object);
    if (entry != NULL) {
        (void)strlcpy(entry->name, name, sizeof entry->name);
    }
    return entry != NULL;
}

void ilk__name_forget(const void *object) {
    struct name_bucket *bucket = name_bucket_of(object);
    /* NM1 relaxed: an earlier naming of the same object happens before, for naming beside its destroy is not
     * allowed. Other objects' names do not matter. */
    if (ilk_atomic_load(&bucket->count, memory_order_relaxed) == 0) {
        return;
    }
    sigset_t before;
    ilk__tables_lock(&before);
    struct entry *entry = find(object);
    if (entry != NULL) {
        LIST_REMOVE(entry, link);
        ilk_atomic_fetch_sub(&bucket->count, 1, memory_order_relaxed); /* NM1 */
    }
    ilk__tables_unlock(&before);
    free(entry);
}

ilk_status ilk_set_name(const void *object, const char *name) {
    if (name == NULL || name[0] == '\0') {
        ilk__name_forget(object);
        return ILK_OK;
    }
    sigset_t before;
    ilk__tables_lock(&before);
    bool is_done = rename_entry(object, name);
    ilk__tables_unlock(&before);
    if (is_done) {
        return ILK_OK;
    }
    struct entry *entry = malloc(sizeof *entry);
    if (entry == NULL) {
        return ILK_NOMEM;
    }
    entry->object = object;
    (void)strlcpy(entry->name, name, sizeof entry->name);
    ilk__tables_lock(&before);
    is_done = rename_entry(object, name); /* another thread has named it */
    if (!is_done) {
        LIST_INSERT_HEAD(&name_bucket_of(object)->entries, entry, link);
        ilk_atomic_fetch_add(&name_bucket_of(object)->count, 1, memory_order_relaxed); /* NM1 */
    }
    ilk__tables_unlock(&before);
    if (is_done) {
        free(entry);
    }
    return ILK_OK;
}

bool ilk_get_name(const void *object, char *name, size_t size) {
    sigset_t before;
    ilk__tables_lock(&before);
    const struct entry *entry = find(object);
    (void)strlcpy(name, entry != NULL ? entry->name : "", size);
    ilk__tables_unlock(&before);
    return entry != NULL;
}
