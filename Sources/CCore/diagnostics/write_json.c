/* SPDX-License-Identifier: Apache-2.0
 *
 * A snapshot as JSON; docs/diagnosis.md has the keys. Every key is always there. An object or thread that has ended
 * may be named by its number alone.
 */
#include "diagnostics/order.h"
#include "diagnostics/report.h"
#include "diagnostics/snapshot.h"
#include "diagnostics/stack.h"
#include "diagnostics/text.h"
#include "diagnostics/thread_list.h"
#include <interlock/deadline.h>
#include <unistd.h>

#define ILK__VERSION "0.2.0"

typedef unsigned long long number;

static void add_comma(struct ilk__text *text, uint64_t index) {
    ilk__text_add(text, index > 0 ? ",\n" : "\n");
}

/* A string put together by pieces, quoted. */
enum { QUOTED_SIZE = 2048 };

static void add_frame_string(struct ilk__text *text, const void *frame) {
    char bytes[QUOTED_SIZE];
    struct ilk__text plain;
    ilk__text_begin(&plain, bytes, sizeof bytes, -1);
    ilk__text_add_frame(&plain, frame);
    ilk__text_add_quoted(text, bytes);
}

static void add_frames(struct ilk__text *text, void *const *frames, uint32_t depth) {
    ilk__text_add(text, "[");
    const uint32_t first = ilk__stack_first(frames, depth);
    for (uint32_t index = first; index < depth; index++) {
        ilk__text_add(text, index > first ? ", " : "");
        add_frame_string(text, frames[index]);
    }
    ilk__text_add(text, "]");
}

static uint64_t ago(const struct ilk__snapshot *snapshot, uint64_t time_ns) {
    return time_ns != 0 && time_ns < snapshot->now_ns ? snapshot->now_ns - time_ns : 0;
}

/* ---- Threads ---- */

/* What is waited for, or worked on, need not be an object of the table: then 0. */
static uint64_t object_number(const struct ilk__snapshot *snapshot, uint64_t address) {
    for (uint32_t index = 0; index < snapshot->object_count; index++) {
        if ((uintptr_t)snapshot->objects[index].figures.object == address) {
            return snapshot->objects[index].id;
        }
    }
    return 0;
}

static void json_add_holds(struct ilk__text *text, const struct ilk__snapshot *snapshot,
                           const struct ilk__record *record) {
    bool is_first = true;
    for (unsigned index = 0; index < ilk__held_places(record); index++) {
        const struct ilk__held_share *held = &record->held[index];
        if (!ilk__is_held_still(held)) {
            continue;
        }
        ilk__text_add(
            text, "%s{\"object\": %llu, \"mode\": \"%s\", \"for_ns\": %llu, \"site\": ", is_first ? "" : ", ",
            (number)ilk__record_get(&held->id), ilk__share_name(ilk__record_get(&held->share)),
            (number)ago(snapshot, ilk__record_get(&held->since_ns)));
        add_frame_string(text, (const void *)(uintptr_t)ilk__record_get(&held->site));
        ilk__text_add(text, "}");
        is_first = false;
    }
}

static void json_add_wait(struct ilk__text *text, const struct ilk__snapshot *snapshot,
                          const struct ilk__record *record) {
    const struct ilk__waiting *waiting = &record->waiting;
    const uint64_t address = ilk__record_get(&waiting->address);
    if (address == 0) {
        ilk__text_add(text, "null");
        return;
    }
    char label[ILK_NAME_SIZE];
    ilk__record_get_label(waiting->label, label);
    ilk__text_add(
        text, "{\"object\": %llu, \"kind\": \"%s\", \"label\": ", (number)object_number(snapshot, address),
        ilk_object_kind_name((ilk_object_kind)ilk__record_get(&waiting->kind)));
    ilk__text_add_quoted(text, label);
    ilk__text_add(text, ", \"mode\": \"%s\", \"for_ns\": %llu, \"limit_ns\": ",
                  ilk__share_name(ilk__record_get(&waiting->share)),
                  (number)ago(snapshot, ilk__record_get(&waiting->since_ns)));
    const uint64_t deadline_ns = ilk__record_get(&waiting->deadline_ns);
    if (deadline_ns == ILK_FOREVER) {
        ilk__text_add(text, "null");
    } else {
        ilk__text_add(text, "%llu",
                      (number)(deadline_ns > snapshot->now_ns ? deadline_ns - snapshot->now_ns : 0));
    }
    void *frames[ILK_STACK_FRAMES];
    const uint32_t depth = ilk__waiting_stack(waiting, frames);
    ilk__text_add(text, ", \"stack\": ");
    add_frames(text, frames, depth);
    ilk__text_add(text, "}");
}

