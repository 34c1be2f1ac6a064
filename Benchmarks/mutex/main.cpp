/* SPDX-License-Identifier: Apache-2.0
 *
 * The comparison of ilk_mutex and ilk_semaphore with the C library's.
 */
#include "../runner/suite.h"
#include "../runner/urgent.h"
#include "summary.h"

#include <cstdio>
#include <numeric>

using namespace bench;

static const std::vector<Options::Flag> flags{
    {"--quick", "", "a coarse run: fewer cells, rounds and milliseconds"},
    {"--threads", "N,...", "numbers of threads (1,2,4,8)"},
    {"--section", "NS,...", "lengths of the critical section (2,50)"},
    {"--only", "NAME,...", "only contenders with one of these in their names"},
    {"--rounds", "N", "rounds (7); every round runs every contender once, in a new order"},
    {"--slice", "MS", "how long a contender is measured in a round (40)"},
    {"--seed", "N", "seed of the orders (1)"},
    {"--urgent", "", "go before all other processes (root): for machines that are not idle"},
    {"--json", "FILE", "write everything there as JSON"},
};

static std::vector<size_t> indices(size_t count) {
    std::vector<size_t> list(count);
    std::iota(list.begin(), list.end(), size_t{0});
    return list;
}

int main(int count, char **arguments) {
    Options options(count, arguments, "mutex: mutexes and semaphores side by side", flags);
    const bool quick = options.has("--quick");
    const auto threads = options.counts("--threads", quick ? std::vector<unsigned>{1, 2, 4}
                                                           : std::vector<unsigned>{1, 2, 4, 8});
    const auto sections = options.numbers("--section", {2, 50});
    const auto rounds = static_cast<unsigned>(options.number("--rounds", quick ? 3 : 7));
    const double slice_ms = options.number("--slice", quick ? 12 : 40);
    const SliceTimes times{static_cast<uint64_t>(slice_ms * 1e6 / 8), static_cast<uint64_t>(slice_ms * 1e6)};
    if (options.has("--urgent")) {
        become_urgent();
    }
    const Machine facts = machine();
    const Neighbours neighbours;

    MutexResults results;
    for (const Contender &lock : contenders()) {
        if (options.selects(lock.name)) {
            results.locks.push_back(lock);
        }
    }
    for (const Baton &baton : batons()) {
        if (options.selects(baton.name)) {
            results.batons.push_back(baton);
        }
    }
    if (results.locks.empty() || rounds == 0 || slice_ms <= 0) {
        std::fprintf(stderr, "error: nothing to run\n");
        return 2;
    }
    for (double section : sections) {
        for (unsigned thread_count : threads) {
            results.contention.push_back(
                {{thread_count, 100, section}, std::vector<MixOutcome>(results.locks.size())});
        }
    }
    for (unsigned thread_count : threads) {
        if (thread_count > 1) {
            results.waits.push_back(
                {{thread_count, true, 50, 1000}, std::vector<SiegeOutcome>(results.locks.size())});
        }
    }
    results.trips.resize(results.batons.size());

    Rounds turns(static_cast<uint64_t>(options.number("--seed", 1)));
    const std::vector<size_t> locks = indices(results.locks.size()),
                              all_batons = indices(results.batons.size());
    turns.expect(static_cast<unsigned>((results.contention.size() + results.waits.size()) * locks.size() +
                                       all_batons.size()) *
                     rounds,
                 times);
    auto run = [&](auto &cells, const auto &setting_of) {
        for (auto &cell : cells) {
            turns.run(locks, rounds, times, [&](size_t index, uint64_t seed) {
                std::string fault =
                    measure(results.locks[index], setting_of(cell), times, seed, cell.outcomes[index]);
                return fault.empty() ? fault : results.locks[index].name + ": " + fault;
            });
        }
    };
    run(results.contention, [](const ContentionCell &cell) { return cell.mix; });
    run(results.waits, [](const WaitCell &cell) { return cell.siege; });
    turns.run(all_batons, rounds, times, [&](size_t index, uint64_t) {
        SliceResult slice;
        std::string fault = results.batons[index].measure(times, &results.trips[index], &slice);
        return fault.empty() ? fault : results.batons[index].name + ": " + fault;
    });

    return report(
        {"mutex", "Mutexes and semaphores", "", options, facts, rounds, slice_ms, neighbours, turns},
        to_markdown(results) + goals_markdown(results), to_json(results));
}
