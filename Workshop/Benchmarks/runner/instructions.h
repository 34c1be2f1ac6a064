/* SPDX-License-Identifier: Apache-2.0
 *
 * What one operation executes: instructions, locked instructions and fences, of one thread beside no other. From
 * two runs of a contender's measured loop of different lengths, whose difference is operations and nothing else.
 */
#ifndef INTERLOCK_BENCHMARKS_INSTRUCTIONS_H
#define INTERLOCK_BENCHMARKS_INSTRUCTIONS_H

#include "report.h"
#include "stepped.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace bench {

struct OperationCost {
    std::string contender, operation;
    double instructions, locked, fences;
};

/* The medians of several samples of one operation. */
class CostSamples {
  public:
    /* The operations of `longer` less those of `shorter`. Throws CannotCount where that are none. */
    void add(const Counts &shorter, const Counts &longer);
    OperationCost median_of(const std::string &contender, const std::string &operation) const;

  private:
    std::vector<double> instructions_, locked_, fences_;
};

constexpr unsigned cost_samples = 3;

/* The steps that a loop takes for an operation, from a short run; at least `operations` of them are done. */
double steps_of_operation(Stepped &child, size_t loop, uint64_t operations);

/* At least so many operations, at full speed. */
void warm_up(Stepped &child, size_t loop, uint64_t operations);

/* Of a loop that may do any number of operations in a row. */
OperationCost cost_of(Stepped &child, size_t loop, const std::string &contender,
                      const std::string &operation);

struct OperationCosts {
    std::vector<OperationCost> rows;
    std::vector<std::string> left_out; /* "what: reason"; the reason alone if nothing can be counted */

    /* Whether anything can be counted on this machine; if not, says why in `left_out`. */
    bool are_possible();

    /* Adds the rows of `count`; where it throws CannotCount, `what` is left out. */
    void add(const std::string &what, const std::function<std::vector<OperationCost>()> &count);
};

/* `kind` is "lock" or "ring". */
std::string to_markdown(const OperationCosts &costs, const char *kind);

/* Adds the member "instructions", if there are rows. */
void add_json(std::vector<std::pair<std::string, Json>> &members, const OperationCosts &costs,
              const char *kind);

} // namespace bench

#endif
