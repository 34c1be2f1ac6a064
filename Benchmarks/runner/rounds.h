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

namespace bench {

class Rounds {
  public:
    Rounds(size_t contenders, unsigned rounds, SliceTimes times, uint64_t seed, size_t cells);

    /* All rounds of one cell. `slice` measures the contender of that index once, with a seed that is
     * the same for all contenders of the round; it answers nothing, or what was wrong. */
    void run(const std::function<std::string(size_t contender, uint64_t seed)> &slice);

    /* How many slices had something wrong; each was reported when it happened. */
    unsigned faults() const {
        return faults_;
    }

  private:
    void show_progress() const;

    const size_t contenders_;
    const unsigned rounds_;
    const SliceTimes times_;
    std::mt19937_64 random_;
    const size_t cells_;
    size_t cells_done_ = 0;
    unsigned faults_ = 0;
};

} // namespace bench

#endif
