/* SPDX-License-Identifier: Apache-2.0
 *
 * Calibration of the cycle counter and of the work loop: the fastest of several tries.
 */
#include "clock.h"

#include <algorithm>
#include <cmath>
#include <ctime>

namespace bench {

uint64_t now_ns() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1000000000 + static_cast<uint64_t>(time.tv_nsec);
}

double ticks_per_ns() {
    static const double rate = [] {
        uint64_t begin_ns = now_ns(), begin = ticks();
        uint64_t end_ns;
        do {
            end_ns = now_ns();
        } while (end_ns - begin_ns < 50000000);
        return static_cast<double>(ticks() - begin) / static_cast<double>(end_ns - begin_ns);
    }();
    return rate;
}

uint32_t work_steps(double ns) {
    if (ns < 5) {
        return 0;
    }
    static const double ns_per_step = [] {
        const uint32_t steps = 1000000;
        uint64_t best = UINT64_MAX, value = 0;
        for (int attempt = 0; attempt < 9; ++attempt) {
            uint64_t begin = now_ns();
            value = work(steps, value);
            best = std::min(best, now_ns() - begin);
        }
        return static_cast<double>(best) / steps;
    }();
    return static_cast<uint32_t>(std::lround(ns / ns_per_step));
}

} // namespace bench
