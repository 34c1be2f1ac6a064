/* SPDX-License-Identifier: Apache-2.0
 *
 * The comparison of reader–writer locks: ilk_rwlock and its peers, in turns, on the same work.
 */
#include "../runner/suite.h"
#include "../runner/urgent.h"
#include "summary.h"

#include <cstdio>
#include <numeric>

using namespace bench;

static const std::vector<Options::Flag> flags{
    {"--quick", "", "a coarse run of half a minute: fewer cells, rounds and milliseconds"},
    {"--threads", "N,...", "numbers of threads (1,2,4,8)"},
    {"--writes", "PERCENT,...", "shares of writes (0,0.01,0.1,1,10,50,100)"},
    {"--section", "NS,...", "lengths of the critical section (2,50,500); 2 is two words and nothing else"},
    {"--only", "NAME,...", "only contenders with one of these in their names"},
    {"--rounds", "N", "rounds (7); every round runs every contender once, in a new order"},
    {"--slice", "MS", "how long a contender is measured in a round (40)"},
    {"--no-mix", "", "leave the throughput out"},
    {"--no-waits", "", "leave the waits out"},
    {"--seed", "N", "seed of the orders and of the mixes (1)"},
    {"--urgent", "", "go before all other processes (root): for machines that are not idle"},
    {"--json", "FILE", "write everything there as JSON"},
};

int main(int count, char **arguments) {
    Options options(count, arguments, "rwlock: reader–writer locks side by side", flags);
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
    const SliceTimes times{static_cast<uint64_t>(slice_ms * 1e6 / 8), static_cast<uint64_t>(slice_ms * 1e6)};
    if (options.has("--urgent")) {
        become_urgent();
    }
    const Machine facts = machine();
    const Neighbours neighbours;

    Results results;
    for (const Contender &contender : contenders()) {
        if (options.selects(contender.name)) {
            results.contenders.push_back(contender);
        }
    }
    if (results.contenders.empty() || rounds == 0 || slice_ms <= 0) {
        std::fprintf(stderr, "error: nothing to run\n");
        return 2;
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

    Rounds turns(static_cast<uint64_t>(options.number("--seed", 1)));
    std::vector<size_t> everyone(results.contenders.size());
    std::iota(everyone.begin(), everyone.end(), size_t{0});
    turns.expect(
        static_cast<unsigned>((results.mixes.size() + results.sieges.size()) * everyone.size() * rounds),
        times);
    auto run = [&](auto &cells, const auto &setting_of) {
        for (auto &cell : cells) {
            turns.run(everyone, rounds, times, [&](size_t index, uint64_t seed) {
                std::string fault =
                    measure(results.contenders[index], setting_of(cell), times, seed, cell.outcomes[index]);
                return fault.empty() ? fault : results.contenders[index].name + ": " + fault;
            });
        }
    };
    run(results.mixes, [](const MixCell &cell) { return cell.mix; });
    run(results.sieges, [](const SiegeCell &cell) { return cell.siege; });

    return report({"rwlock", "Reader–writer locks", " Work: lock, read or write two words, unlock.", options,
                   facts, rounds, slice_ms, neighbours, turns},
                  to_markdown(results) + goals_markdown(results), to_json(results));
}
