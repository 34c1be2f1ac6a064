/* SPDX-License-Identifier: Apache-2.0
 *
 * Counts what a thread allocates: a program that links this has an allocator that counts and passes on. For
 * tests of "does not allocate".
 */
#ifndef COUNTING_ALLOCATOR_H
#define COUNTING_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>

/* Whether it counts: not where a sanitizer brings its own allocator, nor without glibc. */
bool counting_allocator_counts(void);

/* How often the calling thread has allocated or reallocated since it began. */
size_t counting_allocator_allocations(void);

#endif
