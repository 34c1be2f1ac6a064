/* SPDX-License-Identifier: Apache-2.0
 *
 * The rings' longest back-off as time. The headers bound it in pause instructions, each of ten to more than a
 * hundred cycles.
 */
#ifndef INTERLOCK_BENCHMARKS_RINGS_BACK_OFF_H
#define INTERLOCK_BENCHMARKS_RINGS_BACK_OFF_H

#include "../runner/report.h"

#include <string>

namespace bench {

/* The most pauses before one probe: guarantee E of <interlock/spsc.h> and <interlock/mpmc.h>. */
constexpr unsigned spsc_longest_back_off = 31, mpmc_longest_back_off = 32;

/* One ilk_cpu_relax: the shortest and the median of a thousand runs of 320 pauses. The median shows the
 * machine's load. */
struct PauseTime {
    double shortest_ns, median_ns;
};
PauseTime measure_pause();

std::string to_markdown(const PauseTime &pause);
Json to_json(const PauseTime &pause);

} // namespace bench

#endif
