/* SPDX-License-Identifier: Apache-2.0
 *
 * The parts of the output that all suites share, around their own tables.
 */
#ifndef INTERLOCK_BENCHMARKS_SUITE_H
#define INTERLOCK_BENCHMARKS_SUITE_H

#include "options.h"
#include "report.h"
#include "rounds.h"

#include <string>
#include <utility>
#include <vector>

namespace bench {

struct SuiteRun {
    const char *suite; /* its name in the JSON */
    const char *title;
    const char *work; /* a sentence on what was done, or nothing */
    const Options &options;
    const Machine &facts;
    unsigned rounds;
    double slice_ms; /* 0: what is done in a slice ends it, on threads that are not the runner's */
    const Neighbours &neighbours;
    const Rounds &turns;
};

/* Prints the head, the peers that are missing and `tables`; writes the JSON, with `members` behind the same
 * facts, where --json says so. Returns the program's exit status: 1 if a slice had a fault. */
int report(const SuiteRun &run, const std::string &tables, std::vector<std::pair<std::string, Json>> members);

} // namespace bench

#endif
