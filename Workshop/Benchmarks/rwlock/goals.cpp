/* SPDX-License-Identifier: Apache-2.0
 *
 * The goals of ilk_rwlock, for two cores and the shortest critical section: its rate as a multiple of the
 * best parking peer's of the run. A peer whose slowest thread gets under a tenth of its fastest starves
 * threads, and does not count. Beside ck_brlock, which spins, starves and must be registered by hand, the
 * goal is to be level.
 */
#include "../runner/statistics.h"
#include "summary.h"

#include <algorithm>

namespace bench {

struct Goal {
    unsigned threads;
    double writes;
    Wanted ratio;
};

static const Goal goals[] = {
    {1, 0, 2.2}, {1, 0.01, 2.0}, {1, 0.1, 1.9}, {1, 1, 1.7}, {1, 10, 1.3}, {1, 50, 1.1},
    {2, 0, 13},  {2, 0.01, 10},  {2, 0.1, 8},   {2, 1, 3},   {2, 10, 1.0}, {2, 50, 1.0},
    {4, 0, 10},  {4, 0.01, 8},   {4, 0.1, 5},   {4, 1, 1.2}, {4, 10, 1.0}, {4, 50, 1.0},
    {8, 0, 8},   {8, 0.01, 6},   {8, 0.1, 3},   {8, 1, 1.2}, {8, 10, 1.0}, {8, 50, 1.0},
};
static const double fair_share = 0.1;
/* Level: not behind by more than rounds differ. */
static const double level = 0.97;

static const char *verdict(bool reached) {
    return reached ? "reached" : "**not reached**";
}

static std::string in_state(State state) {
    return std::string(" (") + to_text(state) + ")";
}

static std::string times(double ratio) {
    return digits(ratio) + "×";
}

static size_t index_of(const Results &results, const char *name) {
    size_t index = 0;
    while (index < results.contenders.size() && results.contenders[index].name != name) {
        ++index;
    }
    return index;
}

static const MixCell *cell_of(const Results &results, unsigned threads, double writes, double section_ns) {
    for (const MixCell &cell : results.mixes) {
        if (cell.mix.threads == threads && cell.mix.writes == writes && cell.mix.section_ns == section_ns) {
            return &cell;
        }
    }
    return nullptr;
}

static std::string throughput_goals(const Results &results, size_t ours, double section_ns, State state) {
    const size_t brlock = index_of(results, "ck_brlock");
    Table table({"threads, writes", "ilk_rwlock", "best fair parking peer", "its M/s", "ratio", "goal", "",
                 "to ck_brlock", "", "state"});
    unsigned reached = 0, total = 0;
    for (const Goal &goal : goals) {
        const MixCell *cell = cell_of(results, goal.threads, goal.writes, section_ns);
        if (cell == nullptr) {
            continue;
        }
        double mine = median(cell->outcomes[ours].rates), best = 0;
        size_t best_index = ours;
        for (size_t index = 0; index < results.contenders.size(); ++index) {
            const MixOutcome &outcome = cell->outcomes[index];
            if (index != ours && results.contenders[index].waiting == Waiting::parks &&
                !outcome.rates.empty() && median(outcome.shares) >= fair_share &&
                median(outcome.rates) > best) {
                best = median(outcome.rates);
                best_index = index;
            }
        }
        char label[40];
        std::snprintf(label, sizeof label, "%u, %g %%", goal.threads, goal.writes);
        std::vector<std::string> row{label, digits(mine)};
        const double wanted = goal.ratio.in(state);
        if (best > 0) {
            bool good = mine / best >= wanted;
            ++total;
            reached += good;
            row.insert(row.end(), {results.contenders[best_index].name, digits(best), times(mine / best),
                                   "≥ " + times(wanted), verdict(good)});
        } else {
            row.insert(row.end(), {"none", "–", "–", "≥ " + times(wanted), "–"});
        }
        bool compared =
            goal.threads <= 2 && brlock < results.contenders.size() && !cell->outcomes[brlock].rates.empty();
        if (compared) {
            double ratio = mine / median(cell->outcomes[brlock].rates);
            ++total;
            reached += ratio >= level;
            row.insert(row.end(), {times(ratio), verdict(ratio >= level)});
        } else {
            row.insert(row.end(), {"–", ""});
        }
        row.push_back(to_text(state));
        table.add(row);
    }
    return table.markdown() + "\n" + std::to_string(reached) + " of " + std::to_string(total) +
           " reached. Level with ck_brlock means at least " + times(level) + ".\n\n";
}

/* Reads only, one thread to two. */
static std::string scaling_goal(const Results &results, size_t ours, double section_ns, State state) {
    const MixCell *one = cell_of(results, 1, 0, section_ns), *two = cell_of(results, 2, 0, section_ns);
    if (one == nullptr || two == nullptr) {
        return "";
    }
    double ratio = median(two->outcomes[ours].rates) / median(one->outcomes[ours].rates);
    return "- Reads only, from 1 thread to 2: " + times(ratio) + "; goal ≥ 1.90×: " + verdict(ratio >= 1.9) +
           in_state(state) + "\n";
}

static std::string wait_goals(const Results &results, size_t ours, const States &states) {
    std::string text;
    for (const SiegeCell &cell : results.sieges) {
        if (!cell.siege.writer_waits) {
            continue;
        }
        double best = 0;
        std::string best_name;
        for (size_t index = 0; index < results.contenders.size(); ++index) {
            double wait = cell.outcomes[index].waits.quantile(0.999) / ticks_per_ns();
            if (index != ours && results.contenders[index].waiting == Waiting::parks && wait > 0 &&
                (best_name.empty() || wait < best)) {
                best = wait;
                best_name = results.contenders[index].name;
            }
        }
        if (best_name.empty()) {
            continue;
        }
        double mine = cell.outcomes[ours].waits.quantile(0.999) / ticks_per_ns();
        text += "- p99.9 of a writer's wait beside " + std::to_string(cell.siege.threads - 1) +
                " saturating readers: " + duration(mine) + "; best parking peer " + best_name + ": " +
                duration(best) + "; goal no worse: " + verdict(mine <= best) +
                in_state(states.of(table_title(cell.siege))) + "\n";
    }
    return text;
}

std::string goals_markdown(const Results &results, const States &states) {
    size_t ours = index_of(results, "ilk_rwlock");
    if (ours == results.contenders.size()) {
        return "";
    }
    std::string text = "## Goals\n\n";
    if (!results.mixes.empty()) {
        double section_ns = results.mixes.front().mix.section_ns;
        for (const MixCell &cell : results.mixes) {
            section_ns = std::min(section_ns, cell.mix.section_ns);
        }
        const State state = states.of(table_title(Mix{1, 0, section_ns}));
        text += throughput_goals(results, ours, section_ns, state) +
                scaling_goal(results, ours, section_ns, state);
    }
    return text + wait_goals(results, ours, states) + "\n";
}

} // namespace bench
