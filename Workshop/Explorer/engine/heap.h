/* SPDX-License-Identifier: Apache-2.0
 *
 * The model's heap: what model/core.h puts in the place of malloc and its kin.
 */
#ifndef EXPLORER_ENGINE_HEAP_H
#define EXPLORER_ENGINE_HEAP_H

#include <stddef.h>

void *ex_allocate(size_t size, size_t alignment);
void *ex_allocate_zeroed(size_t count, size_t size);
int ex_allocate_into(void **out, size_t alignment, size_t size);
void ex_free(void *memory);

/* Blocks allocated and not freed in this execution. */
size_t ex_heap_count(void);

#endif
