/* SPDX-License-Identifier: Apache-2.0
 *
 * One moment of the process: every thread with its record, the watched objects, and the cycles of waits. In pages of
 * its own, so that it can be taken with a broken heap.
 */
#ifndef INTERLOCK_DIAGNOSTICS_SNAPSHOT_H
#define INTERLOCK_DIAGNOSTICS_SNAPSHOT_H

#include "diagnostics/records.h"
#include "diagnostics/rings.h"
#include <stdbool.h>
#include <stdint.h>

enum { ILK__NO_CYCLE = -1, ILK__CYCLE_THREADS_MOST = 32 };

struct ilk__thread_copy {
    uint32_t thread;
    char name[16];
    bool has_record;
    int cycle; /* ILK__NO_CYCLE, or its number */
    struct ilk__record record;
};

struct ilk__cycle {
    uint32_t count;
    uint32_t threads
        [ILK__CYCLE_THREADS_MOST]; /* indices of threads: each waits for the next, the last for the first */
};

struct ilk__object_copy {
    uint64_t id;
    ilk_figures figures;
    struct ilk__ring_samples samples;
};

struct ilk__snapshot {
    uint64_t now_ns;
    uint32_t thread_count, object_count, cycle_count;
    struct ilk__thread_copy *threads;
    struct ilk__object_copy *objects; /* longest total wait first */
    struct ilk__cycle *cycles;
    void *pages;
    size_t size;
};

/* False: no memory, or no list of threads. */
bool ilk__snapshot_take(struct ilk__snapshot *snapshot);
void ilk__snapshot_give_back(struct ilk__snapshot *snapshot);

/* How the three forms write it. */
struct ilk__text;
void ilk__snapshot_write_text(const struct ilk__snapshot *snapshot, struct ilk__text *text);
void ilk__snapshot_write_json(const struct ilk__snapshot *snapshot, struct ilk__text *text);

/* thread "a" (1) waits for mutex 0x1 "x", held by thread "b" (2), which waits for … */
void ilk__snapshot_write_cycle(const struct ilk__snapshot *snapshot, const struct ilk__cycle *cycle,
                               struct ilk__text *text);

const char *ilk__share_name(uint64_t share);
/* The stack of a wait; its depth. */
uint32_t ilk__waiting_stack(const struct ilk__waiting *waiting, void **frames);

#endif
