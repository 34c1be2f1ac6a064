/* SPDX-License-Identifier: Apache-2.0
 *
 * The one port to yielding the core. Only in loops with a bound, for a real-time thread would keep the thread
 * it waits for off the core for ever; and once by the helper of a loop of the facade.
 */
#ifndef INTERLOCK_PLATFORM_YIELD_H
#define INTERLOCK_PLATFORM_YIELD_H

void ilk__thread_yield(void);

#endif
