/* SPDX-License-Identifier: Apache-2.0
 *
 * If membarrier(2) is refused and running threads have left their fences out, only time helps. A store
 * waits in its processor's buffer before others see it, and a load may have been made as long ahead. No
 * processor names a bound; none is known to take a millisecond.
 */
#ifndef INTERLOCK_PLATFORM_STORES_H
#define INTERLOCK_PLATFORM_STORES_H

/* Sleeps ten milliseconds, and is no cancellation point: every thread's earlier stores can be seen, and its later loads
 * see ours. */
void ilk__wait_for_stores(void);

#endif
