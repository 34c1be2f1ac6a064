/* SPDX-License-Identifier: Apache-2.0
 *
 * The state of the machine before and after each table of a run.
 */
#ifndef INTERLOCK_BENCHMARKS_STATES_H
#define INTERLOCK_BENCHMARKS_STATES_H

#include "state.h"

#include <string>
#include <vector>

namespace bench {

class States {
  public:
    /* The figures before the first cell of the table under this heading, and after its last one. */
    void add(const std::string &table, const Figures &before, const Figures &after);

    /* Figures of no table, taken before, count for the best of the run, too. */
    void see(const Best &best) {
        best_.see(best);
    }

    /* All are judged by the best of the whole run. */
    State of(const std::string &table) const; /* unknown without its figures */
    State of_run() const;

    /* `markdown` with a line before and one after each table, below its heading "## TABLE" and below its last row.
     * A table whose heading is not there is listed at the end. */
    std::string insert(const std::string &markdown) const;

    Json json() const; /* an array of {"table", "state", "before", "after"} */

  private:
    struct Entry {
        std::string table;
        Figures before, after;
    };
    State of(const Entry &entry) const;
    std::string before_line(const Entry &entry) const;
    std::string after_line(const Entry &entry) const;

    std::vector<Entry> entries_;
    Best best_;
};

} // namespace bench

#endif
