/* SPDX-License-Identifier: Apache-2.0
 *
 * The times of one object: counts, and log-linear histograms of wait and hold. Any thread adds; a snapshot beside it
 * may miss the newest additions, or have one in a histogram and not yet in a sum. They are never freed: those of an
 * object that has ended go to another, which may get an addition that comes late.
 *
 * Source of the histogram: Tene, HdrHistogram: four linear parts in each power of two, so that a bucket's
 * bounds are at most a quarter apart.
 */
#ifndef INTERLOCK_DIAGNOSTICS_FIGURES_H
#define INTERLOCK_DIAGNOSTICS_FIGURES_H

#include <interlock/diagnostics.h>
#include <interlock/inline/atomic.h>
#include <stdbool.h>
#include <stdint.h>

struct ilk__times {
    ILK_ATOMIC(uint64_t) count;
    ILK_ATOMIC(uint64_t) total_ns;
    ILK_ATOMIC(uint64_t) longest_ns;
    ILK_ATOMIC(uint32_t) buckets[ILK_HISTOGRAM_BUCKETS];
};

struct ilk__counters {
    struct ilk__counters *next_free; /* with the tables locked */
    struct ilk__times wait;          /* of every acquisition that had to wait, or gave up */
    struct ilk__times hold;
    ILK_ATOMIC(uint32_t) longest_holder;  /* its thread's id */
    ILK_ATOMIC(uint64_t) longest_name[2]; /* 16 bytes */
    ILK_ATOMIC(uint32_t) longest_depth;
    ILK_ATOMIC(uintptr_t) longest_stack[ILK_STACK_FRAMES];
};

void ilk__figures_clear(struct ilk__counters *counters);
void ilk__figures_add_wait(struct ilk__counters *counters, uint64_t wait_ns);
/* True: the longest so far, for which the caller gives its stack. */
bool ilk__figures_add_hold(struct ilk__counters *counters, uint64_t hold_ns);
void ilk__figures_set_longest_holder(struct ilk__counters *counters, uint32_t thread, const char name[16],
                                     void *const *stack, uint32_t depth);
/* Into the public form. */
void ilk__figures_copy_longest(const struct ilk__counters *counters, ilk_figures *copy);

void ilk__figures_copy_times(const struct ilk__times *times, ilk_times *copy);

static inline uint64_t ilk__figure(const ILK_ATOMIC(uint64_t) * figure) {
    /* FG1 relaxed: figures for people; nothing is read on the strength of them. */
    return ilk_atomic_load(figure, memory_order_relaxed);
}

#endif
