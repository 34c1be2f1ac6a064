/* SPDX-License-Identifier: Apache-2.0
 *
 * See allocate.h.
 */
#include "ring/allocate.h"

#include <errno.h>
#include <interlock/inline/spsc.h>
#include <stdint.h>
#include <stdlib.h>

size_t ilk__ring_elements_offset(size_t header_size) {
    return (header_size + ILK__RING_SEPARATION - 1) / ILK__RING_SEPARATION * ILK__RING_SEPARATION;
}

ilk_status ilk__ring_allocate(size_t header_size, size_t capacity, size_t element_size, void **out) {
    /* The largest multiple of the alignment: every sum below stays within size_t. */
    const size_t most = (size_t)PTRDIFF_MAX / ILK__RING_SEPARATION * ILK__RING_SEPARATION;
    const size_t offset = ilk__ring_elements_offset(header_size);
    if (capacity == 0 || element_size == 0 || offset > most || capacity > (most - offset) / element_size) {
        return ILK_INVALID;
    }
    const int kept = errno; /* as platform/system_call.h */
    void *memory =
        aligned_alloc(ILK__RING_SEPARATION, ilk__ring_elements_offset(offset + capacity * element_size));
    if (memory == NULL) {
        ilk_compiler_fence(); /* compilers know that allocating changes nothing, errno included */
        errno = kept;
        return ILK_NOMEM;
    }
    *out = memory;
    return ILK_OK;
}
