/* SPDX-License-Identifier: Apache-2.0
 *
 * What all suites share: the run, from its command line to its output, around their own cells and tables.
 */
#ifndef INTERLOCK_BENCHMARKS_SUITE_H
#define INTERLOCK_BENCHMARKS_SUITE_H

#include "options.h"
#include "probe.h"
#include "report.h"
#include "rounds.h"
#include "states.h"

#include <string>
#include <utility>
#include <vector>

namespace bench {

/* For suites that count instructions. */
inline constexpr Options::Flag instructions_flag{
    "--instructions", "", "only the instructions of one operation, which a full run counts too"};
inline constexpr Options::Flag no_instructions_flag{"--no-instructions", "", "leave them out"};

class Suite {
  public:
    struct Texts {
        const char *name; /* in the JSON */
        const char *help; /* the first line of --help */
        const char *title;
        const char *work; /* a sentence on what was done, or nothing */
    };

    /* All suites know --only, --seed, --urgent, --no-state, --until-quiet and --json; `flags` are a suite's own. */
    Suite(int count, char **arguments, const Texts &texts, const std::vector<Options::Flag> &flags);

    const Options options;
    Rounds turns;

    /* Whether this run counts instructions: by --instructions, or as a full run. */
    bool counts_instructions() const {
        return options.has("--instructions") || !(options.has("--quick") || options.has("--no-instructions"));
    }

    /* Those that --only selects. */
    template <class Contender> std::vector<Contender> selected(const std::vector<Contender> &all) const {
        std::vector<Contender> some;
        for (const Contender &contender : all) {
            if (options.selects(contender.name)) {
                some.push_back(contender);
            }
        }
        return some;
    }

    /* The cells that follow are those of the table under the heading "## TITLE". Probes the machine where the
     * title is a new one; before the first table waits for --until-quiet. */
    void table(const std::string &title);

    /* No table follows. The goals are judged by these states. */
    const States &end_tables();

    /* Prints the head, the missing peers and `tables`; for --json writes the same facts and `members`. Returns
     * the program's exit status: 1 if a slice had a fault. `slice_ms` is 0 where the work ends a slice, on
     * threads that are not the runner's; `rounds` is 0 where nothing was timed. */
    int report(unsigned rounds, double slice_ms, const std::string &tables,
               std::vector<std::pair<std::string, Json>> members);

  private:
    const Texts texts_;
    const double until_quiet_minutes_;
    Machine facts_;
    Neighbours neighbours_;
    Probe probe_;
    States states_;
    Figures last_figures_; /* before the open table */
    bool has_begun_ = false;
    std::string open_table_;
};

} // namespace bench

#endif
