/* SPDX-License-Identifier: Apache-2.0
 *
 * Which cache lines a push to ilk_mpmc asks for ahead of time.
 *
 * A push writes two lines that are not its core's any more: the slot's, which a consumer has read, and that
 * of the slot's number, which one has written. It waits for them at the next compare-and-swap if not before,
 * one after the other. So a push that enters a group of slots asks for all lines of the group that follows,
 * and they come side by side while this group is pushed. Asking for one line at a time gains nothing: the
 * compare-and-swap waits for that as well. Nor does it for elements of several lines, whose own stores are
 * side by side. Pops do not ask: what is ahead of them may be what producers are at. Chosen by bench rings,
 * try.
 */
#ifndef INTERLOCK_RING_PREFETCH_H
#define INTERLOCK_RING_PREFETCH_H

#include <interlock/inline/attributes.h>
#include <stddef.h>

enum { LINE = 64, LONGEST_GROUP = 64, GROUP_BYTES = 512, SMALLEST_GROUP_BYTES = 256, GROUPS = 8 };

/* In slots, a power of two; 0 where nothing is fetched ahead. */
static inline size_t prefetch_group(size_t capacity, size_t element_size) {
    size_t group = LONGEST_GROUP;
    while (group > 1 && (GROUP_BYTES / group < element_size || capacity / GROUPS < group)) {
        group /= 2;
    }
    return element_size > LINE || group * element_size < SMALLEST_GROUP_BYTES ? 0 : group;
}

#if defined(__x86_64__)
/* Compilers make a prefetch for reading of __builtin_prefetch, unless told of the processor. On a processor without
 * the instruction it does nothing. */
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
