/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting under a lock for a condition, beside nsync, Abseil and the C library.
 */
#include "contender.h"

using namespace bench;

int main(int count, char **arguments) {
    Suite suite(count, arguments,
                {"condition", "condition: waiting under a lock for a condition, side by side",
                 "Waiting under a lock for a condition", ""},
                span_flags());
    return report_spans<Contender>(
        suite, "Waiting for a condition", "a hand-over",
        {{"two threads in turn", [](const Contender &one, unsigned n) { return one.turns(n / 2); }},
         {"buffer of 64, one to one", [](const Contender &one, unsigned n) { return one.buffer(1, 1, n * 4); }},
         {"buffer of 64, four to four", [](const Contender &one, unsigned n) { return one.buffer(4, 4, n * 4); }},
         {"a hundred that wait for one number each",
          [](const Contender &one, unsigned n) { return one.distinct(100, n / 4); }}});
}
