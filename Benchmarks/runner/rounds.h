/* SPDX-License-Identifier: Apache-2.0
 *
 * Taking turns: a cell of a comparison is measured in rounds, and every round gives every contender
 * one slice, in an order drawn anew. So nobody is always first, or always after the same neighbour.
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

    /* Announces slices to come, so that the time left can be told. */
    void expect(unsigned slices, SliceTimes times);

    /* All rounds of one cell, among the contenders of these indices. `slice` measures one of them once,
     * with a seed that is the same for all contenders of the round; it answers nothing, or what was
     * wrong. */
    void run(std::vector<size_t> contenders, unsigned rounds, SliceTimes times,
             const std::function<std::string(size_t contender, uint64_t seed)> &slice);

    /* How many slices had something wrong; each was reported when it happened. */
    unsigned faults() const {
        return faults_;
    }

    /* How far apart the cores were in the course of the run: what line_trip_ns said before each cell.
     * Virtual cores move about their host, and with them every figure of two threads or more. */
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
