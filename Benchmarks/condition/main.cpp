/* SPDX-License-Identifier: Apache-2.0
 *
 * Waiting under a lock for a condition, beside nsync, Abseil and the C library.
 */
#include "../runner/statistics.h"
#include "../runner/suite.h"
#include "contender.h"

#include <map>

namespace bench {

static std::map<int, Contender> &list() {
    static std::map<int, Contender> contenders;
    return contenders;
}
Enlisted::Enlisted(int position, Contender contender) {
    list().emplace(position, std::move(contender));
}
std::vector<Contender> contenders() {
    std::vector<Contender> ordered;
    for (const auto &[position, contender] : list()) {
        ordered.push_back(contender);
    }
    return ordered;
}

} // namespace bench

using namespace bench;

static const std::vector<Options::Flag> flags{
    {"--quick", "", "a coarse run: fewer rounds and hand-overs"},
    {"--rounds", "N", "rounds (9); every round measures every contender once, in a new order"},
    {"--count", "N", "hand-overs in a measurement (20000)"},
};

int main(int count, char **arguments) {
    Suite suite(count, arguments,
                {"condition", "condition: waiting under a lock for a condition, side by side",
                 "Waiting under a lock for a condition", ""},
                flags);
    const bool quick = suite.options.has("--quick");
    const auto rounds = static_cast<unsigned>(suite.options.number("--rounds", quick ? 3 : 9));
    const auto passes = static_cast<unsigned>(suite.options.number("--count", quick ? 4000 : 20000));
    const std::vector<Contender> all = suite.selected(contenders());

    struct Cell {
        const char *name;
        double (*measure)(const Contender &contender, unsigned count);
    };
    static const std::vector<Cell> cells{
        {"two threads in turn", [](const Contender &one, unsigned n) { return one.turns(n / 2); }},
        {"buffer of 64, one to one", [](const Contender &one, unsigned n) { return one.buffer(1, 1, n * 4); }},
        {"buffer of 64, four to four", [](const Contender &one, unsigned n) { return one.buffer(4, 4, n * 4); }},
        {"a hundred that wait for one number each",
         [](const Contender &one, unsigned n) { return one.distinct(100, n / 4); }},
    };

    const std::string title = "Waiting for a condition";
    std::vector<std::string> header{"ns a hand-over"};
    for (const Contender &contender : all) {
        header.push_back(contender.name);
    }
    Table table(header);
    std::vector<Json> rows;
    suite.turns.expect(static_cast<unsigned>(cells.size() * all.size()) * rounds, slice_of(40));
    suite.table(title);
    for (const Cell &cell : cells) {
        std::vector<std::vector<double>> measured(all.size());
        suite.turns.run(indices(all.size()), rounds, slice_of(40), [&](size_t index, uint64_t) {
            measured[index].push_back(cell.measure(all[index], passes));
            return std::string();
        });
        std::vector<std::string> row{cell.name};
        std::vector<std::pair<std::string, Json>> members{{"cell", cell.name}};
        for (size_t index = 0; index < all.size(); index++) {
            row.push_back(digits(median(measured[index])));
            members.push_back({all[index].name, measured[index]});
        }
        table.add(row);
        rows.push_back(Json::object(members));
    }
    return suite.report(rounds, 0, "## " + title + "\n\n" + table.markdown() + "\n",
                        {{"conditions", Json::array(rows)}});
}
