/* SPDX-License-Identifier: Apache-2.0
 *
 * Fences on every thread, without the help of a light side: for what is stored without ilk__fence_light, such
 * as the announcements of readers under a fence-free lock, or by another copy of the library, whose choice is
 * its own.
 */
#ifndef INTERLOCK_WAIT_FENCE_H
#define INTERLOCK_WAIT_FENCE_H

#include <stdbool.h>

/* On return every thread of the process has executed a full fence: by membarrier(2), or where that is refused
 * after ten milliseconds. */
void ilk__fence_everywhere(void);

/* The same if membarrier(2) is granted; if not, false and no fence. */
bool ilk__fence_everywhere_at_once(void);

#endif
