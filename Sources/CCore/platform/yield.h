/* SPDX-License-Identifier: Apache-2.0
 *
 * The one port to yielding the core. Only in bounded loops on the way to parking: a real-time thread would
 * keep the thread it waits for off the core for ever.
 */
#ifndef INTERLOCK_PLATFORM_YIELD_H
#define INTERLOCK_PLATFORM_YIELD_H

void ilk__thread_yield(void);

#endif
