/* SPDX-License-Identifier: Apache-2.0
 *
 * The throughput and price of one contender in one cell.
 */
#ifndef INTERLOCK_BENCHMARKS_THROUGHPUT_H
#define INTERLOCK_BENCHMARKS_THROUGHPUT_H

#include "report.h"
#include "slice.h"

#include <cstdint>
#include <vector>

namespace bench {

struct Throughput {
    std::vector<double> rates;                  /* million operations, or elements, a second, all threads */
    std::vector<double> shares;                 /* the slowest thread's over the fastest's */
    std::vector<double> voluntary, involuntary; /* context switches a second, all threads */
    std::vector<double> cores_used;             /* CPU time over time */

    void add(uint64_t done, double share, const SliceResult &slice);

    /* `members` and then median, spread and samples. */
    Json json(std::vector<std::pair<std::string, Json>> members) const;
};

} // namespace bench

#endif
