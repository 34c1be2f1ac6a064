/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting for a calm stretch of the machine.
 */
#ifndef INTERLOCK_BENCHMARKS_UNTIL_QUIET_H
#define INTERLOCK_BENCHMARKS_UNTIL_QUIET_H

#include "options.h"
#include "probe.h"
#include "state.h"

#include <functional>
#include <string>

namespace bench {

extern const Options::Flag until_quiet_flag;

/* The flag's minutes, 0 without it; ends the program with a message that names a value that is none. */
double until_quiet_minutes(const Options &options);

/* What the wait needs of the world. */
struct Calm {
    std::function<Figures()> probe;
    std::function<double()> seconds; /* of a clock that does not go back */
    std::function<void(double)> sleep;
    std::function<void(const std::string &)> say;
};

/* Returns when the last few probes were quiet (true), or after so many minutes (false). Says what it waits for once
 * a minute, and how it ended. `best` learns from the probes. */
bool wait_until_quiet(double minutes, const Calm &calm, Best &best);

/* The same on this machine; speaks on standard error. */
bool wait_until_quiet(double minutes, Probe &probe, Best &best);

} // namespace bench

#endif
