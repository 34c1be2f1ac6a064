/* SPDX-License-Identifier: Apache-2.0
 *
 * From samples to output: tables, goals, JSON.
 */
#ifndef INTERLOCK_BENCHMARKS_MUTEX_SUMMARY_H
#define INTERLOCK_BENCHMARKS_MUTEX_SUMMARY_H

#include "../runner/instructions.h"
#include "../runner/report.h"
#include "../runner/states.h"
#include "../rwlock/measure.h"
#include "baton.h"

#include <string>
#include <utility>
#include <vector>

namespace bench {

/* Outcomes in the order of the locks. Every operation of the mix writes. */
struct ContentionCell {
    Mix mix;
    std::vector<MixOutcome> outcomes;
};
struct WaitCell {
    Siege siege;
    std::vector<SiegeOutcome> outcomes;
};

struct MutexResults {
    std::vector<Contender> locks;
    std::vector<Baton> batons;
    std::vector<ContentionCell> contention;
    std::vector<WaitCell> waits;
    std::vector<Histogram> trips; /* in the order of the batons */
    OperationCosts costs;
};

/* Of the tables that show them. */
extern const std::string contention_title, trips_title;
std::string waits_title(const Siege &siege);

std::string to_markdown(const MutexResults &results);

/* Each judged in its table's state. */
std::string goals_markdown(const MutexResults &results, const States &states);
std::vector<std::pair<std::string, Json>> to_json(const MutexResults &results);

} // namespace bench

#endif
