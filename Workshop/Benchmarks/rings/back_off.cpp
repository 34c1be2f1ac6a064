/* SPDX-License-Identifier: Apache-2.0
 *
 * Times the pauses of <interlock/inline/atomic.h> in a loop.
 */
#include "back_off.h"
#include "../runner/clock.h"
#include "../runner/statistics.h"

#include <interlock/inline/atomic.h>

namespace bench {

PauseTime measure_pause() {
    /* Ten times the longest back-off: long beside reading the counter, short beside a time slice. */
    constexpr unsigned pauses = 10 * mpmc_longest_back_off, runs = 1000;
    std::vector<double> times;
    times.reserve(runs);
    for (unsigned run = 0; run < runs; ++run) {
        const uint64_t begin = ticks();
        for (unsigned pause = 0; pause < pauses; ++pause) {
            ilk_cpu_relax();
        }
        times.push_back(static_cast<double>(ticks() - begin) / ticks_per_ns() / pauses);
    }
    return {smallest(times), median(times)};
}

std::string to_markdown(const PauseTime &pause) {
    Table table({"longest back-off before a probe", "pauses", "shortest", "median"});
    auto add = [&](const char *ring, unsigned pauses) {
        table.add({ring, std::to_string(pauses), duration(pause.shortest_ns * pauses),
                   duration(pause.median_ns * pauses)});
    };
    add("one pause instruction", 1);
    add("ilk_spsc", spsc_longest_back_off);
    add("ilk_mpmc", mpmc_longest_back_off);
    return "## The longest back-off\n\n" + table.markdown() + "\n";
}

Json to_json(const PauseTime &pause) {
    return Json::object({{"pause_shortest_ns", pause.shortest_ns},
                         {"pause_median_ns", pause.median_ns},
                         {"spsc_pauses", spsc_longest_back_off},
                         {"mpmc_pauses", mpmc_longest_back_off}});
}

} // namespace bench
