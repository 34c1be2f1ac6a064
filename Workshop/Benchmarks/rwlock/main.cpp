/* SPDX-License-Identifier: Apache-2.0
 *
 * The comparison of ilk_rwlock and its peers.
 */
#include "../runner/suite.h"
#include "instructions.h"
#include "summary.h"

using namespace bench;

static const std::vector<Options::Flag> flags{
    {"--quick", "", "a coarse run of half a minute: fewer cells, rounds and milliseconds"},
    {"--threads", "N,...", "numbers of threads (1,2,4,8)"},
    {"--writes", "PERCENT,...", "shares of writes (0,0.01,0.1,1,10,50,100)"},
    {"--section", "NS,...", "lengths of the critical section (2,50,500); 2 is two words and nothing else"},
    {"--rounds", "N", "rounds (7); every round runs every contender once, in a new order"},
    {"--slice", "MS", "how long a contender is measured in a round (40)"},
    {"--no-mix", "", "leave the throughput out"},
    {"--no-waits", "", "leave the waits out"},
    instructions_flag,
    no_instructions_flag,
};

int main(int count, char **arguments) {
    Suite suite(count, arguments,
                {"rwlock", "rwlock: reader–writer locks side by side", "Reader–writer locks",
                 " Work: lock, read or write two words, unlock."},
                flags);
    const Options &options = suite.options;
    const bool quick = options.has("--quick");
    const auto threads = options.counts("--threads", quick ? std::vector<unsigned>{1, 2, 4}
                                                           : std::vector<unsigned>{1, 2, 4, 8});
    const auto writes =
        options.numbers("--writes", quick ? std::vector<double>{0, 0.1, 1, 10, 50}
                                          : std::vector<double>{0, 0.01, 0.1, 1, 10, 50, 100});
    const auto sections =
        options.numbers("--section", quick ? std::vector<double>{2} : std::vector<double>{2, 50, 500});
    const auto rounds = static_cast<unsigned>(options.number("--rounds", quick ? 3 : 7));
    const double slice_ms = options.number("--slice", quick ? 12 : 40);
    const SliceTimes times = slice_of(slice_ms);

    Results results;
    results.contenders = suite.selected(contenders());
    if (results.contenders.empty() || rounds == 0 || slice_ms <= 0) {
        fail("nothing to run");
    }
    if (suite.counts_instructions()) {
        results.costs = count_instructions(results.contenders);
    }
    if (options.has("--instructions")) {
        return suite.report(0, 0, to_markdown(results.costs, "lock"), to_json(results));
    }
    if (!options.has("--no-mix")) {
        for (double section : sections) {
            for (unsigned thread_count : threads) {
                for (double share : writes) {
                    results.mixes.push_back(
                        {{thread_count, share, section}, std::vector<MixOutcome>(results.contenders.size())});
                }
            }
        }
    }
    if (!options.has("--no-waits")) {
        for (bool writer_waits : {true, false}) {
            for (unsigned thread_count : threads) {
                if (thread_count > 1) {
                    results.sieges.push_back({{thread_count, writer_waits, 50, 1000},
                                              std::vector<SiegeOutcome>(results.contenders.size())});
                }
            }
        }
    }

    const std::vector<size_t> everyone = indices(results.contenders.size());
    suite.turns.expect(
        static_cast<unsigned>((results.mixes.size() + results.sieges.size()) * everyone.size() * rounds),
        times);
    auto run = [&](auto &cells, const auto &setting_of) {
        for (auto &cell : cells) {
            suite.table(table_title(setting_of(cell)));
            suite.turns.run(everyone, rounds, times, [&](size_t index, uint64_t seed) {
                const Contender &lock = results.contenders[index];
                return named(lock.name, measure(lock, setting_of(cell), times, seed, cell.outcomes[index]));
            });
        }
    };
    run(results.mixes, [](const MixCell &cell) { return cell.mix; });
    run(results.sieges, [](const SiegeCell &cell) { return cell.siege; });

    return suite.report(rounds, slice_ms,
                        to_markdown(results) + to_markdown(results.costs, "lock") +
                            goals_markdown(results, suite.end_tables()),
                        to_json(results));
}
