/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables and JSON of the rings.
 */
#include "summary.h"

#include "../runner/statistics.h"

#include <cmath>

namespace bench {

std::string shape_text(const Flow &flow) {
    return std::to_string(flow.producers) + "P" + std::to_string(flow.consumers) + "C";
}

std::string table_title(const Flow &flow) {
    return shape_text(flow) + ", " + to_text(flow.transfer);
}

std::string table_title(const Trip &trip) {
    return std::string("Round trip, ") + to_text(trip.transfer) + ", rings for " +
           (trip.sides == Sides::single ? "two threads" : "many threads");
}

std::string table_title(const Idleness &idleness) {
    const std::string pace =
        idleness.wait == Wait::for_nothing ? "" : ", one element in " + duration(idleness.pace_ns);
    return std::string("Waiting ") + to_text(idleness.wait) + pace;
}

static std::string throughput(const FlowOutcome &outcome) {
    double middle = median(outcome.rates);
    double spread = (largest(outcome.rates) - smallest(outcome.rates)) / 2;
    char text[32];
    std::snprintf(text, sizeof text, " ±%.0f%%", middle > 0 ? spread / middle * 100 : 0.0);
    return digits(middle) + text;
}

/* Rows are rings, columns sizes and capacities. */
static std::string flow_table(const RingResults &results, const Flow &of) {
    std::vector<const FlowCell *> columns;
    std::vector<std::string> header{"ring"};
    for (const FlowCell &cell : results.flows) {
        const Flow &flow = cell.setting;
        if (flow.transfer == of.transfer && flow.producers == of.producers &&
            flow.consumers == of.consumers) {
            columns.push_back(&cell);
            header.push_back(std::to_string(element_sizes[flow.element]) + " B, " +
                             std::to_string(flow.capacity));
        }
    }
    Table table(header);
    for (size_t index = 0; index < results.contenders.size(); ++index) {
        std::vector<std::string> row{results.contenders[index].name};
        bool any = false;
        for (const FlowCell *column : columns) {
            const FlowOutcome &outcome = column->outcomes[index];
            any |= !outcome.rates.empty();
            row.push_back(outcome.rates.empty() ? "–" : throughput(outcome));
        }
        if (any) {
            table.add(row);
        }
    }
    return table.markdown();
}

static std::string flows_markdown(const RingResults &results) {
    std::string text;
    std::vector<std::string> done;
    for (const FlowCell &cell : results.flows) {
        std::string title = table_title(cell.setting);
        if (std::find(done.begin(), done.end(), title) != done.end()) {
            continue;
        }
        done.push_back(title);
        text += "## " + title + "\n\n" + flow_table(results, cell.setting) + "\n";
    }
    return text.empty() ? ""
                        : "Million elements a second: median of the rounds, and half the distance from the "
                          "slowest round to the fastest. Columns: size of an element, capacity.\n\n" +
                              text;
}

/* Each round counts alike, so that one in which both threads sleep in turn shows. */
static double mean_trip_ns(const TripOutcome &outcome) {
    double sum = 0;
    for (double million_per_second : outcome.rates) {
        sum += 1e3 / million_per_second;
    }
    return sum / static_cast<double>(outcome.rates.size());
}

static std::string trips_markdown(const RingResults &results) {
    std::string text;
    for (const TripCell &cell : results.trips) {
        Table table({"ring", "p50", "mean", "p99", "p99.9", "max", "trips"});
        bool any = false;
        for (size_t index = 0; index < results.contenders.size(); ++index) {
            const TripOutcome &outcome = cell.outcomes[index];
            if (outcome.rates.empty()) {
                continue;
            }
            auto at = [&](double share) { return duration(outcome.trips.quantile(share) / ticks_per_ns()); };
            table.add({results.contenders[index].name, duration(median(outcome.medians) / ticks_per_ns()),
                       duration(mean_trip_ns(outcome)), at(0.99), at(0.999),
                       duration(static_cast<double>(outcome.trips.largest) / ticks_per_ns()),
                       std::to_string(outcome.trips.count())});
            any = true;
        }
        if (any) {
            text += "## " + table_title(cell.setting) + "\n\n" + table.markdown() + "\n";
        }
    }
    return text.empty() ? ""
                        : "p50: median of the rounds' own; mean: of the rounds' own; the others are of all "
                          "rounds.\n\n" +
                              text;
}

static std::string idles_markdown(const RingResults &results) {
    std::string text;
    for (const IdleCell &cell : results.idles) {
        Table table(
            {"ring", "CPU of the waiting thread", "its context switches a second", "elements a second"});
        bool any = false;
        for (size_t index = 0; index < results.contenders.size(); ++index) {
            const IdleOutcome &outcome = cell.outcomes[index];
            if (outcome.cpu.empty()) {
                continue;
            }
            char cpu[32];
            std::snprintf(cpu, sizeof cpu, "%.3f %%", median(outcome.cpu) * 100);
            table.add({results.contenders[index].name, cpu,
                       std::to_string(std::lround(median(outcome.switches))),
                       std::to_string(std::lround(median(outcome.rates) * 1e6))});
            any = true;
        }
        if (any) {
            text += "## " + table_title(cell.setting) + "\n\n" + table.markdown() + "\n";
        }
    }
    return text;
}

std::string to_markdown(const RingResults &results) {
    return flows_markdown(results) + trips_markdown(results) + idles_markdown(results);
}

std::vector<std::pair<std::string, Json>> to_json(const RingResults &results) {
    std::vector<Json> flows, trips, idles;
    for (size_t index = 0; index < results.contenders.size(); ++index) {
        const RingContender &contender = results.contenders[index];
        for (const FlowCell &cell : results.flows) {
            const FlowOutcome &outcome = cell.outcomes[index];
            if (outcome.rates.empty()) {
                continue;
            }
            flows.push_back(outcome.json({{"ring", contender.name},
                                          {"way", to_text(contender.transfer)},
                                          {"bounded", contender.bounded},
                                          {"producers", cell.setting.producers},
                                          {"consumers", cell.setting.consumers},
                                          {"element_bytes", element_sizes[cell.setting.element]},
                                          {"capacity", cell.setting.capacity}}));
        }
        for (const TripCell &cell : results.trips) {
            const TripOutcome &outcome = cell.outcomes[index];
            if (outcome.rates.empty()) {
                continue;
            }
            auto at = [&](double share) { return outcome.trips.quantile(share) / ticks_per_ns(); };
            trips.push_back(
                Json::object({{"ring", contender.name},
                              {"way", to_text(contender.transfer)},
                              {"p50_ns", median(outcome.medians) / ticks_per_ns()},
                              {"mean_ns", mean_trip_ns(outcome)},
                              {"p99_ns", at(0.99)},
                              {"p99_9_ns", at(0.999)},
                              {"max_ns", static_cast<double>(outcome.trips.largest) / ticks_per_ns()},
                              {"trips", outcome.trips.count()}}));
        }
        for (const IdleCell &cell : results.idles) {
            const IdleOutcome &outcome = cell.outcomes[index];
            if (outcome.cpu.empty()) {
                continue;
            }
            idles.push_back(Json::object({{"ring", contender.name},
                                          {"waits", to_text(cell.setting.wait)},
                                          {"pace_ns", cell.setting.pace_ns},
                                          {"cpu_share", median(outcome.cpu)},
                                          {"switches_per_second", median(outcome.switches)},
                                          {"elements_per_second", median(outcome.rates) * 1e6}}));
        }
    }
    std::vector<std::pair<std::string, Json>> members{{"throughput_million_per_second", Json::array(flows)},
                                                      {"round_trips", Json::array(trips)},
                                                      {"waiting", Json::array(idles)}};
    add_json(members, results.costs, "ring");
    return members;
}

} // namespace bench
