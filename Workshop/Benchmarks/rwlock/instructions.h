/* SPDX-License-Identifier: Apache-2.0
 *
 * The instructions of locks: of their mix loop, with reads alone and with writes alone.
 */
#ifndef INTERLOCK_BENCHMARKS_RWLOCK_INSTRUCTIONS_H
#define INTERLOCK_BENCHMARKS_RWLOCK_INSTRUCTIONS_H

#include "../runner/instructions.h"
#include "contender.h"

#include <vector>

namespace bench {

/* A read and a write of each, those of ilk_rwlock by its mode. Starts child processes: call it while no other
 * thread runs. */
OperationCosts count_instructions(const std::vector<Contender> &locks);

/* Of locks without a reader mode: of locking and unlocking. */
OperationCosts count_lock_instructions(const std::vector<Contender> &locks);

} // namespace bench

#endif