static void json_add_thread(struct ilk__text *text, const struct ilk__snapshot *snapshot,
                            const struct ilk__thread_copy *copy) {
    ilk__text_add(text, "  {\"id\": %u, \"name\": ", (unsigned)copy->thread);
    ilk__text_add_quoted(text, copy->name);
    ilk__text_add(text, ", \"holds\": [");
    if (copy->has_record) {
        json_add_holds(text, snapshot, &copy->record);
    }
    ilk__text_add(text, "], \"waits\": ");
    if (copy->has_record) {
        json_add_wait(text, snapshot, &copy->record);
    } else {
        ilk__text_add(text, "null");
    }
    ilk__text_add(text, ", \"works_on\": [");
    const uint64_t work = copy->has_record ? ilk__record_get(&copy->record.work_count) : 0;
    for (uint64_t index = 0; index < work && index < ILK__WORK_MOST; index++) {
        char label[ILK_NAME_SIZE];
        ilk__record_get_label(copy->record.work[index].label, label);
        ilk__text_add(text, index > 0 ? ", " : "");
        ilk__text_add_quoted(text, label);
    }
    ilk__text_add(text, "], \"cycle\": ");
    if (copy->cycle == ILK__NO_CYCLE) {
        ilk__text_add(text, "null}");
    } else {
        ilk__text_add(text, "%d}", copy->cycle);
    }
}

/* ---- Objects ---- */

static void json_add_times(struct ilk__text *text, const ilk_times *times) {
    ilk__text_add(text, "\"count\": %llu, \"total_ns\": %llu, \"longest_ns\": %llu, \"histogram\": [",
                  (number)times->count, (number)times->total_ns, (number)times->longest_ns);
    bool is_first = true;
    for (uint32_t index = 0; index < ILK_HISTOGRAM_BUCKETS; index++) {
        if (times->buckets[index] != 0) {
            ilk__text_add(text, "%s[%llu, %u]", is_first ? "" : ", ", (number)ilk_histogram_limit_ns(index),
                          (unsigned)times->buckets[index]);
            is_first = false;
        }
    }
    ilk__text_add(text, "]");
}

static void json_add_ring(struct ilk__text *text, const struct ilk__snapshot *snapshot,
                          const struct ilk__object_copy *copy) {
    const struct ilk__ring_samples *samples = &copy->samples;
    if (samples->capacity == 0) {
        ilk__text_add(text, "null");
        return;
    }
    const uint64_t kept = samples->samples < ILK__DEPTHS_KEPT ? samples->samples : ILK__DEPTHS_KEPT;
    const uint64_t newest = (samples->samples + ILK__DEPTHS_KEPT - 1) % ILK__DEPTHS_KEPT;
    ilk__text_add(
        text,
        "{\"capacity\": %llu, \"depth\": %llu, \"deepest\": %llu, \"samples\": %llu, \"full_samples\": %llu, "
        "\"empty_samples\": %llu, \"full_waits\": %llu, \"empty_waits\": %llu, \"depths\": [",
        (number)samples->capacity, (number)(kept > 0 ? samples->depths[newest] : 0), (number)samples->deepest,
        (number)samples->samples, (number)samples->full_samples, (number)samples->empty_samples,
        (number)samples->full_waits, (number)samples->empty_waits);
    for (uint64_t index = 0; index < kept; index++) {
        const uint64_t place = (samples->samples - kept + index) % ILK__DEPTHS_KEPT;
        ilk__text_add(text, "%s[%llu, %llu]", index > 0 ? ", " : "",
                      (number)ago(snapshot, samples->times_ns[place]), (number)samples->depths[place]);
    }
    ilk__text_add(text, "]}");
}

