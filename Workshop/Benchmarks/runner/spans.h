/* SPDX-License-Identifier: Apache-2.0
 *
 * What suites share whose contenders run threads of their own and say how long one of many passes took: the list of
 * contenders, to which each adapter adds its own, and the table.
 */
#ifndef INTERLOCK_BENCHMARKS_SPANS_H
#define INTERLOCK_BENCHMARKS_SPANS_H

#include "statistics.h"
#include "suite.h"

#include <chrono>
#include <map>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace bench {

/* A static one in an adapter adds `contender` to the list, at `position`, which is its own. */
template <class Contender> struct Enlisted {
    Enlisted(int position, Contender contender) {
        if (!list().emplace(position, contender).second) {
            fail(contender.name + ": its position is taken");
        }
    }
    static std::vector<Contender> all() {
        std::vector<Contender> ordered;
        for (const auto &[position, contender] : list()) {
            ordered.push_back(contender);
        }
        return ordered;
    }

  private:
    static std::map<int, Contender> &list() {
        static std::map<int, Contender> contenders;
        return contenders;
    }
};

template <class Work> double nanoseconds(Work work) {
    const auto begin = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - begin).count();
}

/* Runs `body(index)` for `count` indices until all have ended: the last on this thread, the others on new ones. */
template <class Body> void run_threads(unsigned count, Body body) {
    std::vector<std::thread> threads;
    for (unsigned index = 0; index + 1 < count; index++) {
        threads.emplace_back([&body, index] { body(index); });
    }
    body(count - 1);
    for (std::thread &thread : threads) {
        thread.join();
    }
}

/* A row of the table: the nanoseconds of one of `count` passes. */
template <class Contender> struct Span {
    const char *name;
    double (*measure)(const Contender &contender, unsigned count);
};

/* The flags of these suites; `count` is how many passes a measurement has. */
inline std::vector<Options::Flag> span_flags() {
    return {{"--quick", "", "a coarse run: fewer rounds and passes"},
            {"--rounds", "N", "rounds (9); every round measures every contender once, in a new order"},
            {"--count", "N", "passes in a measurement (20000)"}};
}

/* No pass takes less: a cycle at 5 GHz. */
inline constexpr double least_nanoseconds = 0.2;

/* Measures and reports; the program's exit status. `unit` is what a pass is. */
template <class Contender>
int report_spans(Suite &suite, const std::string &title, const std::string &unit,
                 const std::vector<Span<Contender>> &spans) {
    const bool quick = suite.options.has("--quick");
    const auto rounds = static_cast<unsigned>(suite.options.number("--rounds", quick ? 3 : 9));
    const auto count = static_cast<unsigned>(suite.options.number("--count", quick ? 4000 : 20000));
    const std::vector<Contender> all = suite.selected(Enlisted<Contender>::all());
    std::vector<std::string> header{"ns " + unit};
    for (const Contender &contender : all) {
        header.push_back(contender.name);
    }
    Table table(header);
    std::vector<Json> rows;
    suite.turns.expect(static_cast<unsigned>(spans.size() * all.size()) * rounds, slice_of(40));
    suite.table(title);
    for (const Span<Contender> &span : spans) {
        std::vector<std::vector<double>> measured(all.size());
        suite.turns.run(indices(all.size()), rounds, slice_of(40), [&](size_t index, uint64_t) {
            const double ns = span.measure(all[index], count);
            measured[index].push_back(ns);
            return ns >= least_nanoseconds ? std::string()
                                           : all[index].name + ": no work, " + digits(ns) + " ns";
        });
        std::vector<std::string> row{span.name};
        std::vector<std::pair<std::string, Json>> members{{"span", span.name}};
        for (size_t index = 0; index < all.size(); index++) {
            row.push_back(digits(median(measured[index])));
            members.push_back({all[index].name, measured[index]});
        }
        table.add(row);
        rows.push_back(Json::object(members));
    }
    return suite.report(rounds, 0, "## " + title + "\n\n" + table.markdown() + "\n",
                        {{"spans", Json::array(rows)}});
}

} // namespace bench

#endif
