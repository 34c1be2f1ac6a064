/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns: a cell of a comparison is measured in rounds, and every round gives every contender one slice, in an
 * order drawn anew. So no contender is always first, or always after the same neighbour.
 */
#ifndef INTERLOCK_BENCHMARKS_ROUNDS_H
#define INTERLOCK_BENCHMARKS_ROUNDS_H

#include "slice.h"

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace bench {

class Rounds {
  public:
    explicit Rounds(uint64_t seed);

    /* Announces coming slices, for the estimate of the time left. */
    void expect(unsigned slices, SliceTimes times);

    /* All rounds of one cell, among the contenders of these indices. `slice` measures one of them once,
     * with a seed that is the same for all contenders of the round; its answer is empty, or names the
     * fault. */
    void run(std::vector<size_t> contenders, unsigned rounds, SliceTimes times,
             const std::function<std::string(size_t contender, uint64_t seed)> &slice);

    /* How many slices had a fault; each was reported when it happened. */
    unsigned faults() const {
        return faults_;
    }

    /* The distance of the cores during the run: line_trip_ns before each cell. Virtual cores move about their
     * host, which changes every figure of two threads or more. */
    std::string distance_text() const;
    const std::vector<double> &line_trips() const {
        return line_trips_;
    }

  private:
    void show_progress() const;

    std::mt19937_64 random_;
    uint64_t ns_left_ = 0;
    unsigned faults_ = 0;
    std::vector<double> line_trips_;
};

} // namespace bench

#endif
