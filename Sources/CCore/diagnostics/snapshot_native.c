/* SPDX-License-Identifier: Apache-2.0
 *
 * Taking a snapshot (snapshot.h). Threads are listed by the system; those without a record have met no watched object.
 */
#include "diagnostics/snapshot.h"

#include "diagnostics/order.h"
#include "diagnostics/thread_list.h"
#include "platform/clock.h"
#include "platform/pages.h"
#include <interlock/deadline.h>
#include <stdlib.h>
#include <string.h>

enum { SPARE_THREADS = 16, SPARE_OBJECTS = 16 }; /* that begin while the snapshot is taken */

static void count_object(struct ilk__object *object, void *count) {
    (void)object;
    *(uint32_t *)count += 1;
}

static void count_thread(uint32_t thread, void *count) {
    (void)thread;
    *(uint32_t *)count += 1;
}

static void copy_thread(struct ilk__thread_copy *copy, uint32_t thread) {
    copy->thread = thread;
    copy->cycle = ILK__NO_CYCLE;
    ilk__thread_name(thread, copy->name, sizeof copy->name);
    for (const struct ilk__record *record = ilk__records_first(); record != NULL && !copy->has_record;
         record = ilk__record_next(record)) {
        /* Asked of the copy again: the record may have gone to another thread. */
        copy->has_record = ilk__record_thread(record) == thread && ilk__record_copy(record, &copy->record) &&
                           ilk__record_thread(&copy->record) == thread;
    }
}

struct objects_copied {
    struct ilk__snapshot *snapshot;
    uint32_t most;
};

static void copy_figures(struct ilk__object *object, struct ilk__object_copy *copy) {
    const struct ilk__counters *times = ilk__object_times(object);
    ilk_figures *figures = &copy->figures;
    copy->id = ilk__object_id(object);
    figures->object = ilk__object_address(object);
    figures->kind = ilk__object_kind_of(object);
    figures->acquisitions = ilk__figure(&object->acquisitions);
    if (times != NULL) {
        ilk__figures_copy_times(&times->wait, &figures->wait);
        ilk__figures_copy_times(&times->hold, &figures->hold);
        ilk__figures_copy_longest(times, figures);
    }
    if (ilk__ring_copy(object, &copy->samples)) {
        const struct ilk__ring_samples *samples = &copy->samples;
        figures->capacity = samples->capacity;
        figures->full_waits = samples->full_waits;
        figures->empty_waits = samples->empty_waits;
        figures->samples = samples->samples;
        figures->full_samples = samples->full_samples;
        figures->empty_samples = samples->empty_samples;
        figures->deepest = samples->deepest;
    }
}

static void copy_object(struct ilk__object *object, void *context) {
    struct objects_copied *copied = context;
    if (copied->snapshot->object_count < copied->most) {
        copy_figures(object, &copied->snapshot->objects[copied->snapshot->object_count++]);
    }
}

static int compare_objects(const void *first, const void *second) {
    const struct ilk__object_copy *one = first;
    const struct ilk__object_copy *other = second;
    if (one->figures.wait.total_ns != other->figures.wait.total_ns) {
        return one->figures.wait.total_ns > other->figures.wait.total_ns ? -1 : 1;
    }
    if (one->figures.hold.total_ns != other->figures.hold.total_ns) {
        return one->figures.hold.total_ns > other->figures.hold.total_ns ? -1 : 1;
    }
    return one->id < other->id ? -1 : 1;
}

/* ---- Cycles of waits ---- */

static bool waits_without_limit(const struct ilk__thread_copy *copy) {
    return copy->has_record && ilk__record_get(&copy->record.waiting.address) != 0 &&
           ilk__record_get(&copy->record.waiting.deadline_ns) == ILK_FOREVER;
}

/* Whether `other` holds, or works on, what `waiter` waits for. A permit that a thread took may be a signal: it waits
 * for the next one, not for itself. */
static bool holds_up(const struct ilk__thread_copy *waiter, const struct ilk__thread_copy *other) {
    const struct ilk__waiting *waiting = &waiter->record.waiting;
    const uint64_t address = ilk__record_get(&waiting->address);
    if (!other->has_record) {
        return false;
    }
    for (unsigned index = 0; index < ilk__held_places(&other->record); index++) {
        const struct ilk__held_share *held = &other->record.held[index];
        const struct ilk__object *object = ilk__held_object(held);
        if ((uintptr_t)ilk__object_address(object) == address && ilk__is_held_still(held) &&
            (other != waiter || ilk__is_proven_lock(object))) {
            const enum ilk__share share = (enum ilk__share)ilk__record_get(&held->share);
            const enum ilk__share asked = (enum ilk__share)ilk__record_get(&waiting->share);
            if (ilk__shares_exclude(object, share, asked)) {
                return true;
            }
        }
    }
    for (uint64_t index = 0; index < ilk__record_get(&other->record.work_count) && index < ILK__WORK_MOST;
         index++) {
        if (ilk__record_get(&other->record.work[index].address) == address) {
            return true;
        }
    }
    return false;
}

