/* SPDX-License-Identifier: Apache-2.0
 *
 * The one port to whole pages from the system, zeroed. For tables that grow in places where malloc may not be
 * called.
 */
#ifndef INTERLOCK_PLATFORM_PAGES_H
#define INTERLOCK_PLATFORM_PAGES_H

#include <stddef.h>

/* Zeroed memory of at least `size` bytes at the start of a page; NULL if there is none. Safe in signal
 * handlers. */
void *ilk__pages_allocate(size_t size);

/* Gives back what ilk__pages_allocate(size) has answered. Safe in signal handlers. */
void ilk__pages_give_back(void *pages, size_t size);

#endif
