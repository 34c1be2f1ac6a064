/* SPDX-License-Identifier: Apache-2.0
 *
 * The table of names, which is cold: an index under the mutex of the tables. Destroying a nameless object takes the
 * mutex only if there is a name in its list of the index.
 */
#include "diagnostics/names.h"

#include "diagnostics/index.h"
#include "diagnostics/tables.h"
#include "platform/bsd.h"
#include <interlock/diagnostics.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

struct entry {
    struct ilk__index_link link; /* first: a link is its entry */
    const void *object;
    char name[ILK_NAME_SIZE];
};

static struct ilk__index names;

static bool is_of(const struct ilk__index_link *link, const void *object) ILK_NONBLOCKING {
    return ((const struct entry *)link)->object == object;
}

/* With the mutex held. */
static struct entry *find_entry(const void *object) {
    return (struct entry *)ilk__index_find(&names, ilk__index_hash_of(object), is_of, object);
}

/* The bytes of a character but the first are 10xxxxxx, three at most. */
int ilk__name_cut(const char *name, int most) {
    int end = (int)strnlen(name, (size_t)most + 1);
    if (end <= most) {
        return end;
    }
    end = most;
    for (int back = 0; back <= 3 && back <= end; back++) {
        if (((unsigned char)name[end - back] & 0xC0) != 0x80) {
            return end - back;
        }
    }
    return end;
}

static void copy_name(char kept[ILK_NAME_SIZE], const char *name) {
    (void)strlcpy(kept, name, (size_t)ilk__name_cut(name, ILK_NAME_SIZE - 1) + 1);
}

/* False if `object` has no name. */
static bool rename_entry(const void *object, const char *name) {
    struct entry *entry = find_entry(object);
    if (entry != NULL) {
        copy_name(entry->name, name);
    }
    return entry != NULL;
}

void ilk__name_forget(const void *object) {
    /* An earlier naming of the same object happens before, for naming beside its destroy is not allowed. Other objects'
     * names do not matter. */
    if (ilk__index_is_empty_at(&names, ilk__index_hash_of(object))) {
        return;
    }
    sigset_t before;
    ilk__tables_lock(&before);
    struct entry *entry = find_entry(object);
    if (entry != NULL) {
        ilk__index_remove(&names, ilk__index_hash_of(object), &entry->link);
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
    copy_name(entry->name, name);
    ilk__tables_lock(&before);
    is_done = rename_entry(object, name); /* another thread has named it */
    const bool is_full = !is_done && ilk__index_link(&names, ilk__index_hash_of(object), &entry->link);
    ilk__tables_unlock(&before);
    if (is_done) {
        free(entry);
    } else if (is_full) {
        ilk__index_grow(&names);
    }
    return ILK_OK;
}

bool ilk_get_name(const void *object, char *name, size_t size) {
    sigset_t before;
    ilk__tables_lock(&before);
    const struct entry *entry = find_entry(object);
    (void)strlcpy(name, entry != NULL ? entry->name : "", size);
    ilk__tables_unlock(&before);
    return entry != NULL;
}
