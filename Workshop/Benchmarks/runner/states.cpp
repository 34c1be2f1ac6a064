/* SPDX-License-Identifier: Apache-2.0
 *
 * See states.h.
 */
#include "states.h"

#include <algorithm>

namespace bench {

void States::add(const std::string &table, const Figures &before, const Figures &after) {
    entries_.push_back({table, before, after});
    best_.see(before);
    best_.see(after);
}

State States::of(const Entry &entry) const {
    return together(judge(entry.before, best_), judge(entry.after, best_));
}

State States::of(const std::string &table) const {
    State state = State::unknown;
    for (const Entry &entry : entries_) {
        if (entry.table == table) {
            state = together(state, of(entry));
        }
    }
    return state;
}

State States::of_run() const {
    State state = State::unknown;
    for (const Entry &entry : entries_) {
        state = together(state, of(entry));
    }
    return state;
}

std::string States::before_line(const Entry &entry) const {
    return "Before: " + to_text(entry.before, best_) + "\n";
}

std::string States::after_line(const Entry &entry) const {
    const bool has_changed = of(entry) == State::changed;
    return "After: " + std::string(has_changed ? "**changed**, " : "") + to_text(entry.after, best_) + "\n";
}

/* Below the last row of the section that starts at `begin`; below its text where it has no rows. */
static size_t end_of_rows(const std::string &text, size_t begin) {
    const size_t next = std::min(text.find("\n## ", begin), text.size());
    const size_t row = text.rfind("\n|", next - 1);
    const size_t last =
        row != std::string::npos && row >= begin ? row + 1 : text.find_last_not_of('\n', next - 1);
    return std::min(text.find('\n', last), next) + 1;
}

std::string States::insert(const std::string &markdown) const {
    std::string text = "\n" + markdown, rest;
    for (const Entry &entry : entries_) {
        const std::string heading = "## " + entry.table + "\n";
        const size_t found = text.find("\n" + heading);
        if (found == std::string::npos) {
            rest += "- " + entry.table + "\n  - " + before_line(entry) + "  - " + after_line(entry);
            continue;
        }
        const size_t begin = found + 1 + heading.size();
        text.insert(end_of_rows(text, begin), "\n" + after_line(entry));
        text.insert(begin, "\n" + before_line(entry));
    }
    return text.substr(1) + (rest.empty() ? "" : "\n## The machine's state\n\n" + rest);
}

Json States::json() const {
    std::vector<Json> list;
    for (const Entry &entry : entries_) {
        list.push_back(Json::object({{"table", entry.table},
                                     {"state", to_text(of(entry))},
                                     {"before", to_json(entry.before, best_)},
                                     {"after", to_json(entry.after, best_)}}));
    }
    return Json::array(list);
}

} // namespace bench
