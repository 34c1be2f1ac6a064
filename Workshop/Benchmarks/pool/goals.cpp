/* SPDX-License-Identifier: Apache-2.0
 *
 * The goals of the pool, cell by cell: ours against the rivals' best.
 */
#include "../runner/statistics.h"
#include "summary.h"

namespace bench {

namespace {

/* Rounds differ by so much: not behind by more is level. */
const double level = 0.97;

struct Rival {
    std::string name;
    double ns;
};

class Goals {
  public:
    /* How many times as fast as the best of `rivals` ours is, against the goal. */
    void judge(const std::string &cell, double ours, const std::vector<Rival> &rivals, Wanted goal,
               State state) {
        const Rival *best = nullptr;
        for (const Rival &rival : rivals) {
            if (rival.ns > 0 && (best == nullptr || rival.ns < best->ns)) {
                best = &rival;
            }
        }
        if (best == nullptr || !(ours > 0)) {
            return;
        }
        const double wanted = goal.in(state);
        const bool is_reached = best->ns / ours >= wanted;
        ++total_;
        reached_ += is_reached;
        table_.add({cell, duration(ours), best->name, duration(best->ns), digits(best->ns / ours) + "×",
                    "≥ " + digits(wanted) + "×", is_reached ? "reached" : "**not reached**", to_text(state)});
    }
    /* A bound that is no rival's. */
    void judge_bound(const std::string &cell, double ours_ns, double bound_ns, State state) {
        const bool is_reached = ours_ns <= bound_ns;
        ++total_;
        reached_ += is_reached;
        table_.add({cell, duration(ours_ns), "", "", "", "≤ " + duration(bound_ns),
                    is_reached ? "reached" : "**not reached**", to_text(state)});
    }
    std::string markdown() const {
        return total_ == 0 ? ""
                           : "## Goals\n\n" + table_.markdown() + "\n" + std::to_string(reached_) + " of " +
                                 std::to_string(total_) + " reached.\n";
    }

  private:
    Table table_{{"cell", "ilk_pool", "best of", "its time", "ratio", "goal", "", "state"}};
    unsigned reached_ = 0, total_ = 0;
};

} // namespace

std::string goals_markdown(const PoolResults &results, const States &states) {
    if (results.pools.empty() || results.pools.front().name != "ilk_pool") {
        return "";
    }
    Goals goals;
    for (const SubmitSection &section : results.submissions) {
        std::vector<Rival> dispatch, others;
        for (const SubmitCell &cell : section.cells) {
            if (cell.pool != 0) {
                const bool is_dispatch = results.pools[cell.pool].name == "libdispatch";
                (is_dispatch ? dispatch : others)
                    .push_back({cell.submission.name, median(cell.outcome.job_ns)});
            }
        }
        const double ours = median(section.cells.front().outcome.job_ns);
        const std::string name = "empty jobs, " + std::to_string(section.threads) + " outside";
        const State state = states.of(submit_title(section.threads));
        goals.judge(name, ours, dispatch, 5, state);
        goals.judge(name, ours, others, 1.5, state);
    }
    auto judge_spans = [&](const std::string &name, const std::vector<SpanOutcome> &outcomes,
                           const std::string &title) {
        std::vector<Rival> rivals;
        for (size_t index = 1; !outcomes.empty() && index < results.pools.size(); ++index) {
            rivals.push_back({results.pools[index].name, median(outcomes[index].ns)});
        }
        if (!outcomes.empty()) {
            goals.judge(name, median(outcomes.front().ns), rivals, level, states.of(title));
        }
    };
    judge_spans("fork and join", results.fibonacci, fork_title);
    judge_spans("loop, even", results.loops[0], loop_title(results.loop_count, false));
    judge_spans("loop, uneven", results.loops[1], loop_title(results.loop_count, true));
    for (double share : {0.5, 0.99}) {
        std::vector<Rival> rivals;
        for (size_t index = 1; !results.wakes.empty() && index < results.pools.size(); ++index) {
            rivals.push_back(
                {results.pools[index].name, results.wakes[index].waits.quantile(share) / ticks_per_ns()});
        }
        if (!results.wakes.empty()) {
            goals.judge(share < 0.9 ? "wake-up, p50" : "wake-up, p99",
                        results.wakes.front().waits.quantile(share) / ticks_per_ns(), rivals, level,
                        states.of(wake_title));
        }
    }
    if (!results.idling.empty()) {
        goals.judge_bound("CPU in an idle second", median(results.idling.front().cpu_us) * 1e3, 1e6,
                          states.of(idle_title));
    }
    if (!results.timing.empty()) {
        std::vector<Rival> set, cancelled, fired;
        for (size_t index = 1; index < results.timers.size(); ++index) {
            const std::string &name = results.timers[index].name;
            set.push_back({name, median(results.timing[index].set)});
            cancelled.push_back({name, median(results.timing[index].cancelled)});
            fired.push_back({name, median(results.timing[index].fired)});
        }
        const TimerOutcome &ours = results.timing.front();
        const State state = states.of(timer_title(results.timer_count));
        goals.judge("timers, set", median(ours.set), set, level, state);
        goals.judge("timers, cancel", median(ours.cancelled), cancelled, level, state);
        goals.judge("timers, fire", median(ours.fired), fired, level, state);
    }
    return goals.markdown();
}

} // namespace bench