/* Follows waits from the last thread of `cycle`, depth first; `visited` are threads that lead nowhere. */
static bool follow(struct ilk__snapshot *snapshot, struct ilk__cycle *cycle, bool *visited) {
    const uint32_t at = cycle->threads[cycle->count - 1];
    for (uint32_t next = 0; next < snapshot->thread_count; next++) {
        if (!waits_without_limit(&snapshot->threads[next]) ||
            !holds_up(&snapshot->threads[at], &snapshot->threads[next])) {
            continue;
        }
        if (next == cycle->threads[0]) {
            return true;
        }
        if (visited[next] || cycle->count == ILK__CYCLE_THREADS_MOST) {
            continue;
        }
        visited[next] = true;
        cycle->threads[cycle->count++] = next;
        if (follow(snapshot, cycle, visited)) {
            return true;
        }
        cycle->count--;
    }
    return false;
}

static void find_cycles(struct ilk__snapshot *snapshot, bool *visited) {
    for (uint32_t first = 0; first < snapshot->thread_count; first++) {
        if (snapshot->threads[first].cycle != ILK__NO_CYCLE ||
            !waits_without_limit(&snapshot->threads[first])) {
            continue;
        }
        struct ilk__cycle *cycle = &snapshot->cycles[snapshot->cycle_count];
        memset(visited, 0, snapshot->thread_count * sizeof *visited);
        cycle->count = 1;
        cycle->threads[0] = first;
        if (follow(snapshot, cycle, visited)) {
            for (uint32_t index = 0; index < cycle->count; index++) {
                snapshot->threads[cycle->threads[index]].cycle = (int)snapshot->cycle_count;
            }
            snapshot->cycle_count++;
        }
    }
}

/* ---- The calls ---- */

struct threads_copied {
    struct ilk__snapshot *snapshot;
    uint32_t most;
};

static void list_thread(uint32_t thread, void *context) {
    struct threads_copied *copied = context;
    if (copied->snapshot->thread_count < copied->most) {
        copy_thread(&copied->snapshot->threads[copied->snapshot->thread_count++], thread);
    }
}

bool ilk__snapshot_take(struct ilk__snapshot *snapshot) {
    *snapshot = (struct ilk__snapshot){.now_ns = ilk__clock_now_ns()};
    uint32_t threads = SPARE_THREADS;
    if (!ilk__threads_visit(count_thread, &threads)) {
        return false;
    }
    uint32_t objects = SPARE_OBJECTS;
    ilk__objects_visit(count_object, &objects);
    snapshot->size = threads * (sizeof *snapshot->threads + sizeof *snapshot->cycles + sizeof(bool)) +
                     objects * sizeof *snapshot->objects;
    snapshot->pages = ilk__pages_allocate(snapshot->size);
    if (snapshot->pages == NULL) {
        return false;
    }
    snapshot->threads = snapshot->pages;
    snapshot->objects = (struct ilk__object_copy *)(void *)(snapshot->threads + threads);
    snapshot->cycles = (struct ilk__cycle *)(void *)(snapshot->objects + objects);
    struct threads_copied threads_copied = {snapshot, threads};
    if (!ilk__threads_visit(list_thread, &threads_copied)) {
        ilk__snapshot_give_back(snapshot);
        return false;
    }
    struct objects_copied copied = {snapshot, objects};
    ilk__objects_visit(copy_object, &copied);
    for (uint32_t index = 0; index < snapshot->object_count; index++) {
        ilk_figures *figures = &snapshot->objects[index].figures;
        (void)ilk_get_name(figures->object, figures->name, sizeof figures->name);
    }
    qsort(snapshot->objects, snapshot->object_count, sizeof *snapshot->objects, compare_objects);
    find_cycles(snapshot, (bool *)(void *)(snapshot->cycles + threads));
    return true;
}

void ilk__snapshot_give_back(struct ilk__snapshot *snapshot) {
    ilk__pages_give_back(snapshot->pages, snapshot->size);
}

size_t ilk_figures_snapshot(ilk_figures *figures, size_t capacity) {
    struct ilk__snapshot snapshot;
    if (!ilk__snapshot_take(&snapshot)) {
        return 0;
    }
    for (uint32_t index = 0; index < snapshot.object_count && index < capacity; index++) {
        figures[index] = snapshot.objects[index].figures;
    }
    const size_t count = snapshot.object_count;
    ilk__snapshot_give_back(&snapshot);
    return count;
}

static void reset_object(struct ilk__object *object, void *context) {
    (void)context;
    struct ilk__counters *times = ilk__object_times(object);
    if (times != NULL) {
        ilk__figures_clear(times);
    }
    ilk_atomic_store(&object->acquisitions, 0, memory_order_relaxed); /* FG1 */
    ilk__ring_clear(object);
}

void ilk_figures_reset(void) {
    ilk__objects_visit(reset_object, NULL);
}
