/* SPDX-License-Identifier: Apache-2.0
 *
 * The instructions of rings: of their produce and consume loops, on a ring that is never full and never empty.
 */
#ifndef INTERLOCK_BENCHMARKS_RINGS_INSTRUCTIONS_H
#define INTERLOCK_BENCHMARKS_RINGS_INSTRUCTIONS_H

#include "../runner/instructions.h"
#include "contender.h"

#include <vector>

namespace bench {

/* A push and a pop of each ring that tries, and of ours also where they block. Starts child processes: call it
 * while no other thread runs. */
OperationCosts count_instructions(const std::vector<RingContender> &rings);

} // namespace bench

#endif
