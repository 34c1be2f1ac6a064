/* SPDX-License-Identifier: Apache-2.0
 *
 * Precedence over the rest of a machine that is not idle.
 */
#ifndef INTERLOCK_BENCHMARKS_URGENT_H
#define INTERLOCK_BENCHMARKS_URGENT_H

namespace bench {

/* Continues in a process of its own, which comes before all ordinary processes; the calling process waits and
 * ends with its status. The threads of a slice still share the cores evenly. Call it before any thread
 * starts. Without the right it exits with a message. */
void become_urgent();

} // namespace bench

#endif
