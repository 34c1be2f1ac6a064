/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables, goals and JSON of the mutex and the semaphore.
 */
#include "summary.h"

#include "../runner/statistics.h"

#include <cmath>

namespace bench {

const std::string contention_title = "Throughput", trips_title = "Round trip of a baton between two threads";

std::string waits_title(const Siege &siege) {
    return "Waits of one thread beside " + std::to_string(siege.threads - 1) +
           " that saturate the lock, sections of " + digits(siege.section_ns) + " ns";
}

static std::string label(const Mix &mix) {
    return std::to_string(mix.threads) + ", " + digits(mix.section_ns) + " ns";
}

static std::string contention_markdown(const MutexResults &results) {
    if (results.contention.empty()) {
        return "";
    }
    std::vector<std::string> header{"threads, section"};
    for (const Contender &lock : results.locks) {
        header.push_back(lock.name);
    }
    Table rates(header), shares(header), switches(header);
    for (const ContentionCell &cell : results.contention) {
        std::vector<std::string> rate{label(cell.mix)}, share{label(cell.mix)}, sleeps{label(cell.mix)};
        for (const MixOutcome &outcome : cell.outcomes) {
            double middle = median(outcome.rates);
            char spread[32];
            std::snprintf(spread, sizeof spread, " ±%.0f%%",
                          (largest(outcome.rates) - smallest(outcome.rates)) / 2 / middle * 100);
            rate.push_back(digits(middle) + spread);
            share.push_back(digits(median(outcome.shares)));
            sleeps.push_back(std::to_string(std::lround(median(outcome.voluntary))) + " / " +
                             std::to_string(std::lround(median(outcome.involuntary))));
        }
        rates.add(rate);
        if (cell.mix.threads > 1) {
            shares.add(share);
            switches.add(sleeps);
        }
    }
    return "## " + contention_title +
           "\n\nMillion times a second: lock, increment two words, unlock. A semaphore is a "
           "lock of "
           "one permit.\n\n" +
           rates.markdown() + "\nThe slowest thread's operations as a share of the fastest's:\n\n" +
           shares.markdown() + "\nContext switches a second, of sleepers / forced:\n\n" +
           switches.markdown() + "\n";
}

static std::vector<std::string> row_of(const std::string &name, const Histogram &histogram) {
    auto at = [&](double share) { return duration(histogram.quantile(share) / ticks_per_ns()); };
    return {name,
            at(0.5),
            at(0.99),
            at(0.999),
            duration(static_cast<double>(histogram.largest) / ticks_per_ns()),
            std::to_string(histogram.count())};
}

static std::string waits_markdown(const MutexResults &results) {
    std::string text;
    for (const WaitCell &cell : results.waits) {
        text += "## " + waits_title(cell.siege) + "\n\n";
        Table table({"lock", "p50", "p99", "p99.9", "max", "waits"});
        for (size_t index = 0; index < results.locks.size(); ++index) {
            table.add(row_of(results.locks[index].name, cell.outcomes[index].waits));
        }
        text += table.markdown() + "\n";
    }
    return text;
}

static std::string trips_markdown(const MutexResults &results) {
    if (results.trips.empty()) {
        return "";
    }
    Table table({"semaphore", "p50", "p99", "p99.9", "max", "trips"});
    for (size_t index = 0; index < results.batons.size(); ++index) {
        table.add(row_of(results.batons[index].name, results.trips[index]));
    }
    return "## " + trips_title + "\n\n" + table.markdown() + "\n";
}

std::string to_markdown(const MutexResults &results) {
    return contention_markdown(results) + waits_markdown(results) + trips_markdown(results);
}

/* Against the C library's of the same kind: behind by no more than the rounds differ. */
std::string goals_markdown(const MutexResults &results, const States &states) {
    static const std::pair<const char *, const char *> rivals[] = {
        {"ilk_mutex", "pthread_mutex"},
        {"ilk_mutex (inheriting)", "pthread_mutex (inheriting)"},
        {"ilk_semaphore", "sem_t"},
    };
    static const double level = 0.97;
    Table table(
        {"threads, section", "ours", "its M/s", "the C library's", "its M/s", "ratio", "goal", "", "state"});
    unsigned reached = 0, total = 0;
    auto judge = [&](bool good) {
        ++total;
        reached += good;
        return good ? "reached" : "**not reached**";
    };
    for (const ContentionCell &cell : results.contention) {
        for (auto [our_name, their_name] : rivals) {
            double ours = 0, theirs = 0;
            for (size_t index = 0; index < results.locks.size(); ++index) {
                double rate = median(cell.outcomes[index].rates);
                ours = results.locks[index].name == our_name ? rate : ours;
                theirs = results.locks[index].name == their_name ? rate : theirs;
            }
            if (ours > 0 && theirs > 0) {
                table.add({label(cell.mix), our_name, digits(ours), their_name, digits(theirs),
                           digits(ours / theirs) + "×", "≥ " + digits(level) + "×",
                           judge(ours / theirs >= level), to_text(states.of(contention_title))});
            }
        }
    }
    double trips[2] = {0, 0};
    for (size_t index = 0; index < results.trips.size(); ++index) {
        trips[results.batons[index].name == "ilk_semaphore" ? 0 : 1] =
            results.trips[index].quantile(0.5) / ticks_per_ns();
    }
    if (trips[0] > 0 && trips[1] > 0) {
        table.add({"round trip, p50", "ilk_semaphore", duration(trips[0]), "sem_t", duration(trips[1]),
                   digits(trips[0] / trips[1]) + "×", "≤ 1.06×", judge(trips[0] / trips[1] <= 1.065),
                   to_text(states.of(trips_title))});
    }
    return total == 0 ? ""
                      : "## Goals\n\n" + table.markdown() + "\n" + std::to_string(reached) + " of " +
                            std::to_string(total) + " reached.\n";
}

static Json histogram_json(const std::string &name, unsigned threads, const Histogram &histogram) {
    auto at = [&](double share) { return histogram.quantile(share) / ticks_per_ns(); };
    return Json::object({{"lock", name},
                         {"threads", threads},
                         {"p50_ns", at(0.5)},
                         {"p99_ns", at(0.99)},
                         {"p99_9_ns", at(0.999)},
                         {"max_ns", static_cast<double>(histogram.largest) / ticks_per_ns()},
                         {"count", histogram.count()}});
}

std::vector<std::pair<std::string, Json>> to_json(const MutexResults &results) {
    std::vector<Json> contention, waits, trips;
    for (size_t index = 0; index < results.locks.size(); ++index) {
        const std::string &name = results.locks[index].name;
        for (const ContentionCell &cell : results.contention) {
            const MixOutcome &outcome = cell.outcomes[index];
            contention.push_back(outcome.json({{"lock", name},
                                               {"bytes", results.locks[index].lock_bytes},
                                               {"threads", cell.mix.threads},
                                               {"section_ns", cell.mix.section_ns}}));
        }
        for (const WaitCell &cell : results.waits) {
            waits.push_back(histogram_json(name, cell.siege.threads, cell.outcomes[index].waits));
        }
    }
    for (size_t index = 0; index < results.trips.size(); ++index) {
        trips.push_back(histogram_json(results.batons[index].name, 2, results.trips[index]));
    }
    std::vector<std::pair<std::string, Json>> members{
        {"throughput_million_per_second", Json::array(contention)},
        {"waits", Json::array(waits)},
        {"round_trips", Json::array(trips)}};
    add_json(members, results.costs, "lock");
    return members;
}

} // namespace bench
