/* SPDX-License-Identifier: Apache-2.0
 *
 * See allocate.h.
 */
#include "ring/allocate.h"

#include <interlock/inline/spsc.h>
#include <stdint.h>
#include <stdlib.h>

size_t ilk__ring_elements_offset(size_t header_size) {
    return (header_size + ILK__RING_SEPARATION - 1) / ILK__RING_SEPARATION * ILK__RING_SEPARATION;
}

ilk_status ilk__ring_allocate(size_t header_size, size_t capacity, size_t element_size, void **out) {
    /* Room for the header, and for rounding the sum up to the alignment. */
    const size_t most = (size_t)PTRDIFF_MAX - header_size - 2 * (size_t)ILK__RING_SEPARATION;
    if (capacity == 0 || element_size == 0 || header_size > (size_t)PTRDIFF_MAX / 2 ||
        capacity > most / element_size) {
        return ILK_INVALID;
    }
    size_t size = ilk__ring_elements_offset(ilk__ring_elements_offset(header_size) + capacity * element_size);
    void *memory = aligned_alloc(ILK__RING_SEPARATION, size);
    if (memory == NULL) {
        return ILK_NOMEM;
    }
    *out = memory;
    return ILK_OK;
}