static void json_add_object(struct ilk__text *text, const struct ilk__snapshot *snapshot,
                            const struct ilk__object_copy *copy) {
    const ilk_figures *figures = &copy->figures;
    ilk__text_add(text,
                  "  {\"id\": %llu, \"address\": \"%p\", \"kind\": \"%s\", \"name\": ", (number)copy->id,
                  figures->object, ilk_object_kind_name(figures->kind));
    ilk__text_add_quoted(text, figures->name);
    ilk__text_add(text, ", \"acquisitions\": %llu, \"contended\": %llu,\n   \"wait\": {",
                  (number)figures->acquisitions, (number)figures->wait.count);
    json_add_times(text, &figures->wait);
    ilk__text_add(text, "},\n   \"hold\": {");
    json_add_times(text, &figures->hold);
    char holder[64] = "";
    if (figures->longest_holder != 0) {
        struct ilk__text plain;
        ilk__text_begin(&plain, holder, sizeof holder, -1);
        ilk__text_add(&plain, "%s (%u)", figures->longest_name, (unsigned)figures->longest_holder);
    }
    ilk__text_add(text, ", \"longest_thread\": ");
    ilk__text_add_quoted(text, holder);
    ilk__text_add(text, ", \"longest_stack\": ");
    add_frames(text, figures->longest_stack, figures->longest_depth);
    ilk__text_add(text, "},\n   \"ring\": ");
    json_add_ring(text, snapshot, copy);
    ilk__text_add(text, "}");
}

/* ---- Cycles, orders, timeline ---- */

static void json_add_cycle(struct ilk__text *text, const struct ilk__snapshot *snapshot,
                           const struct ilk__cycle *cycle) {
    char bytes[QUOTED_SIZE];
    struct ilk__text plain;
    ilk__text_begin(&plain, bytes, sizeof bytes, -1);
    ilk__snapshot_write_cycle(snapshot, cycle, &plain);
    ilk__text_add(text, "  {\"text\": ");
    ilk__text_add_quoted(text, bytes);
    ilk__text_add(text, ", \"threads\": [");
    for (uint32_t index = 0; index < cycle->count; index++) {
        ilk__text_add(text, "%s%u", index > 0 ? ", " : "",
                      (unsigned)snapshot->threads[cycle->threads[index]].thread);
    }
    ilk__text_add(text, "], \"objects\": [");
    for (uint32_t index = 0; index < cycle->count; index++) {
        const struct ilk__waiting *waiting = &snapshot->threads[cycle->threads[index]].record.waiting;
        ilk__text_add(text, "%s%llu", index > 0 ? ", " : "",
                      (number)object_number(snapshot, ilk__record_get(&waiting->address)));
    }
    ilk__text_add(text, "]}");
}

static void json_add_order(struct ilk__text *text, const struct ilk__inversion *inversion) {
    char bytes[QUOTED_SIZE];
    struct ilk__text plain;
    ilk__text_begin(&plain, bytes, sizeof bytes, -1);
    ilk__text_add_inversion(&plain, inversion);
    ilk__text_add(text, "  {\"text\": ");
    ilk__text_add_quoted(text, bytes);
    ilk__text_add(text, ", \"stacks\": [");
    for (uint32_t index = 0; index < inversion->count; index++) {
        const struct ilk__sighting *order = &inversion->orders[(index + 1) % inversion->count];
        ilk__text_begin(&plain, bytes, sizeof bytes, -1);
        ilk__text_add(&plain, "thread \"%s\" (%u) held ", order->thread_name, (unsigned)order->thread);
        ilk__text_add_object(&plain, order->from, order->from_kind);
        ilk__text_add(&plain, " and asked for ");
        ilk__text_add_object(&plain, order->to, order->to_kind);
        ilk__text_add(text, "%s{\"title\": ", index > 0 ? ", " : "");
        ilk__text_add_quoted(text, bytes);
        ilk__text_add(text, ", \"frames\": ");
        add_frames(text, order->stack, order->depth);
        ilk__text_add(text, "}");
    }
    ilk__text_add(text, "]}");
}

