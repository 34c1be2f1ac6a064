/* SPDX-License-Identifier: Apache-2.0
 *
 * See <interlock/inline/diagnose.h>.
 */
#include "diagnostics/observe.h"
#include <interlock/inline/diagnose.h>
#include <stddef.h>

_Static_assert(sizeof(struct ilk__watch) <= sizeof(ilk__facade_watch), "the facade's memory holds it");
_Static_assert(sizeof(struct ilk__idle_watch) <= sizeof(ilk__facade_watch), "the facade's memory holds it");

static void name_if_nameless(const void *object, const char *name) {
    char known[2];
    if (name != NULL && name[0] != '\0' && !ilk_get_name(object, known, sizeof known)) {
        (void)ilk_set_name(object, name);
    }
}

ILK_NOINLINE void ilk__facade_ask(ilk__facade_watch *watch, const void *object, ilk_object_kind kind,
                                  const char *name, uint64_t deadline_ns) {
    *watch = (ilk__facade_watch){{0}};
    if (!ilk__diagnoses_all() && ilk__object_find(object) == NULL) {
        return;
    }
    name_if_nameless(object, name);
    ilk__watch_begin((struct ilk__watch *)(void *)watch, object, kind, ILK__SHARE_WRITE, false, deadline_ns,
                     ILK__CALLER);
    ilk__watch_contends((struct ilk__watch *)(void *)watch, false);
}

void ilk__facade_taken(ilk__facade_watch *watch, bool is_taken) {
    ilk__watch_end((struct ilk__watch *)(void *)watch, is_taken);
}

ILK_NOINLINE void ilk__facade_enter(const void *object, ilk_object_kind kind, const char *name) {
    if (ilk__diagnoses_all() || ilk__object_find(object) != NULL) {
        name_if_nameless(object, name);
        (void)ilk__object_of(object, kind);
        (void)ilk__record_mine();
        ilk__watch_taken(object, ILK__SHARE_WRITE, ILK__CALLER);
    }
}

ILK_NOINLINE void ilk__facade_give(const void *object) {
    ilk__watch_release(object, ILK__SHARE_WRITE, ILK__CALLER);
}

ILK_NOINLINE void ilk__facade_wait_begin(ilk__facade_watch *watch, const void *object, const char *label,
                                         uint64_t deadline_ns) {
    ilk__watch_idle_begin((struct ilk__idle_watch *)(void *)watch, object, ILK_OBJECT_WORK, label,
                          deadline_ns, ILK__CALLER);
}

void ilk__facade_wait_end(ilk__facade_watch *watch) {
    ilk__watch_idle_end((struct ilk__idle_watch *)(void *)watch);
}

void ilk__facade_work_begin(const void *object, const char *label) {
    struct ilk__record *record = ilk__record_mine();
    if (record == NULL) {
        return;
    }
    ilk__record_begin(record);
    const uint64_t count = ilk__record_get(&record->work_count);
    if (count < ILK__WORK_MOST) {
        ilk__record_set(&record->work[count].address, (uintptr_t)object);
        ilk__record_set_label(record->work[count].label, label);
    }
    ilk__record_set(&record->work_count, count + 1);
    ilk__record_end(record);
}

void ilk__facade_work_end(void) {
    struct ilk__record *record = ilk__record_mine();
    if (record != NULL && ilk__record_get(&record->work_count) > 0) {
        ilk__record_begin(record);
        ilk__record_set(&record->work_count, ilk__record_get(&record->work_count) - 1);
        ilk__record_end(record);
    }
}

void ilk__facade_forget(const void *object) {
    ilk__object_forget(object);
}
