/* SPDX-License-Identifier: Apache-2.0
 *
 * A snapshot as text for people: every thread, the cycles, and the objects that were waited for most.
 */
#include "diagnostics/order.h"
#include "diagnostics/report.h"
#include "diagnostics/snapshot.h"
#include "diagnostics/stack.h"
#include "diagnostics/text.h"
#include <interlock/deadline.h>

enum { TOP_OBJECTS = 10 };

const char *ilk__share_name(uint64_t share) {
    switch ((enum ilk__share)share) {
    case ILK__SHARE_READ:
        return "read";
    case ILK__SHARE_UPGRADABLE:
        return "upgradable";
    case ILK__SHARE_WRITE:
    case ILK__SHARE_UPGRADE:
        return "write";
    }
    return "";
}

const char *ilk_object_kind_name(ilk_object_kind kind) {
    static const char *const names[] = {"rwlock", "mutex", "semaphore", "latch",     "barrier", "spsc",
                                        "mpmc",   "queue", "work",      "condition", "wait set"};
    return (unsigned)kind < sizeof names / sizeof names[0] ? names[kind] : "object";
}

static void add_duration(struct ilk__text *text, uint64_t time_ns) {
    if (time_ns < 10000) {
        ilk__text_add(text, "%u ns", (unsigned)time_ns);
    } else if (time_ns < 10000000) {
        ilk__text_add(text, "%u us", (unsigned)(time_ns / 1000));
    } else if (time_ns < UINT64_C(10000000000)) {
        ilk__text_add(text, "%u ms", (unsigned)(time_ns / 1000000));
    } else {
        ilk__text_add(text, "%llu s", (unsigned long long)(time_ns / UINT64_C(1000000000)));
    }
}

static uint64_t since(const struct ilk__snapshot *snapshot, uint64_t time_ns) {
    return time_ns < snapshot->now_ns ? snapshot->now_ns - time_ns : 0;
}

/* What has a label of its own is called by it. */
static void add_awaited(struct ilk__text *text, const struct ilk__waiting *waiting) {
    char label[ILK_NAME_SIZE];
    ilk__record_get_label(waiting->label, label);
    if (label[0] != '\0') {
        ilk__text_add(text, "%s", label);
    } else {
        ilk__text_add_object(text, (const void *)(uintptr_t)ilk__record_get(&waiting->address),
                             (ilk_object_kind)ilk__record_get(&waiting->kind));
    }
}

static void text_add_holds(struct ilk__text *text, const struct ilk__snapshot *snapshot,
                           const struct ilk__record *record) {
    for (unsigned index = 0; index < ilk__held_places(record); index++) {
        const struct ilk__held_share *held = &record->held[index];
        const struct ilk__object *object = ilk__held_object(held);
        if (!ilk__is_held_still(held)) {
            continue;
        }
        ilk__text_add(text, "  holds ");
        ilk__text_add_object(text, ilk__object_address(object), ilk__object_kind_of(object));
        ilk__text_add(text, " (%s)", ilk__share_name(ilk__record_get(&held->share)));
        if (ilk__record_get(&held->since_ns) != 0) {
            ilk__text_add(text, " for ");
            add_duration(text, since(snapshot, ilk__record_get(&held->since_ns)));
        }
        ilk__text_add(text, ", taken at ");
        ilk__text_add_frame(text, (const void *)(uintptr_t)ilk__record_get(&held->site));
        ilk__text_add(text, "\n");
    }
}

uint32_t ilk__waiting_stack(const struct ilk__waiting *waiting, void **frames) {
    const uint32_t depth = (uint32_t)ilk__record_get(&waiting->depth);
    for (uint32_t index = 0; index < depth; index++) {
        frames[index] = (void *)(uintptr_t)ilk__record_get(&waiting->stack[index]);
    }
    return depth;
}

