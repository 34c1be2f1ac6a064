/* SPDX-License-Identifier: Apache-2.0
 *
 * From samples to what is printed: tables, goals, JSON.
 */
#ifndef INTERLOCK_BENCHMARKS_POOL_SUMMARY_H
#define INTERLOCK_BENCHMARKS_POOL_SUMMARY_H

#include "../runner/report.h"
#include "../runner/states.h"
#include "measure.h"
#include "timers.h"

#include <string>
#include <utility>
#include <vector>

namespace bench {

/* A way to submit, of the pool of that index. */
struct SubmitCell {
    size_t pool;
    Submission submission;
    SubmitOutcome outcome;
};
struct SubmitSection {
    unsigned threads;
    std::vector<SubmitCell> cells;
};

/* Outcomes in the order of the pools; of those that lack the part, without samples. */
struct PoolResults {
    std::vector<Pool> pools;
    std::vector<Timers> timers;
    uint64_t jobs;
    std::vector<SubmitSection> submissions;
    unsigned fibonacci_number;
    std::vector<SpanOutcome> fibonacci;
    uint64_t loop_count;
    std::vector<SpanOutcome> loops[2]; /* even, uneven; and the serial one at the end */
    std::vector<WakeOutcome> wakes;
    std::vector<IdleOutcome> idling;
    size_t timer_count;
    std::vector<TimerOutcome> timing; /* in the order of the timers */
    std::vector<MemoryOutcome> memory;
};

/* Of the tables that show them. */
extern const std::string fork_title, wake_title, idle_title;
std::string submit_title(unsigned threads);
std::string loop_title(uint64_t count, bool is_uneven);
std::string timer_title(size_t count);

std::string to_markdown(const PoolResults &results);

/* Each judged in its table's state. */
std::string goals_markdown(const PoolResults &results, const States &states);
std::vector<std::pair<std::string, Json>> to_json(const PoolResults &results);

} // namespace bench

#endif
