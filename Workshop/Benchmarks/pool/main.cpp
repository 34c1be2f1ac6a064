/* SPDX-License-Identifier: Apache-2.0
 *
 * The comparison of ilk_pool with libdispatch, oneTBB, rayon, std::async and a pool written by hand.
 */
#include "../runner/suite.h"
#include "summary.h"

#include <algorithm>
#include <random>

using namespace bench;

static const std::vector<Options::Flag> flags{
    {"--quick", "", "a coarse look: fewer rounds, jobs and timers"},
    {"--cells", "CELL,...", "submit, fork, loop, wake, idle, timer, memory (all)"},
    {"--threads", "N,...", "numbers of outside threads that submit (1,2)"},
    {"--jobs", "N", "empty jobs (100000)"},
    {"--fib", "N", "the number of fork and join (26)"},
    {"--timers", "N", "timers (100000)"},
    {"--lead", "MS", "from the first timer's setting to the first deadline (500)"},
    {"--rounds", "N", "rounds (15); every round runs every contender once, in a new order"},
};

int main(int count, char **arguments) {
    Suite suite(count, arguments,
                {"pool", "pool: worker pools side by side", "Worker pools",
                 " Threads are not pinned; each pool has as many as its library starts."},
                flags);
    const Options &options = suite.options;
    const bool quick = options.has("--quick");
    const auto rounds = static_cast<unsigned>(options.number("--rounds", quick ? 5 : 15));
    const auto lead_ns = static_cast<uint64_t>(options.number("--lead", quick ? 150 : 500) * 1e6);
    const std::vector<std::string> cells = options.texts("--cells");
    auto has = [&](const char *cell) {
        return cells.empty() || std::find(cells.begin(), cells.end(), cell) != cells.end();
    };

    PoolResults results;
    results.jobs = static_cast<uint64_t>(options.number("--jobs", quick ? 20000 : 100000));
    results.fibonacci_number = static_cast<unsigned>(options.number("--fib", quick ? 22 : 26));
    results.loop_count = 1000000;
    results.timer_count = static_cast<size_t>(options.number("--timers", quick ? 20000 : 100000));
    results.pools = suite.selected(pools());
    results.timers = suite.selected(timers());
    const std::vector<Pool> &all = results.pools;
    if ((all.empty() && results.timers.empty()) || rounds == 0) {
        fail("nothing to run");
    }
    if (has("memory")) { /* first: it forks */
        for (const Pool &pool : all) {
            results.memory.push_back(measure_memory(pool));
        }
    }

    const SliceTimes span{0, 0};
    if (has("submit")) {
        for (unsigned threads : options.counts("--threads", {1, 2})) {
            SubmitSection section{threads, {}};
            for (size_t index = 0; index < all.size(); ++index) {
                for (const Submission &submission : all[index].submissions) {
                    section.cells.push_back({index, submission, {}});
                }
            }
            suite.table(submit_title(threads));
            suite.turns.run(indices(section.cells.size()), rounds, span, [&](size_t index, uint64_t) {
                SubmitCell &cell = section.cells[index];
                return named(cell.submission.name, measure_submissions(all[cell.pool], cell.submission,
                                                                       threads, results.jobs, &cell.outcome));
            });
            results.submissions.push_back(std::move(section));
        }
    }
    if (has("fork")) {
        results.fibonacci.resize(all.size());
        suite.table(fork_title);
        suite.turns.run(indices(all.size()), rounds, span, [&](size_t index, uint64_t) {
            return all[index].fibonacci == nullptr
                       ? std::string()
                       : named(all[index].name, measure_fibonacci(all[index], results.fibonacci_number,
                                                                  &results.fibonacci[index]));
        });
    }
    for (int is_uneven = 0; is_uneven < 2 && has("loop"); ++is_uneven) {
        std::vector<SpanOutcome> &outcomes = results.loops[is_uneven];
        outcomes.resize(all.size() + 1);
        suite.table(loop_title(results.loop_count, is_uneven != 0));
        suite.turns.run(indices(all.size() + 1), rounds, span, [&](size_t index, uint64_t) {
            if (index == all.size()) {
                measure_serial_loop(results.loop_count, is_uneven != 0, &outcomes[index]);
                return std::string();
            }
            return all[index].loop == nullptr
                       ? std::string()
                       : named(all[index].name, measure_loop(all[index], results.loop_count, is_uneven != 0,
                                                             &outcomes[index]));
        });
    }
    if (has("wake")) {
        results.wakes.resize(all.size());
        suite.table(wake_title);
        suite.turns.run(indices(all.size()), rounds, span, [&](size_t index, uint64_t) {
            return named(all[index].name,
                         measure_wakes(all[index], quick ? 50 : 200, 1000000, &results.wakes[index]));
        });
    }
    if (has("idle")) {
        results.idling.resize(all.size());
        suite.table(idle_title);
        suite.turns.run(indices(all.size()), quick ? 1 : 3, span, [&](size_t index, uint64_t) {
            return named(all[index].name, measure_idling(all[index], &results.idling[index]));
        });
    }
    if (has("timer")) {
        results.timing.resize(results.timers.size());
        suite.table(timer_title(results.timer_count));
        suite.turns.run(indices(results.timers.size()), quick ? 3 : std::min(rounds, 9u), span,
                        [&](size_t index, uint64_t seed) {
                            std::mt19937_64 random(seed);
                            std::vector<uint64_t> delays_ns(results.timer_count);
                            for (uint64_t &delay_ns : delays_ns) {
                                delay_ns = random() % 1000000;
                            }
                            const Timers &timer = results.timers[index];
                            return named(timer.name,
                                         timer.measure(delays_ns, lead_ns, &results.timing[index]));
                        });
    }

    return suite.report(rounds, 0, to_markdown(results) + goals_markdown(results, suite.end_tables()),
                        to_json(results));
}
