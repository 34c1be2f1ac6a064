/* SPDX-License-Identifier: Apache-2.0
 *
 * The comparison of ilk_mutex and ilk_semaphore with the C library's.
 */
#include "../runner/suite.h"
#include "../rwlock/instructions.h"
#include "summary.h"

using namespace bench;

static const std::vector<Options::Flag> flags{
    {"--quick", "", "a coarse run: fewer cells, rounds and milliseconds"},
    {"--threads", "N,...", "numbers of threads (1,2,4,8)"},
    {"--section", "NS,...", "lengths of the critical section (2,50)"},
    {"--rounds", "N", "rounds (7); every round runs every contender once, in a new order"},
    {"--slice", "MS", "how long a contender is measured in a round (40)"},
    instructions_flag,
    no_instructions_flag,
};

int main(int count, char **arguments) {
    Suite suite(count, arguments,
                {"mutex", "mutex: mutexes and semaphores side by side", "Mutexes and semaphores", ""}, flags);
    const Options &options = suite.options;
    const bool quick = options.has("--quick");
    const auto threads = options.counts("--threads", quick ? std::vector<unsigned>{1, 2, 4}
                                                           : std::vector<unsigned>{1, 2, 4, 8});
    const auto sections = options.numbers("--section", {2, 50});
    const auto rounds = static_cast<unsigned>(options.number("--rounds", quick ? 3 : 7));
    const double slice_ms = options.number("--slice", quick ? 12 : 40);
    const SliceTimes times = slice_of(slice_ms);

    MutexResults results;
    results.locks = suite.selected(contenders());
    results.batons = suite.selected(batons());
    if (results.locks.empty() || rounds == 0 || slice_ms <= 0) {
        fail("nothing to run");
    }
    if (suite.counts_instructions()) {
        results.costs = count_lock_instructions(results.locks);
    }
    if (options.has("--instructions")) {
        return suite.report(0, 0, to_markdown(results.costs, "lock"), to_json(results));
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

    const std::vector<size_t> locks = indices(results.locks.size()),
                              all_batons = indices(results.batons.size());
    suite.turns.expect(
        static_cast<unsigned>((results.contention.size() + results.waits.size()) * locks.size() +
                              all_batons.size()) *
            rounds,
        times);
    auto run = [&](auto &cells, const auto &setting_of, const auto &title_of) {
        for (auto &cell : cells) {
            suite.table(title_of(cell));
            suite.turns.run(locks, rounds, times, [&](size_t index, uint64_t seed) {
                const Contender &lock = results.locks[index];
                return named(lock.name, measure(lock, setting_of(cell), times, seed, cell.outcomes[index]));
            });
        }
    };
    run(
        results.contention, [](const ContentionCell &cell) { return cell.mix; },
        [](const ContentionCell &) { return contention_title; });
    run(
        results.waits, [](const WaitCell &cell) { return cell.siege; },
        [](const WaitCell &cell) { return waits_title(cell.siege); });
    suite.table(trips_title);
    suite.turns.run(all_batons, rounds, times, [&](size_t index, uint64_t) {
        SliceResult slice;
        const Baton &baton = results.batons[index];
        return named(baton.name, baton.measure(times, &results.trips[index], &slice));
    });

    return suite.report(rounds, slice_ms,
                        to_markdown(results) + to_markdown(results.costs, "lock") +
                            goals_markdown(results, suite.end_tables()),
                        to_json(results));
}
