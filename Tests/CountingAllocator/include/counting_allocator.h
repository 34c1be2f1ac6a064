/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts a thread's allocations, for tests of "does not allocate": the allocator of a program that links this
 * counts each call and passes it to glibc's.
 */
#ifndef COUNTING_ALLOCATOR_H
#define COUNTING_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>

/* False where a sanitizer brings its own allocator, and without glibc. */
bool counting_allocator_counts(void);

/* The calling thread's allocations and reallocations since it began. */
size_t counting_allocator_allocations(void);

/* Of all threads; what they keep for their next allocations is in it. */
size_t counting_allocator_bytes_in_use(void);

#endif
