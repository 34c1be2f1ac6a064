/* SPDX-License-Identifier: Apache-2.0
 *
 * Loops in a child process that a tracer steps through one instruction at a time (ptrace), to count the
 * instructions that they execute. Works without the processor's counters, which many virtual machines lack,
 * and tells locked instructions and fences from others. x86-64 only.
 */
#ifndef INTERLOCK_BENCHMARKS_STEPPED_H
#define INTERLOCK_BENCHMARKS_STEPPED_H

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace bench {

/* Runs until `*phase` is no longer `during`, as all measured loops do; the answer is its operations. */
using Loop = std::function<uint64_t(const uint32_t *phase, uint32_t during)>;

struct Counts {
    uint64_t operations = 0, instructions = 0, locked = 0, fences = 0;
};

/* Nothing can be counted here: another processor, no right to trace, or a child that ended or hung. */
struct CannotCount : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/* Not thread-safe. All calls throw CannotCount; after that only the destructor may follow. */
class Stepped {
  public:
    /* Calls `make` in the child, for the loops to run there. A loop that takes longer than `limit_seconds` is
     * a fault. */
    explicit Stepped(const std::function<std::vector<Loop>()> &make, unsigned limit_seconds = 120);
    ~Stepped(); /* ends the child */
    Stepped(const Stepped &) = delete;

    /* Runs a loop at full speed, and ends its phase after `ns`. Its operations. */
    uint64_t run(size_t loop, uint64_t ns);

    /* Steps through a loop, and ends its phase after `steps` instructions. What it executed from its call to its
     * return: a constant, and as much as its operations take. */
    Counts step(size_t loop, uint64_t steps);

  private:
    struct Child;
    std::unique_ptr<Child> child_;
};

} // namespace bench

#endif
