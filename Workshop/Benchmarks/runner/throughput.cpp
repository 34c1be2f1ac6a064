/* SPDX-License-Identifier: Apache-2.0
 *
 * See throughput.h.
 */
#include "throughput.h"

#include "statistics.h"

namespace bench {

void Throughput::add(uint64_t done, double share, const SliceResult &slice) {
    Usage total;
    for (const Usage &usage : slice.usage) {
        total.voluntary += usage.voluntary;
        total.involuntary += usage.involuntary;
        total.cpu_seconds += usage.cpu_seconds;
    }
    rates.push_back(static_cast<double>(done) / slice.seconds / 1e6);
    shares.push_back(share);
    voluntary.push_back(static_cast<double>(total.voluntary) / slice.seconds);
    involuntary.push_back(static_cast<double>(total.involuntary) / slice.seconds);
    cores_used.push_back(total.cpu_seconds / slice.seconds);
}

Json Throughput::json(std::vector<std::pair<std::string, Json>> members) const {
    members.insert(members.end(), {{"median", median(rates)},
                                   {"smallest", smallest(rates)},
                                   {"largest", largest(rates)},
                                   {"median_deviation", median_deviation(rates)},
                                   {"share", median(shares)},
                                   {"voluntary_switches_per_second", median(voluntary)},
                                   {"involuntary_switches_per_second", median(involuntary)},
                                   {"cores_used", median(cores_used)},
                                   {"samples", rates},
                                   {"share_samples", shares}});
    return Json::object(members);
}

} // namespace bench
