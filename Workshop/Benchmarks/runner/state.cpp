/* SPDX-License-Identifier: Apache-2.0
 *
 * The thresholds, each with the figures it comes from: two virtual cores of an AMD EPYC (Zen 4), 2026-11-23. See
 * state.h.
 */
#include "state.h"

#include <algorithm>

namespace bench {

namespace {

/* Of the best of the run. Beside a busy neighbour on the physical core additions come to 0.54 to 0.67 (7.8 to 9.5 of
 * 14.3 a ns), the rate of read-modify-writes to 0.68 to 0.77 (1.7 ns, and 2.2 to 2.5). Alone the median repetition
 * stays at 0.99 and 0.87. */
const double least_of_best = 0.8;

/* Times the best of the run. Calm line trips take 55 to 80 ns, which is 1.45 times; others up to 400. */
const double most_of_best_trip = 1.5;

/* In read-modify-writes of one core: 28 to 44 where line trips are calm, up to 200 where the two cores are far apart
 * for the whole run. */
const double most_locked_a_trip = 60;

/* Cores: from there on figures move by more than their rounds (bench_table.py has the same limit). */
const double most_cores = 0.05;

/* /proc/stat counts ticks of 10 ms: one may be missing at the beginning, one at the end. */
const double uncertain_s = 0.02;

/* Of the time of the probing thread, which no other thread of the machine should have. */
const double least_share = 1 - most_cores;

#if defined(__x86_64__)
/* A step of work takes four cycles (a multiplication and an addition), in which a core of 2013 (Haswell) or later
 * has 16 independent additions done alone (15.5 measured), beside a neighbour 8.7 to 10.3. This tells a neighbour that
 * stays for the whole run. */
const double least_additions_per_step = 13;
#else
const double least_additions_per_step = 0; /* cores differ more: the best of the run decides */
#endif

std::string percent(double share) {
    return digits(share * 100) + " %";
}

} // namespace

const char *to_text(State state) {
    switch (state) {
    case State::unknown:
        return "unknown";
    case State::quiet:
        return "quiet";
    case State::shared:
        return "shared";
    case State::changed:
        return "changed";
    }
    return "";
}

static double lesser(double one, double other) {
    return one > 0 && (other <= 0 || one < other) ? one : other;
}

void Best::see(const Best &other) {
    additions_per_ns = std::max(additions_per_ns, other.additions_per_ns);
    locked_ns = lesser(other.locked_ns, locked_ns);
    trip_ns = lesser(other.trip_ns, trip_ns);
}

void Best::see(const Figures &figures) {
    see(Best{figures.additions_per_ns.best, figures.locked_ns.best, figures.trip_ns.best});
}

std::vector<std::string> reasons(const Figures &figures, const Best &best) {
    std::vector<std::string> list;
    const double allowed = most_cores + (figures.watched_s > 0 ? uncertain_s / figures.watched_s : 0);
    if (figures.stolen_cores > allowed) {
        list.push_back("the host took " + digits(figures.stolen_cores) + " cores");
    }
    if (figures.others_cores > allowed) {
        list.push_back("other processes used " + digits(figures.others_cores) + " cores");
    }
    if (figures.core_share < least_share) {
        list.push_back("the probe had a core for " + percent(figures.core_share) + " of the time");
    }
    if (figures.additions_per_ns.usual < least_of_best * best.additions_per_ns) {
        list.push_back("additions run at " + digits(figures.additions_per_ns.usual) + " a ns, " +
                       digits(best.additions_per_ns) + " at best");
    }
    if (figures.additions_per_step < least_additions_per_step) {
        list.push_back(digits(figures.additions_per_step) +
                       " additions run beside a step of work, alone at least " +
                       digits(least_additions_per_step));
    }
    if (best.locked_ns < least_of_best * figures.locked_ns.usual) {
        list.push_back("a read-modify-write takes " + digits(figures.locked_ns.usual) + " ns, " +
                       digits(best.locked_ns) + " at best");
    }
    if (figures.trip_ns.usual > most_of_best_trip * best.trip_ns) {
        list.push_back("a line trip takes " + duration(figures.trip_ns.usual) + ", " +
                       duration(best.trip_ns) + " at best");
    } else if (figures.trip_ns.usual > most_locked_a_trip * best.locked_ns) {
        list.push_back("a line trip takes " + duration(figures.trip_ns.usual) + ", that of " +
                       digits(figures.trip_ns.usual / best.locked_ns) + " read-modify-writes");
    }
    return list;
}

State judge(const Figures &figures, const Best &best) {
    return reasons(figures, best).empty() ? State::quiet : State::shared;
}

State together(State one, State other) {
    if (one == State::unknown || one == other) {
        return other;
    }
    return other == State::unknown ? one : State::changed;
}

std::string to_text(const Figures &figures, const Best &best) {
    std::string why;
    for (const std::string &reason : reasons(figures, best)) {
        why += (why.empty() ? " (" : "; ") + reason;
    }
    std::string text = to_text(judge(figures, best)) + why + (why.empty() ? "" : ")") + ". " +
                       digits(figures.additions_per_ns.usual) + " additions a ns, a read-modify-write " +
                       digits(figures.locked_ns.usual) + " ns";
    if (figures.trip_ns.usual > 0) {
        text += ", a line trip " + duration(figures.trip_ns.usual);
    }
    return text + "; other processes " + digits(figures.others_cores) + " cores.";
}

Json to_json(const Figures &figures, const Best &best) {
    std::vector<Json> why;
    for (const std::string &reason : reasons(figures, best)) {
        why.push_back(reason);
    }
    return Json::object({{"state", to_text(judge(figures, best))},
                         {"reasons", Json::array(why)},
                         {"additions_per_ns", figures.additions_per_ns.usual},
                         {"additions_per_ns_best", figures.additions_per_ns.best},
                         {"additions_per_step", figures.additions_per_step},
                         {"locked_ns", figures.locked_ns.usual},
                         {"locked_ns_best", figures.locked_ns.best},
                         {"line_trip_ns", figures.trip_ns.usual},
                         {"line_trip_ns_best", figures.trip_ns.best},
                         {"core_share", figures.core_share},
                         {"cores_used_by_others", figures.others_cores},
                         {"cores_stolen", figures.stolen_cores},
                         {"watched_s", figures.watched_s}});
}

} // namespace bench
