/* SPDX-License-Identifier: Apache-2.0
 *
 * The goals of the rings, for two cores and elements of 8 bytes: the ratio to a peer's figure, or to our own
 * with another transfer of elements, of one run.
 */
#include "../runner/statistics.h"
#include "summary.h"

#include <cmath>

namespace bench {

namespace {

/* Round by round: between two rounds the trip of a cache line may come to take five times as long. */
double median_ratio(const std::vector<double> &ours, const std::vector<double> &theirs) {
    std::vector<double> ratios;
    for (size_t round = 0; round < std::min(ours.size(), theirs.size()); ++round) {
        ratios.push_back(ours[round] / theirs[round]);
    }
    return median(ratios);
}

class Goals {
  public:
    Goals(const RingResults &results, const States &states)
        : results_(results), states_(states),
          table_({"goal", "ours", "compared with", "its figure", "ratio", "goal", "", "state"}) {}

    /* In which a cell was measured. */
    template <class Any> State state(const Any *cell) const {
        return cell == nullptr ? State::unknown : states_.of(table_title(cell->setting));
    }

    const FlowCell *cell(Transfer transfer, unsigned producers, unsigned consumers, size_t capacity) const {
        for (const FlowCell &cell : results_.flows) {
            const Flow &flow = cell.setting;
            if (flow.transfer == transfer && flow.producers == producers && flow.consumers == consumers &&
                flow.capacity == capacity && element_sizes[flow.element] == 8) {
                return &cell;
            }
        }
        return nullptr;
    }

    /* That contender's rates, one a round; none if it has none here. */
    std::vector<double> rates(const FlowCell *cell, const std::string &name) const {
        for (size_t index = 0; cell != nullptr && index < cell->outcomes.size(); ++index) {
            if (results_.contenders[index].name == name && !cell->outcomes[index].rates.empty()) {
                return cell->outcomes[index].rates;
            }
        }
        return {};
    }

    /* The fastest peer that `counts`. */
    template <class Counts> std::string best(const FlowCell *cell, Counts counts) const {
        std::pair<std::string, double> best{"", 0};
        for (size_t index = 0; cell != nullptr && index < cell->outcomes.size(); ++index) {
            const RingContender &contender = results_.contenders[index];
            double rate = median(cell->outcomes[index].rates);
            if (contender.name.rfind("ilk_", 0) != 0 && counts(contender) && rate > best.second) {
                best = {contender.name, rate};
            }
        }
        return best.first;
    }

    void judge(const std::string &what, const FlowCell *cell, const std::string &ours,
               const std::string &peer, Wanted goal) {
        judge(what, rates(cell, ours), peer, rates(cell, peer),
              median_ratio(rates(cell, ours), rates(cell, peer)), goal, state(cell));
    }
    void judge(const std::string &what, const std::vector<double> &ours, const std::string &other,
               const std::vector<double> &theirs, double ratio, Wanted goal, State state) {
        if (!ours.empty() && !theirs.empty()) {
            const double wanted = goal.in(state);
            add(what, digits(median(ours)), other, digits(median(theirs)), digits(ratio) + "×",
                "≥ " + digits(wanted) + "×", ratio >= wanted, state);
        }
    }

    void add(const std::string &what, const std::string &ours, const std::string &peer,
             const std::string &theirs, const std::string &ratio, const std::string &goal, bool good,
             State state) {
        ++total_;
        reached_ += good;
        table_.add(
            {what, ours, peer, theirs, ratio, goal, good ? "reached" : "**not reached**", to_text(state)});
    }

    std::string markdown() const {
        return total_ == 0
                   ? ""
                   : "## Goals\n\nElements of 8 bytes, figures in million a second unless a unit stands "
                     "with them. Within one table ratios are medians of the rounds' own.\n\n" +
                         table_.markdown() + "\n" + std::to_string(reached_) + " of " +
                         std::to_string(total_) + " reached.\n";
    }

