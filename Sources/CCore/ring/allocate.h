/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of a ring, its size checked in one place.
 */
#ifndef INTERLOCK_RING_ALLOCATE_H
#define INTERLOCK_RING_ALLOCATE_H

#include <interlock/status.h>
#include <stddef.h>

/* `header_size` bytes, then `capacity` elements of `element_size`, both from a multiple of
 * ILK__RING_SEPARATION on; free() frees them. ILK_INVALID: a size is 0, or the sum exceeds PTRDIFF_MAX.
 * Writes `*out` on ILK_OK only. */
ilk_status ilk__ring_allocate(size_t header_size, size_t capacity, size_t element_size, void **out);

/* The offset of the elements, which follow the header. */
size_t ilk__ring_elements_offset(size_t header_size);

#endif
