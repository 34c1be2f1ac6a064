/* SPDX-License-Identifier: Apache-2.0
 *
 * From samples to output: tables, goals, JSON.
 */
#ifndef INTERLOCK_BENCHMARKS_RWLOCK_SUMMARY_H
#define INTERLOCK_BENCHMARKS_RWLOCK_SUMMARY_H

#include "../runner/instructions.h"
#include "../runner/report.h"
#include "../runner/states.h"
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

/* Of the table that shows it. */
std::string table_title(const Mix &mix);
std::string table_title(const Siege &siege);

std::string to_markdown(const Results &results);

/* Each judged in its table's state. Empty without ilk_rwlock. */
std::string goals_markdown(const Results &results, const States &states);

std::vector<std::pair<std::string, Json>> to_json(const Results &results);

} // namespace bench

#endif
