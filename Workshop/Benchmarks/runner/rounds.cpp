/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of turns; see rounds.h.
 */
#include "rounds.h"

#include "report.h"
#include "statistics.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <unistd.h>

namespace bench {

static uint64_t length(SliceTimes times) {
    return times.warming_ns + times.measuring_ns;
}

std::vector<size_t> indices(size_t count) {
    std::vector<size_t> list(count);
    std::iota(list.begin(), list.end(), size_t{0});
    return list;
}

std::string named(const std::string &contender, const std::string &fault) {
    return fault.empty() ? fault : contender + ": " + fault;
}

Rounds::Rounds(uint64_t seed) : random_(seed) {}

void Rounds::expect(unsigned slices, SliceTimes times) {
    ns_left_ += slices * length(times);
}

void Rounds::run(std::vector<size_t> contenders, unsigned rounds, SliceTimes times,
                 const std::function<std::string(size_t, uint64_t)> &slice) {
    show_progress();
    line_trips_.push_back(line_trip_ns());
    for (unsigned round = 0; round < rounds; ++round) {
        std::shuffle(contenders.begin(), contenders.end(), random_);
        uint64_t seed = random_();
        for (size_t contender : contenders) {
            std::string fault = slice(contender, seed);
            if (!fault.empty()) {
                ++faults_;
                std::fprintf(stderr, "\nerror: %s\n", fault.c_str());
            }
            ns_left_ -= std::min(ns_left_, length(times));
        }
    }
    show_progress();
}

std::string Rounds::distance_text() const {
    std::string text = "A cache line went to the other core and back in " + digits(median(line_trips_)) +
                       " ns (" + digits(smallest(line_trips_)) + " to " + digits(largest(line_trips_)) + ").";
    if (largest(line_trips_) > 2 * smallest(line_trips_)) {
        text += " **The machine changed during the run**: compare within a row only.";
    }
    return text;
}

void Rounds::show_progress() const {
    if (isatty(STDERR_FILENO) != 0) {
        std::fprintf(stderr, "\rabout %.0f s left \x1b[K%s", static_cast<double>(ns_left_) / 1e9,
                     ns_left_ == 0 ? "\n" : "");
    }
}

} // namespace bench
