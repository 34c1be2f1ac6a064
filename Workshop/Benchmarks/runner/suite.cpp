/* SPDX-License-Identifier: Apache-2.0
 *
 * See suite.h.
 */
#include "suite.h"

#include "until_quiet.h"
#include "urgent.h"

#include <cstdio>
#include <ctime>

namespace bench {

static std::vector<Options::Flag> with_shared(std::vector<Options::Flag> flags) {
    flags.insert(flags.end(),
                 {{"--only", "NAME,...", "only contenders with one of these in their names"},
                  {"--seed", "N", "seed of everything random (1)"},
                  {"--urgent", "", "go before all other processes (root): for machines that are not idle"},
                  {"--no-state", "", "leave the machine's state out"},
                  until_quiet_flag,
                  {"--json", "FILE", "write everything there as JSON"}});
    return flags;
}

/* The machine as the run finds it, which begins here. */
static Machine begin(const Options &options) {
    if (options.has("--urgent")) {
        become_urgent();
    }
    return machine();
}

Suite::Suite(int count, char **arguments, const Texts &texts, const std::vector<Options::Flag> &flags)
    : options(count, arguments, texts.help, with_shared(flags)),
      turns(static_cast<uint64_t>(options.number("--seed", 1))), texts_(texts),
      until_quiet_minutes_(until_quiet_minutes(options)), facts_(begin(options)) {}

void Suite::table(const std::string &title) {
    if (options.has("--no-state")) {
        return;
    }
    if (has_begun_ && title == open_table_) {
        return;
    }
    if (has_begun_) {
        end_tables();
    } else if (until_quiet_minutes_ > 0) {
        Best best;
        wait_until_quiet(until_quiet_minutes_, probe_, best);
        states_.see(best);
        facts_ = machine();
        neighbours_ = Neighbours();
    }
    if (!has_begun_) {
        last_figures_ = probe_.take();
        has_begun_ = true;
    }
    open_table_ = title;
}

const States &Suite::end_tables() {
    if (!open_table_.empty()) {
        const Figures after = probe_.take();
        states_.add(open_table_, last_figures_, after);
        last_figures_ = after;
        open_table_.clear();
    }
    return states_;
}

/* The day, in UTC: 2026-01-31. */
static std::string today() {
    const std::time_t now = std::time(nullptr);
    std::tm day;
    char text[16];
    gmtime_r(&now, &day);
    std::strftime(text, sizeof text, "%F", &day);
    return text;
}

int Suite::report(unsigned rounds, double slice_ms, const std::string &tables,
                  std::vector<std::pair<std::string, Json>> members) {
    end_tables();
    const double others = neighbours_.cores_used();
    std::printf("# %s\n\n%s.\n", texts_.title, to_text(facts_).c_str());
    if (rounds > 0) {
        std::printf("%u rounds", rounds);
        if (slice_ms > 0) {
            std::printf(" of %g ms a contender; threads pinned", slice_ms);
        }
        std::printf(".%s Other processes used %s cores meanwhile. The machine's state: %s. %s\n", texts_.work,
                    digits(others).c_str(), to_text(states_.of_run()), turns.distance_text().c_str());
    }
    std::printf("\n");
    for (const std::string &missing : missing_peers()) {
        std::printf("Not in the comparison: %s\n\n", missing.c_str());
    }
    std::printf("%s", states_.insert(tables).c_str());
    if (options.has("--json")) {
        members.insert(members.begin(), {{"suite", texts_.name},
                                         {"date", today()},
                                         {"arguments", options.command_line()},
                                         {"machine", to_json(facts_)},
                                         {"rounds", rounds},
                                         {"slice_ms", slice_ms},
                                         {"cores_used_by_others", others},
                                         {"line_trips_ns", turns.line_trips()},
                                         {"state", to_text(states_.of_run())},
                                         {"states", states_.json()},
                                         {"faults", turns.faults()}});
        write_json(options.text("--json", ""), Json::object(members));
    }
    return turns.faults() == 0 ? 0 : 1;
}

} // namespace bench
