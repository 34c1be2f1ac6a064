/* SPDX-License-Identifier: Apache-2.0
 *
 * The comparison of ilk_pool with libdispatch, oneTBB, rayon, std::async and a pool written by hand.
 */
#include "../runner/suite.h"
#include "../runner/urgent.h"
#include "summary.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
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
    {"--only", "NAME,...", "only contenders with one of these in their names"},
    {"--rounds", "N", "rounds (15); every round runs every contender once, in a new order"},
    {"--seed", "N", "seed of the orders (1)"},
    {"--urgent", "", "go before all other processes (root): for machines that are not idle"},
    {"--json", "FILE", "write everything there as JSON"},
};

static std::vector<size_t> indices(size_t count) {
    std::vector<size_t> list(count);
    std::iota(list.begin(), list.end(), size_t{0});
    return list;
}

static std::string named(const std::string &name, const std::string &fault) {
    return fault.empty() ? fault : name + ": " + fault;
}

int main(int count, char **arguments) {
    Options options(count, arguments, "pool: worker pools side by side", flags);
    const bool quick = options.has("--quick");
    const auto rounds = static_cast<unsigned>(options.number("--rounds", quick ? 5 : 15));
    const auto lead_ns = static_cast<uint64_t>(options.number("--lead", quick ? 150 : 500) * 1e6);
    const std::vector<std::string> cells = options.texts("--cells");
    auto has = [&](const char *cell) {
        return cells.empty() || std::find(cells.begin(), cells.end(), cell) != cells.end();
    };
    if (options.has("--urgent")) {
        become_urgent();
    }
    const Machine facts = machine();
    const Neighbours neighbours;

    PoolResults results;
    results.jobs = static_cast<uint64_t>(options.number("--jobs", quick ? 20000 : 100000));
    results.fibonacci_number = static_cast<unsigned>(options.number("--fib", quick ? 22 : 26));
    results.loop_count = 1000000;
    results.timer_count = static_cast<size_t>(options.number("--timers", quick ? 20000 : 100000));
    for (const Pool &pool : pools()) {
        if (options.selects(pool.name)) {
            results.pools.push_back(pool);
        }
    }
    for (const Timers &timer : timers()) {
        if (options.selects(timer.name)) {
            results.timers.push_back(timer);
        }
    }
    const std::vector<Pool> &all = results.pools;
    if ((all.empty() && results.timers.empty()) || rounds == 0) {
        std::fprintf(stderr, "error: nothing to run\n");
        return 2;
    }
    if (has("memory")) { /* first: it forks */
        for (const Pool &pool : all) {
            results.memory.push_back(measure_memory(pool));
        }
    }

    Rounds turns(static_cast<uint64_t>(options.number("--seed", 1)));
    const SliceTimes span{0, 0};
    if (has("submit")) {
        for (unsigned threads : options.counts("--threads", {1, 2})) {
            SubmitSection section{threads, {}};
            for (size_t index = 0; index < all.size(); ++index) {
                for (const Submission &submission : all[index].submissions) {
                    section.cells.push_back({index, submission, {}});
                }
            }
            turns.run(indices(section.cells.size()), rounds, span, [&](size_t index, uint64_t) {
                SubmitCell &cell = section.cells[index];
                return named(cell.submission.name, measure_submissions(all[cell.pool], cell.submission,
                                                                       threads, results.jobs, &cell.outcome));
            });
            results.submissions.push_back(std::move(section));
        }
    }
    if (has("fork")) {
        results.fibonacci.resize(all.size());
        turns.run(indices(all.size()), rounds, span, [&](size_t index, uint64_t) {
            return all[index].fibonacci == nullptr
                       ? std::string()
                       : named(all[index].name, measure_fibonacci(all[index], results.fibonacci_number,
                                                                  &results.fibonacci[index]));
        });
    }
    for (int is_uneven = 0; is_uneven < 2 && has("loop"); ++is_uneven) {
        std::vector<SpanOutcome> &outcomes = results.loops[is_uneven];
        outcomes.resize(all.size() + 1);
        turns.run(indices(all.size() + 1), rounds, span, [&](size_t index, uint64_t) {
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
        turns.run(indices(all.size()), rounds, span, [&](size_t index, uint64_t) {
            return named(all[index].name,
                         measure_wakes(all[index], quick ? 50 : 200, 1000000, &results.wakes[index]));
        });
    }
    if (has("idle")) {
        results.idling.resize(all.size());
        turns.run(indices(all.size()), quick ? 1 : 3, span, [&](size_t index, uint64_t) {
            return named(all[index].name, measure_idling(all[index], &results.idling[index]));
        });
    }
    if (has("timer")) {
        results.timing.resize(results.timers.size());
        turns.run(indices(results.timers.size()), quick ? 3 : std::min(rounds, 9u), span,
                  [&](size_t index, uint64_t seed) {
                      std::mt19937_64 random(seed);
                      std::vector<uint64_t> delays_ns(results.timer_count);
                      for (uint64_t &delay_ns : delays_ns) {
                          delay_ns = random() % 1000000;
                      }
                      const Timers &timer = results.timers[index];
                      return named(timer.name, timer.measure(delays_ns, lead_ns, &results.timing[index]));
                  });
    }

    return report({"pool", "Worker pools",
                   " Threads are not pinned; each pool has as many as its library starts.", options, facts,
                   rounds, 0, neighbours, turns},
                  to_markdown(results) + goals_markdown(results), to_json(results));
}
