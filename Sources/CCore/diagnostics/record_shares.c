/* SPDX-License-Identifier: Apache-2.0
 *
 * The shares that a thread holds, in its record (records.h). Only the thread itself calls what is here, in a signal
 * handler too.
 */
#include "diagnostics/order.h"
#include "diagnostics/records.h"
#include <stddef.h>

bool ilk__is_share_of(const struct ilk__held_share *held, const struct ilk__object *object, uint64_t id) {
    return ilk__held_object(held) == object && ilk__record_get(&held->id) == id;
}

struct ilk__held_share *ilk__record_find_held(struct ilk__record *record, const struct ilk__object *object,
                                              uint64_t id, const enum ilk__share *share) {
    for (unsigned index = ilk__held_places(record); index-- > 0;) {
        struct ilk__held_share *held = &record->held[index];
        if (ilk__is_share_of(held, object, id) &&
            (share == NULL || ilk__record_get(&held->share) == (uint64_t)*share)) {
            return held;
        }
    }
    return NULL;
}

/* Within a change of the record. */
static void remove_held(struct ilk__record *record, struct ilk__held_share *held) {
    const struct ilk__held_share *last = &record->held[ilk__held_places(record) - 1];
    for (; held < last; held++) {
        const struct ilk__held_share *next = held + 1;
        ilk__record_set(&held->object, ilk__record_get(&next->object));
        ilk__record_set(&held->id, ilk__record_get(&next->id));
        ilk__record_set(&held->since_ns, ilk__record_get(&next->since_ns));
        ilk__record_set(&held->site, ilk__record_get(&next->site));
        ilk__record_set(&held->share, ilk__record_get(&next->share));
    }
    ilk__record_set(&record->held_count, ilk__held_places(record) - 1);
}

/* Shares of objects that have ended, and permits that another thread has given back. */
static void remove_stale(struct ilk__record *record) {
    for (unsigned index = ilk__held_places(record); index-- > 0;) {
        struct ilk__held_share *held = &record->held[index];
        if (!ilk__is_held_still(held)) {
            remove_held(record, held);
        }
    }
}

void ilk__record_add_held(struct ilk__record *record, struct ilk__object *object, uint64_t id,
                          enum ilk__share share, const void *site, uint64_t since_ns) {
    if (record == NULL || (ilk__object_kind_of(object) == ILK_OBJECT_SEMAPHORE && ilk__is_no_lock(object))) {
        return;
    }
    ilk__record_begin(record);
    if (ilk__held_places(record) == ILK__HELD_MOST) {
        remove_stale(record);
    }
    const unsigned place = ilk__held_places(record);
    if (place < ILK__HELD_MOST) {
        struct ilk__held_share *held = &record->held[place];
        ilk__record_set(&held->object, (uintptr_t)object);
        ilk__record_set(&held->id, id);
        ilk__record_set(&held->since_ns, since_ns);
        ilk__record_set(&held->site, (uintptr_t)site);
        ilk__record_set(&held->share, share);
        ilk__record_set(&record->held_count, place + 1);
    }
    ilk__record_end(record);
}

bool ilk__record_change_held(struct ilk__record *record, const struct ilk__object *object, uint64_t id,
                             enum ilk__share before, enum ilk__share after) {
    ilk__record_begin(record);
    struct ilk__held_share *held = ilk__record_find_held(record, object, id, &before);
    if (held != NULL) {
        ilk__record_set(&held->share, after);
    }
    ilk__record_end(record);
    return held != NULL;
}

bool ilk__record_give_up_held(struct ilk__record *record, const struct ilk__object *object, uint64_t id,
                              enum ilk__share share, uint64_t *since_ns) {
    ilk__record_begin(record);
    struct ilk__held_share *held = ilk__record_find_held(record, object, id, &share);
    if (held != NULL) {
        *since_ns = ilk__record_get(&held->since_ns);
        remove_held(record, held);
    }
    ilk__record_end(record);
    return held != NULL;
}
