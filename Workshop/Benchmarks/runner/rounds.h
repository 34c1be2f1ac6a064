/* SPDX-License-Identifier: Apache-2.0
 *
 * Turns: every round of a cell gives every contender one slice, in a new order.
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

/* The indices of `count` contenders. */
std::vector<size_t> indices(size_t count);

/* A slice's fault with the contender's name; empty stays empty. */
std::string named(const std::string &contender, const std::string &fault);

class Rounds {
  public:
    explicit Rounds(uint64_t seed);

    /* Announces slices, for the estimate of the time left. */
    void expect(unsigned slices, SliceTimes times);

    /* All rounds of one cell, among the contenders of these indices. `slice` measures one of them, with a
     * seed of the round; its answer is empty, or the fault. */
    void run(std::vector<size_t> contenders, unsigned rounds, SliceTimes times,
             const std::function<std::string(size_t contender, uint64_t seed)> &slice);

    /* Slices with a fault; each was reported at once. */
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
