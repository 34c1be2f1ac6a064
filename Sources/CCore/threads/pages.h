/* SPDX-License-Identifier: Apache-2.0
 *
 * The one door to memory that never goes back: whole pages from the system, zeroed. For tables that grow
 * in places where malloc may not be called.
 */
#ifndef INTERLOCK_THREADS_PAGES_H
#define INTERLOCK_THREADS_PAGES_H

#include <stddef.h>

/* Zeroed memory of at least `size` bytes at the start of a page; NULL if there is none. Safe in signal
 * handlers. */
void *ilk__pages_allocate(size_t size);

#endif
