/* SPDX-License-Identifier: Apache-2.0
 *
 * Precedence over the rest of a machine that is not idle.
 */
#ifndef INTERLOCK_BENCHMARKS_URGENT_H
#define INTERLOCK_BENCHMARKS_URGENT_H

namespace bench {

/* Goes on in a process of its own that comes before all ordinary processes; the one that called waits
 * for it and ends as it ends. The threads of a slice still share the cores evenly among themselves.
 * To be called before any thread is started. Exits with a message where it may not. */
void become_urgent();

} // namespace bench

#endif
