/* SPDX-License-Identifier: Apache-2.0
 *
 * See figures.h.
 */
#include "diagnostics/figures.h"

#include <stddef.h>
#include <string.h>

enum { PARTS = 4, PART_BITS = 2 }; /* linear parts in a power of two */

static uint32_t bucket_of(uint64_t time_ns) {
    if (time_ns < PARTS) {
        return (uint32_t)time_ns;
    }
    const uint32_t power = 63U - (uint32_t)__builtin_clzll(time_ns);
    const uint32_t part = (uint32_t)(time_ns >> (power - PART_BITS)) & (PARTS - 1);
    const uint32_t bucket = (power - PART_BITS + 1) * PARTS + part;
    return bucket < ILK_HISTOGRAM_BUCKETS ? bucket : ILK_HISTOGRAM_BUCKETS - 1;
}

uint64_t ilk_histogram_limit_ns(uint32_t bucket) {
    if (bucket >= ILK_HISTOGRAM_BUCKETS - 1) {
        return UINT64_MAX;
    }
    if (bucket < PARTS) {
        return bucket + 1;
    }
    const uint32_t power = bucket / PARTS + PART_BITS - 1;
    return (UINT64_C(1) << power) + ((uint64_t)(bucket % PARTS + 1) << (power - PART_BITS));
}

static void clear_times(struct ilk__times *times) {
    ilk_atomic_store(&times->count, 0, memory_order_relaxed);      /* FG1 */
    ilk_atomic_store(&times->total_ns, 0, memory_order_relaxed);   /* FG1 */
    ilk_atomic_store(&times->longest_ns, 0, memory_order_relaxed); /* FG1 */
    for (unsigned index = 0; index < ILK_HISTOGRAM_BUCKETS; index++) {
        ilk_atomic_store(&times->buckets[index], 0, memory_order_relaxed); /* FG1 */
    }
}

void ilk__figures_clear(struct ilk__counters *counters) {
    clear_times(&counters->wait);
    clear_times(&counters->hold);
    ilk_atomic_store(&counters->longest_holder, 0, memory_order_relaxed); /* FG1 */
    ilk_atomic_store(&counters->longest_depth, 0, memory_order_relaxed);  /* FG1 */
}

/* True: the longest so far. */
static bool add_time(struct ilk__times *times, uint64_t time_ns) {
    ilk_atomic_fetch_add(&times->count, 1, memory_order_relaxed);                       /* FG1 */
    ilk_atomic_fetch_add(&times->total_ns, time_ns, memory_order_relaxed);              /* FG1 */
    ilk_atomic_fetch_add(&times->buckets[bucket_of(time_ns)], 1, memory_order_relaxed); /* FG1 */
    uint64_t longest = ilk__figure(&times->longest_ns);
    while (time_ns > longest) {
        if (ilk_atomic_compare_exchange_weak(&times->longest_ns, &longest, time_ns, memory_order_relaxed,
                                             memory_order_relaxed)) { /* FG1 */
            return true;
        }
    }
    return false;
}

void ilk__figures_add_wait(struct ilk__counters *counters, uint64_t wait_ns) {
    (void)add_time(&counters->wait, wait_ns);
}

bool ilk__figures_add_hold(struct ilk__counters *counters, uint64_t hold_ns) {
    return add_time(&counters->hold, hold_ns);
}

void ilk__figures_set_longest_holder(struct ilk__counters *counters, uint32_t thread, const char name[16],
                                     void *const *stack, uint32_t depth) {
    uint64_t words[2];
    memcpy(words, name, sizeof words);
    ilk_atomic_store(&counters->longest_name[0], words[0], memory_order_relaxed); /* FG1 */
    ilk_atomic_store(&counters->longest_name[1], words[1], memory_order_relaxed); /* FG1 */
    ilk_atomic_store(&counters->longest_depth, 0, memory_order_relaxed);          /* FG1 */
    for (uint32_t index = 0; index < depth; index++) {
        ilk_atomic_store(&counters->longest_stack[index], (uintptr_t)stack[index],
                         memory_order_relaxed); /* FG1 */
    }
    ilk_atomic_store(&counters->longest_holder, thread, memory_order_relaxed); /* FG1 */
    ilk_atomic_store(&counters->longest_depth, depth, memory_order_relaxed);   /* FG1 */
}

void ilk__figures_copy_longest(const struct ilk__counters *counters, ilk_figures *copy) {
    const uint64_t words[2] = {ilk__figure(&counters->longest_name[0]),
                               ilk__figure(&counters->longest_name[1])};
    memcpy(copy->longest_name, words, sizeof copy->longest_name);
    copy->longest_name[sizeof copy->longest_name - 1] = '\0';
    copy->longest_holder = ilk_atomic_load(&counters->longest_holder, memory_order_relaxed); /* FG1 */
    copy->longest_depth = ilk_atomic_load(&counters->longest_depth, memory_order_relaxed);   /* FG1 */
    for (uint32_t index = 0; index < copy->longest_depth; index++) {
        copy->longest_stack[index] =
            (void *)ilk_atomic_load(&counters->longest_stack[index], memory_order_relaxed); /* FG1 */
    }
}

void ilk__figures_copy_times(const struct ilk__times *times, ilk_times *copy) {
    copy->count = ilk__figure(&times->count);
    copy->total_ns = ilk__figure(&times->total_ns);
    copy->longest_ns = ilk__figure(&times->longest_ns);
    for (unsigned index = 0; index < ILK_HISTOGRAM_BUCKETS; index++) {
        copy->buckets[index] = ilk_atomic_load(&times->buckets[index], memory_order_relaxed); /* FG1 */
    }
}
