/* SPDX-License-Identifier: Apache-2.0
 *
 * The one port to whole zeroed pages, for tables that grow where malloc may not be called. Safe in signal
 * handlers.
 */
#ifndef INTERLOCK_PLATFORM_PAGES_H
#define INTERLOCK_PLATFORM_PAGES_H

#include <stddef.h>

/* At least `size` bytes; NULL if there is none. */
void *ilk__pages_allocate(size_t size);

/* `pages` is from ilk__pages_allocate(size). */
void ilk__pages_give_back(void *pages, size_t size);

#endif