static void text_add_wait(struct ilk__text *text, const struct ilk__snapshot *snapshot,
                          const struct ilk__record *record) {
    const struct ilk__waiting *waiting = &record->waiting;
    if (ilk__record_get(&waiting->address) == 0) {
        return;
    }
    ilk__text_add(text, "  waits for ");
    add_awaited(text, waiting);
    if (ilk__record_get(&waiting->kind) == ILK_OBJECT_RWLOCK) {
        ilk__text_add(text, " (%s)", ilk__share_name(ilk__record_get(&waiting->share)));
    }
    ilk__text_add(text, ", for ");
    add_duration(text, since(snapshot, ilk__record_get(&waiting->since_ns)));
    const uint64_t deadline_ns = ilk__record_get(&waiting->deadline_ns);
    if (deadline_ns != ILK_FOREVER) {
        ilk__text_add(text, "; its limit is in ");
        add_duration(text, deadline_ns > snapshot->now_ns ? deadline_ns - snapshot->now_ns : 0);
    }
    ilk__text_add(text, "\n");
    void *frames[ILK_STACK_FRAMES];
    const uint32_t depth = ilk__waiting_stack(waiting, frames);
    const uint32_t first = ilk__stack_first(frames, depth);
    for (uint32_t index = first; index < depth; index++) {
        ilk__text_add(text, "      %u  ", (unsigned)(index - first));
        ilk__text_add_frame(text, frames[index]);
        ilk__text_add(text, "\n");
    }
}

static void text_add_work(struct ilk__text *text, const struct ilk__record *record) {
    char label[ILK_NAME_SIZE];
    for (uint64_t index = 0; index < ilk__record_get(&record->work_count) && index < ILK__WORK_MOST;
         index++) {
        ilk__record_get_label(record->work[index].label, label);
        ilk__text_add(text, "  works on %s\n", label);
    }
}

static void add_thread_copy(struct ilk__text *text, const struct ilk__snapshot *snapshot,
                            const struct ilk__thread_copy *copy) {
    ilk__text_add(text, "thread \"%s\" (%u)", copy->name, (unsigned)copy->thread);
    if (copy->cycle != ILK__NO_CYCLE) {
        ilk__text_add(text, ", in cycle %d", copy->cycle + 1);
    }
    ilk__text_add(text, "\n");
    if (copy->has_record) {
        text_add_work(text, &copy->record);
        text_add_holds(text, snapshot, &copy->record);
        text_add_wait(text, snapshot, &copy->record);
    }
}

void ilk__snapshot_write_cycle(const struct ilk__snapshot *snapshot, const struct ilk__cycle *cycle,
                               struct ilk__text *text) {
    for (uint32_t index = 0; index <= cycle->count; index++) {
        const struct ilk__thread_copy *copy = &snapshot->threads[cycle->threads[index % cycle->count]];
        ilk__text_add(text, index == 0 ? "" : index < cycle->count ? ", held by " : ", held by the first, ");
        ilk__text_add(text, "thread \"%s\" (%u)", copy->name, (unsigned)copy->thread);
        if (index < cycle->count) {
            ilk__text_add(text, index == 0 ? " waits for " : ", which waits for ");
            add_awaited(text, &copy->record.waiting);
        }
    }
}

static void text_add_objects(struct ilk__text *text, const struct ilk__snapshot *snapshot) {
    uint32_t shown = 0;
    for (uint32_t index = 0; index < snapshot->object_count && shown < TOP_OBJECTS; index++) {
        const ilk_figures *figures = &snapshot->objects[index].figures;
        /* Waits and holds count as they end, and only where they are measured. */
        if (figures->wait.count + figures->hold.count == 0) {
            continue;
        }
        if (shown++ == 0) {
            ilk__text_add(text, "objects, those waited for longest first\n");
        }
        ilk__text_add(text, "  ");
        ilk__text_add_object(text, figures->object, figures->kind);
        ilk__text_add(text, ": %llu taken, %llu waited ", (unsigned long long)figures->acquisitions,
                      (unsigned long long)figures->wait.count);
        add_duration(text, figures->wait.total_ns);
        ilk__text_add(text, ", the longest ");
        add_duration(text, figures->wait.longest_ns);
        ilk__text_add(text, "; held ");
        add_duration(text, figures->hold.total_ns);
        ilk__text_add(text, ", the longest ");
        add_duration(text, figures->hold.longest_ns);
        ilk__text_add(text, "\n");
    }
}

void ilk__snapshot_write_text(const struct ilk__snapshot *snapshot, struct ilk__text *text) {
    for (uint32_t index = 0; index < snapshot->cycle_count; index++) {
        ilk__text_add(text, "cycle %u: ", (unsigned)index + 1);
        ilk__snapshot_write_cycle(snapshot, &snapshot->cycles[index], text);
        ilk__text_add(text, "\n");
    }
    for (uint32_t index = 0; index < snapshot->thread_count; index++) {
        add_thread_copy(text, snapshot, &snapshot->threads[index]);
    }
    text_add_objects(text, snapshot);
}
