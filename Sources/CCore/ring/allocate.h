/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of a ring, its size checked in one place for both rings.
 */
#ifndef INTERLOCK_RING_ALLOCATE_H
#define INTERLOCK_RING_ALLOCATE_H

#include <interlock/status.h>
#include <stddef.h>

/* Allocates `header_size` bytes followed by `capacity` elements of `element_size`, both from a multiple of
 * ILK__RING_SEPARATION on. ILK_INVALID: a size is 0, or the sum exceeds PTRDIFF_MAX. ILK_NOMEM: no memory.
 * `*out` is written on ILK_OK only; free() frees it. */
ilk_status ilk__ring_allocate(size_t header_size, size_t capacity, size_t element_size, void **out);

/* Where the elements start behind a header of `header_size` bytes. */
size_t ilk__ring_elements_offset(size_t header_size);

#endif
