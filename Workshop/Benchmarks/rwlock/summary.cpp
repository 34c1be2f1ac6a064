/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables and JSON of the reader–writer locks.
 */
#include "summary.h"

#include "../runner/statistics.h"

#include <cmath>
#include <functional>

namespace bench {

std::string table_title(const Mix &mix) {
    return "Throughput, critical section of about " + digits(mix.section_ns) + " ns";
}

std::string table_title(const Siege &siege) {
    return "Waits of one " + std::string(siege.writer_waits ? "writer" : "reader") + " beside " +
           std::to_string(siege.threads - 1) +
           (siege.writer_waits ? " saturating reader" : " saturating writer") +
           (siege.threads > 2 ? "s" : "") + ", sections of " + digits(siege.section_ns) + " ns";
}

static std::string percent(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%g %%", value);
    return text;
}

static std::vector<std::string> header(const Results &results, std::vector<std::string> first) {
    for (const Contender &contender : results.contenders) {
        first.push_back(contender.name + (contender.waiting == Waiting::parks
                                              ? ""
                                              : std::string(" (") + to_text(contender.waiting) + ")"));
    }
    return first;
}

/* One column a contender. */
static std::string mix_table(const Results &results, double section_ns, bool with_one_thread,
                             const std::function<std::string(const MixOutcome &)> &cell) {
    Table table(header(results, {"threads, writes"}));
    bool any = false;
    for (const MixCell &row : results.mixes) {
        if (row.mix.section_ns != section_ns || (row.mix.threads == 1 && !with_one_thread)) {
            continue;
        }
        std::vector<std::string> cells{std::to_string(row.mix.threads) + ", " + percent(row.mix.writes)};
        for (const MixOutcome &outcome : row.outcomes) {
            cells.push_back(outcome.rates.empty() ? "–" : cell(outcome));
        }
        table.add(cells);
        any = true;
    }
    return any ? table.markdown() : "";
}

static std::string throughput(const MixOutcome &outcome) {
    double middle = median(outcome.rates);
    double spread = (largest(outcome.rates) - smallest(outcome.rates)) / 2;
    char text[32];
    std::snprintf(text, sizeof text, " ±%.0f%%", middle > 0 ? spread / middle * 100 : 0.0);
    return digits(middle) + text;
}

static std::string mixes_markdown(const Results &results) {
    std::vector<double> sections;
    for (const MixCell &cell : results.mixes) {
        if (std::find(sections.begin(), sections.end(), cell.mix.section_ns) == sections.end()) {
            sections.push_back(cell.mix.section_ns);
        }
    }
    std::string text;
    for (double section : sections) {
        text += "## " + table_title(Mix{1, 0, section}) +
                "\n\nMillion operations a second: median of the rounds, and half "
                "the distance from the slowest round to the fastest.\n\n" +
                mix_table(results, section, true, throughput);
        std::string shares = mix_table(results, section, false, [](const MixOutcome &outcome) {
            return digits(median(outcome.shares));
        });
        if (shares.empty()) {
            continue;
        }
        text += "\nThe slowest thread's operations as a share of the fastest's:\n\n" + shares +
                "\nContext switches a second, of sleepers / forced:\n\n" +
                mix_table(results, section, false,
                          [](const MixOutcome &outcome) {
                              return std::to_string(std::lround(median(outcome.voluntary))) + " / " +
                                     std::to_string(std::lround(median(outcome.involuntary)));
                          }) +
                "\n";
    }
    return text;
}

static std::string sieges_markdown(const Results &results) {
    std::string text;
    for (const SiegeCell &cell : results.sieges) {
        text += "## " + table_title(cell.siege) + "\n\n";
        Table table({"lock", "p50", "p99", "p99.9", "max", "waits", "M/s of the others"});
        for (size_t index = 0; index < results.contenders.size(); ++index) {
            const SiegeOutcome &outcome = cell.outcomes[index];
            if (outcome.rates.empty()) {
                continue;
            }
            auto at = [&](double share) { return duration(outcome.waits.quantile(share) / ticks_per_ns()); };
            table.add({results.contenders[index].name, at(0.5), at(0.99), at(0.999),
                       duration(static_cast<double>(outcome.waits.largest) / ticks_per_ns()),
                       std::to_string(outcome.waits.count()), digits(median(outcome.besieging))});
        }
        text += table.markdown() + "\n";
    }
    return text;
}

static std::string sizes_markdown(const Results &results) {
    Table table({"lock", "bytes", "bytes per thread", "a long wait"});
    for (const Contender &contender : results.contenders) {
        table.add({contender.name, std::to_string(contender.lock_bytes),
                   contender.thread_bytes == unknown_bytes ? "private to the library"
                                                           : std::to_string(contender.thread_bytes),
                   to_text(contender.waiting)});
    }
    return "## Sizes\n\n" + table.markdown() +
           "\nck_brlock's bytes per thread are for each lock; the others' for all locks together.\n\n";
}

std::string to_markdown(const Results &results) {
    return mixes_markdown(results) + sieges_markdown(results) + sizes_markdown(results);
}

static Json mix_json(const Results &results, const MixCell &cell, size_t index) {
    const MixOutcome &outcome = cell.outcomes[index];
    return outcome.json({{"lock", results.contenders[index].name},
                         {"threads", cell.mix.threads},
                         {"writes_percent", cell.mix.writes},
                         {"section_ns", cell.mix.section_ns}});
}

static Json siege_json(const Results &results, const SiegeCell &cell, size_t index) {
    const SiegeOutcome &outcome = cell.outcomes[index];
    auto at = [&](double share) { return outcome.waits.quantile(share) / ticks_per_ns(); };
    return Json::object({{"lock", results.contenders[index].name},
                         {"threads", cell.siege.threads},
                         {"waiter", cell.siege.writer_waits ? "writer" : "reader"},
                         {"section_ns", cell.siege.section_ns},
                         {"pause_ns", cell.siege.pause_ns},
                         {"p50_ns", at(0.5)},
                         {"p99_ns", at(0.99)},
                         {"p99_9_ns", at(0.999)},
                         {"max_ns", static_cast<double>(outcome.waits.largest) / ticks_per_ns()},
                         {"waits", outcome.waits.count()},
                         {"waiter_rate", median(outcome.rates)},
                         {"others_rate", median(outcome.besieging)}});
}

std::vector<std::pair<std::string, Json>> to_json(const Results &results) {
    std::vector<Json> locks, mixes, sieges;
    for (size_t index = 0; index < results.contenders.size(); ++index) {
        const Contender &contender = results.contenders[index];
        locks.push_back(Json::object(
            {{"lock", contender.name},
             {"waiting", to_text(contender.waiting)},
             {"bytes", contender.lock_bytes},
             /* null where it is private to the library */
             {"bytes_per_thread",
              contender.thread_bytes == unknown_bytes ? Json(NAN) : Json(contender.thread_bytes)}}));
        for (const MixCell &cell : results.mixes) {
            if (!cell.outcomes[index].rates.empty()) {
                mixes.push_back(mix_json(results, cell, index));
            }
        }
        for (const SiegeCell &cell : results.sieges) {
            if (!cell.outcomes[index].rates.empty()) {
                sieges.push_back(siege_json(results, cell, index));
            }
        }
    }
    std::vector<std::pair<std::string, Json>> members{{"locks", Json::array(locks)},
                                                      {"throughput_million_per_second", Json::array(mixes)},
                                                      {"waits", Json::array(sieges)}};
    add_json(members, results.costs, "lock");
    return members;
}

} // namespace bench
