/* SPDX-License-Identifier: Apache-2.0
 *
 * One thread that serves three rings: by a wait set, beside crossbeam's Select, Go's select and epoll.
 */
#include "contender.h"

using namespace bench;

int main(int count, char **arguments) {
    Suite suite(count, arguments,
                {"wait_set", "wait_set: one thread that serves three rings, side by side",
                 "One thread that serves three rings", ""},
                span_flags());
    return report_spans<Contender>(
        suite, "Waiting for three rings", "an element",
        {{"one thread fills them in turn", [](const Contender &one, unsigned n) { return one.flow(1, n * 25); }},
         {"three threads fill one each", [](const Contender &one, unsigned n) { return one.flow(3, n * 25); }},
         {"an element and its answer", [](const Contender &one, unsigned n) { return one.trip(n / 2); }}});
}
