/* SPDX-License-Identifier: Apache-2.0
 *
 * From samples to output: tables, the goals that this library has set itself, JSON.
 */
#ifndef INTERLOCK_BENCHMARKS_RWLOCK_SUMMARY_H
#define INTERLOCK_BENCHMARKS_RWLOCK_SUMMARY_H

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
};

/* Throughput, spread, fairness, context switches, waits, sizes. */
std::string to_markdown(const Results &results);

/* The goals, what was reached, and whether that is enough; empty without ilk_rwlock. */
std::string goals_markdown(const Results &results);

/* The members for the whole run's JSON object. */
std::vector<std::pair<std::string, Json>> to_json(const Results &results);

} // namespace bench

#endif
