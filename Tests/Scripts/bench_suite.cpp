/* SPDX-License-Identifier: Apache-2.0
 *
 * A suite of two tables with one contender, for bench_state_test.py.
 */
#include "../../Workshop/Benchmarks/runner/suite.h"

#include <cstdio>

using namespace bench;

int main(int count, char **arguments) {
    Suite suite(count, arguments, {"small", "small: a suite of two tables", "A small suite", ""}, {});
    const SliceTimes times = slice_of(1);
    for (const char *title : {"First", "First", "Second"}) {
        suite.table(title);
        suite.turns.run({0}, 1, times, [&](size_t, uint64_t) {
            std::fprintf(stderr, "measured a cell of %s\n", title);
            return std::string();
        });
    }
    Table first({"of"}), second({"of"});
    first.add({"first"});
    second.add({"second"});
    return suite.report(1, 1, "## First\n\n" + first.markdown() + "\n## Second\n\n" + second.markdown(), {});
}
