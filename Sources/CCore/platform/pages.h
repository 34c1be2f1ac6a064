/* SPDX-License-Identifier: Apache-2.0
 *
 * The one port to whole zeroed pages, for tables that grow where malloc may not be called.
 */
#ifndef INTERLOCK_PLATFORM_PAGES_H
#define INTERLOCK_PLATFORM_PAGES_H

#include <stddef.h>

/* Zeroed memory of at least `size` bytes at the start of a page; NULL if there is none. Safe in signal
 * handlers. */
void *ilk__pages_allocate(size_t size);

/* Gives back the answer of ilk__pages_allocate(size). Safe in signal handlers. */
void ilk__pages_give_back(void *pages, size_t size);

#endif
