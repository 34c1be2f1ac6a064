/* SPDX-License-Identifier: Apache-2.0
 *
 * Copies between a ring and the caller's memory, announced to the explorer.
 */
#ifndef INTERLOCK_RING_COPY_H
#define INTERLOCK_RING_COPY_H

#include <interlock/inline/atomic.h>
#include <stddef.h>
#include <string.h>

static inline void copy_into_ring(unsigned char *slots, const unsigned char *elements, size_t bytes) {
    ilk_plain_write(slots, bytes);
    memcpy(slots, elements, bytes);
}

static inline void copy_out_of_ring(unsigned char *elements, const unsigned char *slots, size_t bytes) {
    ilk_plain_read(slots, bytes);
    memcpy(elements, slots, bytes);
}

#endif
