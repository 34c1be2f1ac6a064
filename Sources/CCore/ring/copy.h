/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies between a ring and the caller's memory.
 */
#ifndef INTERLOCK_RING_COPY_H
#define INTERLOCK_RING_COPY_H

#include <interlock/inline/atomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A small batch was often written a moment ago, in stores of 8 bytes. A wider load, as memcpy's, cannot take
 * its bytes from the store buffer: it waits until they reach the cache, behind the slots of earlier batches,
 * whose lines may come from another core. In a larger batch memcpy is faster. bench rings, batches. */
enum { FRESH_AT_MOST = 128 };

static inline void copy_into_ring(unsigned char *slots, const unsigned char *elements, size_t bytes) {
    ilk_plain_write(slots, bytes);
    if (bytes > FRESH_AT_MOST || bytes % sizeof(uint64_t) != 0) {
        memcpy(slots, elements, bytes);
        return;
    }
    for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
        uint64_t word;
        memcpy(&word, elements + at, sizeof word);
        __asm__("" : "+r"(word)); /* keeps the compiler from joining the loads */
        memcpy(slots + at, &word, sizeof word);
    }
}

static inline void copy_out_of_ring(unsigned char *elements, const unsigned char *slots, size_t bytes) {
    ilk_plain_read(slots, bytes);
    memcpy(elements, slots, bytes);
}

#endif
