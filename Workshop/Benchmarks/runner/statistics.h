/* SPDX-License-Identifier: Apache-2.0
 *
 * Of a few samples: the median, which one disturbed round does not move, and the spread.
 */
#ifndef INTERLOCK_BENCHMARKS_STATISTICS_H
#define INTERLOCK_BENCHMARKS_STATISTICS_H

#include <algorithm>
#include <cmath>
#include <vector>

namespace bench {

/* 0 of no samples. */
inline double median(std::vector<double> samples) {
    if (samples.empty()) {
        return 0;
    }
    std::sort(samples.begin(), samples.end());
    size_t middle = samples.size() / 2;
    return samples.size() % 2 != 0 ? samples[middle] : (samples[middle - 1] + samples[middle]) / 2;
}

/* The median distance from the median. */
inline double median_deviation(const std::vector<double> &samples) {
    double centre = median(samples);
    std::vector<double> distances;
    for (double sample : samples) {
        distances.push_back(std::fabs(sample - centre));
    }
    return median(distances);
}

inline double smallest(const std::vector<double> &samples) {
    return samples.empty() ? 0 : *std::min_element(samples.begin(), samples.end());
}

inline double largest(const std::vector<double> &samples) {
    return samples.empty() ? 0 : *std::max_element(samples.begin(), samples.end());
}

} // namespace bench

#endif