  private:
    const RingResults &results_;
    const States &states_;
    Table table_;
    unsigned reached_ = 0, total_ = 0;
};

bool any(const RingContender &) {
    return true;
}
bool many_and_bounded(const RingContender &contender) {
    return contender.sides == Sides::many && contender.bounded;
}

void single_goals(Goals &goals) {
    for (auto [capacity, goal] : {std::pair<size_t, double>{1024, 1.6}, {65536, 1.1}}) {
        const FlowCell *cell = goals.cell(trying, 1, 1, capacity);
        goals.judge("ilk_spsc, try, capacity " + std::to_string(capacity), cell, "ilk_spsc",
                    goals.best(cell, any), goal);
    }
    const FlowCell *many = goals.cell(batch_64, 1, 1, 1024);
    const std::vector<double> batches = goals.rates(many, "ilk_spsc");
    const FlowCell *one = goals.cell(trying, 1, 1, 1024);
    const std::vector<double> singles = goals.rates(one, "ilk_spsc");
    goals.judge("ilk_spsc, batches of 64", batches, "ilk_spsc, try", singles,
                median(batches) / median(singles), 3.5, together(goals.state(many), goals.state(one)));
    goals.judge("ilk_spsc, batches of 64", many, "ilk_spsc", "rte_ring SP/SC", 1.2);
    goals.judge("ilk_spsc, blocking", goals.cell(blocking, 1, 1, 1024), "ilk_spsc",
                "moodycamel blocking buffer", 5);
}

void many_goals(Goals &goals) {
    for (auto [threads, goal] : {std::pair<unsigned, double>{1, 4}, {2, 3}}) {
        const FlowCell *cell = goals.cell(trying, threads, threads, 1024);
        goals.judge("ilk_mpmc, try, " + std::to_string(threads) + "P" + std::to_string(threads) + "C", cell,
                    "ilk_mpmc", goals.best(cell, many_and_bounded), goal);
    }
    for (auto [producers, consumers] : {std::pair<unsigned, unsigned>{4, 4}, {8, 1}, {1, 8}}) {
        const FlowCell *cell = goals.cell(blocking, producers, consumers, 1024);
        goals.judge("ilk_mpmc, blocking, " + std::to_string(producers) + "P" + std::to_string(consumers) +
                        "C",
                    cell, "ilk_mpmc", goals.best(cell, many_and_bounded), 2);
    }
}

/* At every setting: the worst one is reported. */
void mutex_goal(Goals &goals, const RingResults &results) {
    const std::string mutex_ring = "mutex and condition";
    double worst = INFINITY;
    const FlowCell *where = nullptr;
    for (const FlowCell &cell : results.flows) {
        const std::vector<double> ours = goals.rates(&cell, "ilk_mpmc"),
                                  theirs = goals.rates(&cell, mutex_ring);
        if (!ours.empty() && !theirs.empty() && median_ratio(ours, theirs) < worst) {
            worst = median_ratio(ours, theirs);
            where = &cell;
        }
    }
    if (where != nullptr) {
        goals.judge("ilk_mpmc at its worst: " + std::string(to_text(where->setting.transfer)) + ", " +
                        shape_text(where->setting) + ", " +
                        std::to_string(element_sizes[where->setting.element]) + " B, capacity " +
                        std::to_string(where->setting.capacity),
                    where, "ilk_mpmc", mutex_ring, 1);
    }
}

void trip_goals(Goals &goals, const RingResults &results) {
    for (const TripCell &cell : results.trips) {
        const TripOutcome *ours = nullptr, *best = nullptr;
        std::string own_name, best_name;
        for (size_t index = 0; index < results.contenders.size(); ++index) {
            const TripOutcome &outcome = cell.outcomes[index];
            const std::string &name = results.contenders[index].name;
            if (outcome.medians.empty()) {
                continue;
            }
            if (name.rfind("ilk_", 0) == 0) {
                ours = &outcome;
                own_name = name;
            } else if (best == nullptr || median(outcome.medians) < median(best->medians)) {
                best = &outcome;
                best_name = name;
            }
        }
        if (ours != nullptr && best != nullptr) {
            const double ratio = median_ratio(ours->medians, best->medians);
            auto trip = [](const TripOutcome *outcome) {
                return duration(median(outcome->medians) / ticks_per_ns());
            };
            /* One bucket of the histogram, 6 %, is level. */
            goals.add(own_name + ", round trip, " + to_text(cell.setting.transfer) + ", p50", trip(ours),
                      best_name, trip(best), digits(ratio) + "×", "≤ 1.06×", ratio <= 1.065,
                      goals.state(&cell));
        }
    }
}

void idle_goals(Goals &goals, const RingResults &results) {
    for (const IdleCell &cell : results.idles) {
        for (size_t index = 0; cell.setting.wait == Wait::for_nothing && index < results.contenders.size();
             ++index) {
            const std::string &name = results.contenders[index].name;
            if (name.rfind("ilk_", 0) == 0 && !cell.outcomes[index].cpu.empty()) {
                double cpu = median(cell.outcomes[index].cpu) * 100;
                goals.add(name + ", idle: CPU", digits(cpu) + " %", "–", "–", "–", "≤ 0.1 %", cpu <= 0.1,
                          goals.state(&cell));
            }
        }
    }
}

} // namespace

std::string goals_markdown(const RingResults &results, const States &states) {
    Goals goals(results, states);
    single_goals(goals);
    many_goals(goals);
    mutex_goal(goals, results);
    trip_goals(goals, results);
    idle_goals(goals, results);
    return goals.markdown();
}

} // namespace bench
