/* SPDX-License-Identifier: Apache-2.0
 *
 * See suite.h.
 */
#include "suite.h"

#include <cstdio>
#include <ctime>

namespace bench {

/* The day, in UTC: 2026-01-31. */
static std::string today() {
    const std::time_t now = std::time(nullptr);
    std::tm day;
    char text[16];
    gmtime_r(&now, &day);
    std::strftime(text, sizeof text, "%F", &day);
    return text;
}

int report(const SuiteRun &run, const std::string &tables,
           std::vector<std::pair<std::string, Json>> members) {
    const double others = run.neighbours.cores_used();
    std::printf("# %s\n\n%s.\n%u rounds", run.title, to_text(run.facts).c_str(), run.rounds);
    if (run.slice_ms > 0) {
        std::printf(" of %g ms a contender; threads pinned", run.slice_ms);
    }
    std::printf(".%s Other processes used %s cores meanwhile. %s\n\n", run.work, digits(others).c_str(),
                run.turns.distance_text().c_str());
    for (const std::string &missing : missing_peers()) {
        std::printf("Not in the comparison: %s\n\n", missing.c_str());
    }
    std::printf("%s", tables.c_str());
    if (run.options.has("--json")) {
        members.insert(members.begin(), {{"suite", run.suite},
                                         {"date", today()},
                                         {"arguments", run.options.command_line()},
                                         {"machine", to_json(run.facts)},
                                         {"rounds", run.rounds},
                                         {"slice_ms", run.slice_ms},
                                         {"cores_used_by_others", others},
                                         {"line_trips_ns", run.turns.line_trips()},
                                         {"faults", run.turns.faults()}});
        write_json(run.options.text("--json", ""), Json::object(members));
    }
    return run.turns.faults() == 0 ? 0 : 1;
}

} // namespace bench
