/* SPDX-License-Identifier: Apache-2.0
 *
 * The longest back-off of the rings as time. The headers bound it in pause instructions, whose length is the
 * processor's: from some ten to more than a hundred cycles.
 */
#ifndef INTERLOCK_BENCHMARKS_RINGS_BACK_OFF_H
#define INTERLOCK_BENCHMARKS_RINGS_BACK_OFF_H

#include "../runner/report.h"

#include <string>

namespace bench {

/* The most pauses before one probe, as guarantee E of <interlock/spsc.h> and <interlock/mpmc.h> bounds them. */
constexpr unsigned spsc_longest_back_off = 31, mpmc_longest_back_off = 32;

/* The length of one ilk_cpu_relax: the shortest and the median of a thousand runs of 320 pauses. The shortest is the
 * processor's; the median shows what the machine made of it. */
struct PauseTime {
    double shortest_ns, median_ns;
};
PauseTime measure_pause();

std::string to_markdown(const PauseTime &pause);
Json to_json(const PauseTime &pause);

} // namespace bench

#endif
