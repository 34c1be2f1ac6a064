/* SPDX-License-Identifier: Apache-2.0
 *
 * The comparison of ilk_spsc, ilk_mpmc and their peers.
 */
#include "../runner/suite.h"
#include "back_off.h"
#include "instructions.h"
#include "summary.h"

#include <cstdio>

using namespace bench;

static const std::vector<Options::Flag> flags{
    {"--quick", "", "a coarse run of half a minute: fewer cells, rounds and milliseconds"},
    {"--shape", "SHAPE,...", "producers and consumers (1P1C,2P2C,4P4C,8P1C,1P8C)"},
    {"--way", "WAY,...", "try, blocking, batch8, batch64 (all)"},
    {"--size", "BYTES,...", "sizes of an element (8,64,256)"},
    {"--capacity", "N,...", "capacities (2,64,1024,65536)"},
    {"--rounds", "N", "rounds (7); every round runs every contender once, in a new order"},
    {"--slice", "MS", "how long a contender is measured in a round (30)"},
    {"--no-flow", "", "leave the throughput out"},
    {"--no-trips", "", "leave the round trips out"},
    {"--no-idle", "", "leave the cost of waiting out"},
    {"--no-back-off", "", "leave the time of the longest back-off out"},
    {"--pauses", "N", "probes of a full or empty ring before yielding the core (32)"},
    instructions_flag,
    no_instructions_flag,
};

static std::vector<std::string> texts(const Options &options, const char *flag,
                                      std::vector<std::string> otherwise) {
    return options.has(flag) ? options.texts(flag) : otherwise;
}

static std::vector<Flow> flows(const Options &options, bool quick) {
    std::vector<Transfer> transfers;
    for (const std::string &name : texts(options, "--way", {"try", "blocking", "batch8", "batch64"})) {
        transfers.push_back(name == "try"        ? trying
                            : name == "blocking" ? blocking
                            : name == "batch8"   ? batch_8
                            : name == "batch64"  ? batch_64
                                                 : (fail("unknown way " + name), trying));
    }
    std::vector<size_t> elements;
    for (unsigned size :
         options.counts("--size", quick ? std::vector<unsigned>{8} : std::vector<unsigned>{8, 64, 256})) {
        size_t index = 0;
        while (index < element_size_count && element_sizes[index] != size) {
            ++index;
        }
        if (index == element_size_count) {
            fail("elements have 8, 64 or 256 bytes");
        }
        elements.push_back(index);
    }
    std::vector<Flow> list;
    for (Transfer transfer : transfers) {
        for (const std::string &shape :
             texts(options, "--shape",
                   quick ? std::vector<std::string>{"1P1C", "2P2C", "4P4C"}
                         : std::vector<std::string>{"1P1C", "2P2C", "4P4C", "8P1C", "1P8C"})) {
            unsigned producers, consumers;
            char end;
            if (std::sscanf(shape.c_str(), "%uP%uC%c", &producers, &consumers, &end) != 2 || producers == 0 ||
                consumers == 0 || producers >= max_producers || consumers > 64) {
                fail("not a shape: " + shape);
            }
            for (size_t element : elements) {
                for (unsigned capacity :
                     options.counts("--capacity", quick ? std::vector<unsigned>{1024}
                                                        : std::vector<unsigned>{2, 64, 1024, 65536})) {
                    list.push_back({transfer, producers, consumers, element, capacity});
                }
            }
        }
    }
    return list;
}

int main(int count, char **arguments) {
    Suite suite(count, arguments, {"rings", "rings: bounded queues side by side", "Rings", ""}, flags);
    const Options &options = suite.options;
    const bool quick = options.has("--quick");
    const auto rounds = static_cast<unsigned>(options.number("--rounds", quick ? 3 : 7));
    const double slice_ms = options.number("--slice", quick ? 12 : 30);
    const double idle_ms = quick ? 200 : 1000;
    const SliceTimes times = slice_of(slice_ms);
    const SliceTimes idle_times{1000000, static_cast<uint64_t>(idle_ms * 1e6)};
    set_pauses(static_cast<uint32_t>(options.number("--pauses", 32)));

    RingResults results;
    results.contenders = suite.selected(ring_contenders());
    const size_t contenders = results.contenders.size();
    if (contenders == 0 || rounds == 0 || slice_ms <= 0) {
        fail("nothing to run");
    }
    if (suite.counts_instructions()) {
        results.costs = count_instructions(results.contenders);
    }
    if (options.has("--instructions")) {
        return suite.report(0, 0, to_markdown(results.costs, "ring"), to_json(results));
    }
    if (!options.has("--no-flow")) {
        for (const Flow &flow : flows(options, quick)) {
            results.flows.push_back({flow, std::vector<FlowOutcome>(contenders)});
        }
    }
    if (!options.has("--no-trips")) {
        for (Transfer transfer : {trying, blocking}) {
            for (Sides sides : {Sides::single, Sides::many}) {
                results.trips.push_back({{transfer, sides}, std::vector<TripOutcome>(contenders)});
            }
        }
    }
    if (!options.has("--no-idle")) {
        for (Wait wait : {Wait::for_nothing, Wait::slow_producer, Wait::slow_consumer}) {
            results.idles.push_back({{wait, 20000}, std::vector<IdleOutcome>(contenders)});
        }
    }

    auto plan = [&](const auto &cells, SliceTimes slice, unsigned times_run) {
        for (const auto &cell : cells) {
            for (const RingContender &contender : results.contenders) {
                suite.turns.expect(runs(contender, cell.setting) ? times_run : 0, slice);
            }
        }
    };
    auto run = [&](auto &cells, SliceTimes slice, unsigned times_run) {
        for (auto &cell : cells) {
            std::vector<size_t> taking_part;
            for (size_t index = 0; index < contenders; ++index) {
                if (runs(results.contenders[index], cell.setting)) {
                    taking_part.push_back(index);
                }
            }
            if (taking_part.empty()) {
                continue;
            }
            suite.table(table_title(cell.setting));
            suite.turns.run(taking_part, times_run, slice, [&](size_t index, uint64_t) {
                const RingContender &ring = results.contenders[index];
                return named(ring.name, measure(ring, cell.setting, slice, cell.outcomes[index]));
            });
        }
    };
    const unsigned idle_rounds = quick ? 1 : 3;
    plan(results.flows, times, rounds);
    plan(results.trips, times, rounds);
    plan(results.idles, idle_times, idle_rounds);
    run(results.flows, times, rounds);
    run(results.trips, times, rounds);
    run(results.idles, idle_times, idle_rounds);

    std::string markdown = to_markdown(results) + to_markdown(results.costs, "ring");
    auto json = to_json(results);
    if (!options.has("--no-back-off")) {
        const PauseTime pause = measure_pause();
        markdown += to_markdown(pause);
        json.push_back({"longest_back_off", to_json(pause)});
    }
    return suite.report(rounds, slice_ms, markdown + goals_markdown(results, suite.end_tables()), json);
}
