/* SPDX-License-Identifier: Apache-2.0
 *
 * See instructions.h.
 */
#include "instructions.h"

#include "statistics.h"

#include <cstdio>

namespace bench {

/* Of the shorter run; the longer has twice as many. */
static const double operations_of_a_run = 20;

void CostSamples::add(const Counts &shorter, const Counts &longer) {
    if (longer.operations <= shorter.operations) {
        throw CannotCount("a longer run did no more operations");
    }
    const auto operations = static_cast<double>(longer.operations - shorter.operations);
    auto each = [&](uint64_t more, uint64_t less) {
        return (static_cast<double>(more) - static_cast<double>(less)) / operations;
    };
    instructions_.push_back(each(longer.instructions, shorter.instructions));
    locked_.push_back(each(longer.locked, shorter.locked));
    fences_.push_back(each(longer.fences, shorter.fences));
}

OperationCost CostSamples::median_of(const std::string &contender, const std::string &operation) const {
    return {contender, operation, median(instructions_), median(locked_), median(fences_)};
}

double steps_of_operation(Stepped &child, size_t loop, uint64_t operations) {
    for (uint64_t steps = 500; steps <= 1 << 20; steps *= 2) {
        const Counts counts = child.step(loop, steps);
        if (counts.operations >= operations) {
            return static_cast<double>(counts.instructions) / static_cast<double>(counts.operations);
        }
    }
    throw CannotCount("an operation takes too many instructions");
}

void warm_up(Stepped &child, size_t loop, uint64_t operations) {
    uint64_t done = 0;
    for (uint64_t ns = 1000000; done < operations; ns *= 2) {
        done += child.run(loop, ns);
    }
}

OperationCost cost_of(Stepped &child, size_t loop, const std::string &contender,
                      const std::string &operation) {
    const double each = steps_of_operation(child, loop, 10);
    const auto steps = static_cast<uint64_t>(each * operations_of_a_run);
    (void)child.step(loop, 3 * steps); /* a warm-up */
    CostSamples samples;
    for (unsigned sample = 0; sample < cost_samples; ++sample) {
        const Counts shorter = child.step(loop, steps);
        samples.add(shorter, child.step(loop, 2 * steps));
    }
    return samples.median_of(contender, operation);
}

bool OperationCosts::are_possible() {
    try {
        Stepped child([] { return std::vector<Loop>(); });
        return true;
    } catch (const CannotCount &reason) {
        left_out.push_back(reason.what());
        return false;
    }
}

void OperationCosts::add(const std::string &what, const std::function<std::vector<OperationCost>()> &count) {
    try {
        const std::vector<OperationCost> its_rows = count();
        rows.insert(rows.end(), its_rows.begin(), its_rows.end());
    } catch (const CannotCount &reason) {
        left_out.push_back(what + ": " + reason.what());
    }
}

/* One decimal, where there is one. */
static std::string figure(double value) {
    char text[40];
    std::snprintf(text, sizeof text, "%.1f", value);
    std::string shown = text;
    const size_t end = shown.size() - 2;
    return shown.compare(end, 2, ".0") == 0 ? shown.substr(0, end) : shown;
}

std::string to_markdown(const OperationCosts &costs, const char *kind) {
    if (costs.rows.empty() && costs.left_out.empty()) {
        return "";
    }
    std::string text = "## Instructions of one operation\n\n";
    if (!costs.rows.empty()) {
        Table table({kind, "operation", "instructions", "locked", "fences"});
        for (const OperationCost &row : costs.rows) {
            table.add({row.contender, row.operation, figure(row.instructions), figure(row.locked),
                       figure(row.fences)});
        }
        text += "One thread, beside no other; with the measured loop's own instructions.\n\n" +
                table.markdown() + "\n";
    }
    for (const std::string &reason : costs.left_out) {
        text += "Not counted: " + reason + "\n\n";
    }
    return text;
}

void add_json(std::vector<std::pair<std::string, Json>> &members, const OperationCosts &costs,
              const char *kind) {
    std::vector<Json> rows;
    for (const OperationCost &row : costs.rows) {
        rows.push_back(Json::object({{kind, row.contender},
                                     {"operation", row.operation},
                                     {"instructions", row.instructions},
                                     {"locked", row.locked},
                                     {"fences", row.fences}}));
    }
    if (!rows.empty()) {
        members.push_back({"instructions", Json::array(rows)});
    }
}

} // namespace bench
