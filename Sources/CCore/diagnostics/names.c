/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of names: hash buckets of libbsd lists under one mutex. Cold by nature: written when a
 * program names its locks, read when something is reported. The count lets every destroy of a nameless
 * object pass without the mutex.
 */
#include "diagnostics/names.h"

#include "threads/bsd.h"
#include "threads/native.h"
#include <interlock/diagnostics.h>
#include <interlock/inline/atomic.h>
#include <stdint.h>
#include <stdlib.h>

struct entry {
    LIST_ENTRY(entry) link;
    const void *object;
    char name[ILK_NAME_SIZE];
};

enum { BUCKET_COUNT = 251 };

static ilk__native_mutex mutex = ILK__NATIVE_MUTEX_INIT;
static LIST_HEAD(bucket, entry) buckets[BUCKET_COUNT]; /* an empty LIST is all zero bits */
static ILK_ATOMIC(uint32_t) name_count;

static struct bucket *bucket_of(const void *object) {
    return &buckets[((uintptr_t)object / sizeof(void *)) % BUCKET_COUNT];
}

/* With the mutex held. */
static struct entry *find(const void *object) {
    struct entry *entry;
    LIST_FOREACH(entry, bucket_of(object), link) {
        if (entry->object == object) {
            return entry;
        }
    }
    return NULL;
}

void ilk__name_forget(const void *object) {
    /* NM1 relaxed: the object's own name was given before, in an order the program made: naming and
     * destroying one object at the same time is not allowed. Other objects' names do not matter. */
    if (ilk_atomic_load(&name_count, memory_order_relaxed) == 0) {
        return;
    }
    ilk__native_mutex_lock(&mutex);
    struct entry *entry = find(object);
    if (entry != NULL) {
        LIST_REMOVE(entry, link);
        ilk_atomic_fetch_sub(&name_count, 1, memory_order_relaxed); /* NM1 */
    }
    ilk__native_mutex_unlock(&mutex);
    free(entry);
}

ilk_status ilk_set_name(const void *object, const char *name) {
    if (name == NULL || name[0] == '\0') {
        ilk__name_forget(object);
        return ILK_OK;
    }
    ilk_status status = ILK_OK;
    ilk__native_mutex_lock(&mutex);
    struct entry *entry = find(object);
    if (entry == NULL) {
        entry = malloc(sizeof *entry);
        if (entry != NULL) {
            entry->object = object;
            LIST_INSERT_HEAD(bucket_of(object), entry, link);
            ilk_atomic_fetch_add(&name_count, 1, memory_order_relaxed); /* NM1 */
        }
    }
    if (entry != NULL) {
        (void)strlcpy(entry->name, name, sizeof entry->name);
    } else {
        status = ILK_NOMEM;
    }
    ilk__native_mutex_unlock(&mutex);
    return status;
}

bool ilk_get_name(const void *object, char *name, size_t size) {
    ilk__native_mutex_lock(&mutex);
    const struct entry *entry = find(object);
    (void)strlcpy(name, entry != NULL ? entry->name : "", size);
    ilk__native_mutex_unlock(&mutex);
    return entry != NULL;
}
