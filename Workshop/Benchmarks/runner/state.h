/* SPDX-License-Identifier: Apache-2.0
 *
 * The machine's state, from the figures of probes: quiet, or shared with other work. Figures are compared with each
 * other, and with the best of the run. Nothing here measures.
 */
#ifndef INTERLOCK_BENCHMARKS_STATE_H
#define INTERLOCK_BENCHMARKS_STATE_H

#include "figures.h"
#include "report.h"

#include <string>
#include <vector>

namespace bench {

/* `changed`: of a table or a run that has both. `unknown`: no probe was taken. */
enum class State { unknown, quiet, shared, changed };
const char *to_text(State state);

/* The best figures that the run has seen. */
struct Best {
    double additions_per_ns = 0;
    double locked_ns = 0, trip_ns = 0; /* 0: none yet */
    void see(const Figures &figures);
    void see(const Best &other);
};

/* Why the machine is shared, a clause each; none where it is quiet. */
std::vector<std::string> reasons(const Figures &figures, const Best &best);

State judge(const Figures &figures, const Best &best);

/* Of two or more; unknown is left out. */
State together(State one, State other);

/* "shared (a read-modify-write takes 2.90 ns, 2.00 at best). Additions ..." */
std::string to_text(const Figures &figures, const Best &best);
Json to_json(const Figures &figures, const Best &best);

/* A goal in each state. A table whose state changed was shared for a part of it, and is judged as shared. */
struct Wanted {
    double quiet, shared;
    Wanted(double both) : quiet(both), shared(both) {}
    Wanted(double quiet, double shared) : quiet(quiet), shared(shared) {}
    double in(State state) const {
        return state == State::shared || state == State::changed ? shared : quiet;
    }
};

} // namespace bench

#endif
