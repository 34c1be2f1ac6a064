/* SPDX-License-Identifier: Apache-2.0
 *
 * The cache lines that a push to ilk_mpmc fetches ahead: those of the next group of slots and stamps, side by
 * side while this one is pushed (docs/rings.md). One line at a time gains nothing, for the next
 * compare-and-swap waits for it; nor do elements of several lines, whose stores overlap. Pops do not ask:
 * producers may be at work ahead of them. bench rings, try.
 */
#ifndef INTERLOCK_RING_PREFETCH_H
#define INTERLOCK_RING_PREFETCH_H

#include <interlock/inline/attributes.h>
#include <stddef.h>

enum { LINE = 64, LONGEST_GROUP = 64, GROUP_BYTES = 512, SMALLEST_GROUP_BYTES = 256, GROUPS = 8 };

/* In slots, a power of two; 0: nothing is fetched ahead. */
static inline size_t prefetch_group(size_t capacity, size_t element_size) {
    size_t group = LONGEST_GROUP;
    while (group > 1 && (GROUP_BYTES / group < element_size || capacity / GROUPS < group)) {
        group /= 2;
    }
    return element_size > LINE || group * element_size < SMALLEST_GROUP_BYTES ? 0 : group;
}

#if defined(__x86_64__)
/* __builtin_prefetch is one for reading, unless the compiler knows the processor. A processor without it
 * ignores this. */
static inline void prefetch_line(const unsigned char *line) ILK_NONBLOCKING {
    __asm__ __volatile__("prefetchw %0" : : "m"(*line));
}
#else
static inline void prefetch_line(const unsigned char *line) ILK_NONBLOCKING {
    __builtin_prefetch(line, 1);
}
#endif

static inline void prefetch_for_writing(const void *memory, size_t bytes) ILK_NONBLOCKING {
    for (size_t at = 0; at < bytes; at += LINE) {
        prefetch_line((const unsigned char *)memory + at);
    }
}

#endif
