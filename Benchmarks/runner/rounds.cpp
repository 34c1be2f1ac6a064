/* SPDX-License-Identifier: Apache-2.0
 *
 * The order of turns; see rounds.h.
 */
#include "rounds.h"

#include <algorithm>
#include <cstdio>
#include <numeric>
#include <unistd.h>
#include <vector>

namespace bench {

Rounds::Rounds(size_t contenders, unsigned rounds, SliceTimes times, uint64_t seed, size_t cells)
    : contenders_(contenders), rounds_(rounds), times_(times), random_(seed), cells_(cells) {
    show_progress();
}

void Rounds::run(const std::function<std::string(size_t, uint64_t)> &slice) {
    std::vector<size_t> order(contenders_);
    std::iota(order.begin(), order.end(), size_t{0});
    for (unsigned round = 0; round < rounds_; ++round) {
        std::shuffle(order.begin(), order.end(), random_);
        uint64_t seed = random_();
        for (size_t contender : order) {
            std::string fault = slice(contender, seed);
            if (!fault.empty()) {
                ++faults_;
                std::fprintf(stderr, "\nerror: %s\n", fault.c_str());
            }
        }
    }
    ++cells_done_;
    show_progress();
}

void Rounds::show_progress() const {
    if (isatty(STDERR_FILENO) == 0) {
        return;
    }
    double slice = static_cast<double>(times_.warming_ns + times_.measuring_ns) / 1e9;
    double left = slice * static_cast<double>((cells_ - cells_done_) * contenders_ * rounds_);
    std::fprintf(stderr, "\r%zu of %zu cells, about %.0f s left \x1b[K%s", cells_done_, cells_, left,
                 cells_done_ == cells_ ? "\n" : "");
}

} // namespace bench