/* A thread's events, oldest first. */
static uint64_t json_add_events(struct ilk__text *text, const struct ilk__snapshot *snapshot,
                                const struct ilk__thread_copy *copy, uint64_t written) {
    const uint64_t count = ilk__record_get(&copy->record.event_count);
    const uint64_t kept = count < ILK__EVENTS_KEPT ? count : ILK__EVENTS_KEPT;
    for (uint64_t index = count - kept; index < count; index++) {
        const struct ilk__event *event = &copy->record.events[index % ILK__EVENTS_KEPT];
        const uint64_t what = ilk__record_get(&event->what);
        add_comma(text, written++);
        ilk__text_add(
            text,
            "  {\"thread\": %u, \"object\": %llu, \"what\": \"%s\", \"mode\": \"%s\", \"ns_ago\": %llu, "
            "\"for_ns\": %llu}",
            (unsigned)copy->thread, (number)ilk__record_get(&event->id),
            (what & ILK__EVENT_WAIT) != 0 ? "wait" : "hold", ilk__share_name(what & ~ILK__EVENT_WAIT),
            (number)ago(snapshot, ilk__record_get(&event->since_ns)),
            (number)ilk__record_get(&event->for_ns));
    }
    return written;
}

static void add_watches(struct ilk__text *text) {
    static const char *const names[] = {"\"order\"", "\"contention\"", "\"hang\""};
    bool is_first = true;
    for (unsigned index = 0; index < 3; index++) {
        if ((ilk_diagnosed() & (UINT32_C(1) << index)) != 0) {
            ilk__text_add(text, "%s%s", is_first ? "" : ", ", names[index]);
            is_first = false;
        }
    }
}

void ilk__snapshot_write_json(const struct ilk__snapshot *snapshot, struct ilk__text *text) {
    char process[16];
    ilk__process_name(process, sizeof process);
    ilk__text_add(text, "{\n \"interlock\": \"" ILK__VERSION "\",\n \"process\": {\"id\": %d, \"name\": ",
                  (int)getpid());
    ilk__text_add_quoted(text, process);
    ilk__text_add(text, "},\n \"watches\": [");
    add_watches(text);
    ilk__text_add(text, "],\n \"threads\": [");
    for (uint32_t index = 0; index < snapshot->thread_count; index++) {
        add_comma(text, index);
        json_add_thread(text, snapshot, &snapshot->threads[index]);
    }
    ilk__text_add(text, "],\n \"objects\": [");
    for (uint32_t index = 0; index < snapshot->object_count; index++) {
        add_comma(text, index);
        json_add_object(text, snapshot, &snapshot->objects[index]);
    }
    ilk__text_add(text, "],\n \"cycles\": [");
    for (uint32_t index = 0; index < snapshot->cycle_count; index++) {
        add_comma(text, index);
        json_add_cycle(text, snapshot, &snapshot->cycles[index]);
    }
    ilk__text_add(text, "],\n \"orders\": [");
    for (uint32_t index = 0; index < ilk__reports(); index++) {
        add_comma(text, index);
        json_add_order(text, ilk__report_kept(index));
    }
    ilk__text_add(text, "],\n \"timeline\": [");
    uint64_t written = 0;
    for (uint32_t index = 0; index < snapshot->thread_count; index++) {
        if (snapshot->threads[index].has_record) {
            written = json_add_events(text, snapshot, &snapshot->threads[index], written);
        }
    }
    ilk__text_add(text, "],\n \"objects_lost\": %llu,\n \"searches_ended\": %llu\n}\n",
                  (number)ilk__objects_lost(), (number)ilk__order_searches_ended());
}
