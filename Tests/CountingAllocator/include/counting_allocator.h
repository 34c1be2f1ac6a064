/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts the allocations of a thread: a program that links this has an allocator that counts each call and
 * passes it to glibc's. For tests of "does not allocate".
 */
#ifndef COUNTING_ALLOCATOR_H
#define COUNTING_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>

/* Whether it counts: false where a sanitizer brings its own allocator, and without glibc. */
bool counting_allocator_counts(void);

/* How often the calling thread has allocated or reallocated since it began. */
size_t counting_allocator_allocations(void);

#endif
