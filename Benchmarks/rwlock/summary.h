/* SPDX-License-Identifier: Apache-2.0
 *
 * From samples to output: tables, goals, JSON.
 */
#ifndef INTERLOCK_BENCHMARKS_RWLOCK_SUMMARY_H
#define INTERLOCK_BENCHMARKS_RWLOCK_SUMMARY_H

#include "../runner/instructions.h"
#include "../runner/report.h"
#include "measure.h"

#include <string>
#include <vector>

namespace bench {

/* Outcomes in the order of the contenders. */
struct MixCell {
    Mix mix;
    std::vector<MixOutcome> outcomes;
};
struct SiegeCell {
    Siege siege;
    std::vector<SiegeOutcome> outcomes;
};

struct Results {
    std::vector<Contender> contenders;
    std::vector<MixCell> mixes;
    std::vector<SiegeCell> sieges;
    OperationCosts costs;
};

std::string to_markdown(const Results &results);

/* Empty without ilk_rwlock. */
std::string goals_markdown(const Results &results);

std::vector<std::pair<std::string, Json>> to_json(const Results &results);

} // namespace bench

#endif
