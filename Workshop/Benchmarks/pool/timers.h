/* SPDX-License-Identifier: Apache-2.0
 *
 * Many timers: set, every second one cancelled, the others fired, all of them due within a millisecond.
 */
#ifndef INTERLOCK_BENCHMARKS_POOL_TIMERS_H
#define INTERLOCK_BENCHMARKS_POOL_TIMERS_H

#include "contender.h"

#include <string>
#include <vector>

namespace bench {

struct TimerOutcome {
    /* Nanoseconds a timer, a sample a round. Fired: from the first deadline to the last call. */
    std::vector<double> set, cancelled, fired;
};

struct Timers {
    std::string name;
    /* `delays_ns` after `lead_ns`, in the order of setting. Empty, or what went wrong. */
    std::string (*measure)(const std::vector<uint64_t> &delays_ns, uint64_t lead_ns, TimerOutcome *outcome);
};

struct EnlistedTimers {
    EnlistedTimers(int position, Timers timers);
};
std::vector<Timers> timers();

/* An adapter is made for a number of timers; set(index, deadline) makes one call count_job, cancel(index) takes it
 * back where `cancels` is true, and wait(count) returns when that many jobs have run. */
template <class Adapter>
std::string measure_timers(const std::vector<uint64_t> &delays_ns, uint64_t lead_ns, TimerOutcome *outcome) {
    const size_t count = delays_ns.size();
    Adapter adapter(count);
    const uint64_t counted = jobs_counted();
    const uint64_t begin_ns = now_ns(), due_ns = begin_ns + lead_ns;
    for (size_t index = 0; index < count; ++index) {
        adapter.set(index, due_ns + delays_ns[index]);
    }
    const uint64_t set_ns = now_ns();
    size_t left = count;
    if constexpr (Adapter::cancels) {
        for (size_t index = 0; index < count; index += 2) {
            adapter.cancel(index);
            --left;
        }
    }
    const uint64_t cancelled_ns = now_ns();
    if (!adapter.wait(counted + left)) {
        return std::to_string(jobs_counted() - counted) + " of " + std::to_string(left) +
               " timers have fired";
    }
    const uint64_t fired_ns = now_ns();
    if (jobs_counted() != counted + left) {
        return "timers have fired that were cancelled";
    }
    if (cancelled_ns > due_ns) {
        return "the timers were due before all were set: --lead";
    }
    outcome->set.push_back(static_cast<double>(set_ns - begin_ns) / static_cast<double>(count));
    if constexpr (Adapter::cancels) {
        outcome->cancelled.push_back(static_cast<double>(cancelled_ns - set_ns) /
                                     static_cast<double>(count - left));
    }
    outcome->fired.push_back(static_cast<double>(fired_ns - due_ns) / static_cast<double>(left));
    return "";
}

} // namespace bench

#endif
