/* SPDX-License-Identifier: Apache-2.0
 *
 * From samples to output: tables, goals, JSON.
 */
#ifndef INTERLOCK_BENCHMARKS_RINGS_SUMMARY_H
#define INTERLOCK_BENCHMARKS_RINGS_SUMMARY_H

#include "../runner/instructions.h"
#include "../runner/report.h"
#include "../runner/states.h"
#include "measure.h"

#include <string>
#include <utility>
#include <vector>

namespace bench {

/* Outcomes in the order of the contenders; without samples for one that took no part. */
template <class Setting, class Outcome> struct Cell {
    Setting setting;
    std::vector<Outcome> outcomes;
};
using FlowCell = Cell<Flow, FlowOutcome>;
using TripCell = Cell<Trip, TripOutcome>;
using IdleCell = Cell<Idleness, IdleOutcome>;

struct RingResults {
    std::vector<RingContender> contenders;
    std::vector<FlowCell> flows;
    std::vector<TripCell> trips;
    std::vector<IdleCell> idles;
    OperationCosts costs;
};

std::string shape_text(const Flow &flow); /* "2P2C" */

/* Of the table that shows it. */
std::string table_title(const Flow &flow);
std::string table_title(const Trip &trip);
std::string table_title(const Idleness &idleness);

std::string to_markdown(const RingResults &results);

/* Each judged in its table's state. */
std::string goals_markdown(const RingResults &results, const States &states);
std::vector<std::pair<std::string, Json>> to_json(const RingResults &results);

} // namespace bench

#endif
