/* SPDX-License-Identifier: Apache-2.0
 *
 * Tables and JSON of the pools; the goals are in goals.cpp.
 */
#include "summary.h"

#include "../runner/statistics.h"

#include <interlock/pool.h>

#include <chrono>
#include <malloc.h>
#include <thread>

namespace bench {

const std::string fork_title = "Fork and join", wake_title = "Wake-up of an idle worker", idle_title = "Idle";

std::string submit_title(unsigned threads) {
    return "Empty jobs from " + std::to_string(threads) + " outside thread" + (threads > 1 ? "s" : "");
}

std::string loop_title(uint64_t count, bool is_uneven) {
    return "Loop of " + std::to_string(count) + " iterations, " +
           (is_uneven ? "very uneven: all work in the first 64th" : "even");
}

std::string timer_title(size_t count) {
    return std::to_string(count) + " timers";
}

static std::string with_spread(const std::vector<double> &samples, const std::string &text) {
    char spread[32];
    std::snprintf(spread, sizeof spread, " ±%.0f%%", median_deviation(samples) / median(samples) * 100);
    return text + spread;
}

/* How many times ours takes: the median over the rounds of the quotient within a round. Where rounds are missing, the
 * quotient of the medians. */
static std::string times_ours(const std::vector<double> &samples, const std::vector<double> &ours) {
    if (samples.size() != ours.size()) {
        return ours.empty() ? "" : digits(median(samples) / median(ours)) + "×";
    }
    std::vector<double> quotients;
    for (size_t round = 0; round < samples.size(); ++round) {
        quotients.push_back(samples[round] / ours[round]);
    }
    return digits(median(quotients)) + "×";
}

static std::string submissions_markdown(const PoolResults &results) {
    std::string text;
    for (const SubmitSection &section : results.submissions) {
        text +=
            "## " + submit_title(section.threads) + "\n\nNanoseconds a job, of " +
            std::to_string(results.jobs) +
            " (std::async: 1000): until all have run; in the submitting thread; CPU of the process. Context "
            "switches per thousand jobs.\n\n";
        Table table({"pool", "a job", "× ours", "submitter", "CPU", "switches"});
        for (const SubmitCell &cell : section.cells) {
            const SubmitOutcome &outcome = cell.outcome;
            table.add({cell.submission.name, with_spread(outcome.job_ns, duration(median(outcome.job_ns))),
                       times_ours(outcome.job_ns, section.cells.front().outcome.job_ns),
                       duration(median(outcome.submit_ns)), duration(median(outcome.cpu_ns)),
                       digits(median(outcome.switches))});
        }
        text += table.markdown() + "\n";
    }
    return text;
}

static void add_span(Table &table, const std::string &name, const SpanOutcome &outcome,
                     const SpanOutcome &ours, double parts) {
    if (!outcome.ns.empty()) {
        table.add({name, with_spread(outcome.ns, duration(median(outcome.ns))),
                   times_ours(outcome.ns, ours.ns), duration(median(outcome.ns) / parts),
                   duration(median(outcome.cpu_ns) / parts)});
    }
}

static std::string spans_markdown(const PoolResults &results) {
    std::string text;
    if (!results.fibonacci.empty()) {
        const uint64_t forks = fibonacci_forks(results.fibonacci_number);
        Table table({"pool", "time", "× ours", "a fork", "CPU a fork"});
        for (size_t index = 0; index < results.pools.size(); ++index) {
            add_span(table, results.pools[index].name, results.fibonacci[index], results.fibonacci.front(),
                     static_cast<double>(forks));
        }
        text += "## " + fork_title + "\n\nfib(" + std::to_string(results.fibonacci_number) +
                ") without a cut-off: " + std::to_string(forks) + " forks, " + std::to_string(2 * forks + 1) +
                " calls.\n\n" + table.markdown() + "\n";
    }
    for (int is_uneven = 0; is_uneven < 2; ++is_uneven) {
        if (results.loops[is_uneven].empty()) {
            continue;
        }
        Table table({"pool", "time", "× ours", "an iteration", "CPU an iteration"});
        for (size_t index = 0; index <= results.pools.size(); ++index) {
            add_span(table, index < results.pools.size() ? results.pools[index].name : "one thread",
                     results.loops[is_uneven][index], results.loops[is_uneven].front(),
                     static_cast<double>(results.loop_count));
        }
        text += "## " + loop_title(results.loop_count, is_uneven != 0) + "\n\n" + table.markdown() + "\n";
    }
    return text;
}

static std::string wakes_markdown(const PoolResults &results) {
    if (results.wakes.empty()) {
        return "";
    }
    Table table({"pool", "p50", "p99", "p99.9", "max", "the call, p50", "CPU", "wake-ups"});
    for (size_t index = 0; index < results.pools.size(); ++index) {
        const WakeOutcome &outcome = results.wakes[index];
        auto at = [&](double share) { return duration(outcome.waits.quantile(share) / ticks_per_ns()); };
        table.add({results.pools[index].name, at(0.5), at(0.99), at(0.999),
                   duration(static_cast<double>(outcome.waits.largest) / ticks_per_ns()),
                   duration(outcome.calls.quantile(0.5) / ticks_per_ns()), duration(median(outcome.cpu_ns)),
                   std::to_string(outcome.waits.count())});
    }
    return "## " + wake_title +
           "\n\nFrom before the submission to the job's first step. CPU: of the "
           "process, "
           "a wake-up, with the worker's spinning before it sleeps again and the measuring thread's "
           "share.\n\n" +
           table.markdown() + "\n";
}

static std::string idling_markdown(const PoolResults &results) {
    if (results.idling.empty()) {
        return "";
    }
    Table table({"pool", "CPU in a second", "context switches"});
    for (size_t index = 0; index < results.pools.size(); ++index) {
        table.add({results.pools[index].name, duration(median(results.idling[index].cpu_us) * 1e3),
                   digits(median(results.idling[index].switches))});
    }
    return "## " + idle_title +
           "\n\nThe whole process; the measuring thread sleeps, and takes two switches and some "
           "microseconds for that.\n\n" +
           table.markdown() + "\n";
}

static std::string timers_markdown(const PoolResults &results) {
    if (results.timing.empty()) {
        return "";
    }
    Table table({"timers", "set", "× ours", "cancel", "× ours", "fire", "× ours"});
    const TimerOutcome &ours = results.timing.front();
    for (size_t index = 0; index < results.timers.size(); ++index) {
        const TimerOutcome &outcome = results.timing[index];
        const bool cancels = !outcome.cancelled.empty();
        table.add({results.timers[index].name, with_spread(outcome.set, duration(median(outcome.set))),
                   times_ours(outcome.set, ours.set),
                   cancels ? with_spread(outcome.cancelled, duration(median(outcome.cancelled))) : "–",
                   cancels ? times_ours(outcome.cancelled, ours.cancelled) : "",
                   with_spread(outcome.fired, duration(median(outcome.fired))),
                   times_ours(outcome.fired, ours.fired)});
    }
    return "## " + timer_title(results.timer_count) +
           "\n\nSet one after the other, in random order of deadlines; every second one cancelled; "
           "the others "
           "due within a millisecond. Nanoseconds a timer; fire: from the first deadline to the last call, "
           "over "
           "those fired. dispatch_after cannot be cancelled, and fires all.\n\n" +
           table.markdown() + "\n";
}

/* What an ilk_pool of so many threads takes from the heap, with what the C library allocates for a thread; stacks are
 * not on it. */
static double heap_of(uint32_t threads) {
    ilk_pool_options options{};
    options.threads = threads;
    ilk_pool *pool;
    const size_t before = mallinfo2().uordblks;
    if (ilk_pool_create(&pool, &options) != ILK_OK) {
        return 0;
    }
    std::this_thread::sleep_for(
        std::chrono::milliseconds(50)); /* the threads have their own memory by then */
    const size_t after = mallinfo2().uordblks;
    ilk_pool_destroy(pool);
    return static_cast<double>(after) - static_cast<double>(before);
}

static std::string memory_markdown(const PoolResults &results) {
    if (results.memory.empty()) {
        return "";
    }
    Table table({"pool", "threads", "heap of a new pool", "resident, all threads at work", "a waiting job"});
    for (size_t index = 0; index < results.pools.size(); ++index) {
        const MemoryOutcome &outcome = results.memory[index];
        table.add({results.pools[index].name, std::to_string(outcome.threads),
                   digits(outcome.heap_bytes) + " B", digits(outcome.resident_bytes / 1024) + " KiB",
                   outcome.job_bytes == 0 ? "–" : digits(outcome.job_bytes) + " B"});
    }
    const double one = heap_of(1), nine = heap_of(9), worker = (nine - one) / 8;
    return "## Memory\n\nFrom the heap: an ilk_pool " + digits(one - worker) + " bytes, each worker " +
           digits(worker) + " more. sizeof: ilk_job " + std::to_string(sizeof(ilk_job)) + ", ilk_group " +
           std::to_string(sizeof(ilk_group)) + ", ilk_timer " + std::to_string(sizeof(ilk_timer)) +
           " bytes. Measured, in a process each; a waiting job with what it calls, of 100,000 that "
           "wait.\n\n" +
           table.markdown() + "\n";
}

std::string to_markdown(const PoolResults &results) {
    return submissions_markdown(results) + spans_markdown(results) + wakes_markdown(results) +
           idling_markdown(results) + timers_markdown(results) + memory_markdown(results);
}

/* ---- JSON ---- */

static Json span_json(const std::string &name, const SpanOutcome &outcome) {
    return Json::object({{"pool", name},
                         {"median_ns", median(outcome.ns)},
                         {"cpu_ns", median(outcome.cpu_ns)},
                         {"samples", outcome.ns}});
}

std::vector<std::pair<std::string, Json>> to_json(const PoolResults &results) {
    std::vector<Json> submissions, fibonacci, loops[2], wakes, idling, timing, memory;
    for (const SubmitSection &section : results.submissions) {
        for (const SubmitCell &cell : section.cells) {
            submissions.push_back(Json::object({{"pool", cell.submission.name},
                                                {"threads", section.threads},
                                                {"median_ns", median(cell.outcome.job_ns)},
                                                {"submitter_ns", median(cell.outcome.submit_ns)},
                                                {"cpu_ns", median(cell.outcome.cpu_ns)},
                                                {"switches_per_thousand", median(cell.outcome.switches)},
                                                {"samples", cell.outcome.job_ns}}));
        }
    }
    for (size_t index = 0; index <= results.pools.size(); ++index) {
        const std::string name = index < results.pools.size() ? results.pools[index].name : "one thread";
        for (int is_uneven = 0; is_uneven < 2; ++is_uneven) {
            if (!results.loops[is_uneven].empty() && !results.loops[is_uneven][index].ns.empty()) {
                loops[is_uneven].push_back(span_json(name, results.loops[is_uneven][index]));
            }
        }
        if (index == results.pools.size()) {
            break;
        }
        if (!results.fibonacci.empty() && !results.fibonacci[index].ns.empty()) {
            fibonacci.push_back(span_json(name, results.fibonacci[index]));
        }
        if (!results.wakes.empty()) {
            const WakeOutcome &outcome = results.wakes[index];
            auto at = [&](double share) { return outcome.waits.quantile(share) / ticks_per_ns(); };
            wakes.push_back(Json::object({{"pool", name},
                                          {"p50_ns", at(0.5)},
                                          {"p99_ns", at(0.99)},
                                          {"p99_9_ns", at(0.999)},
                                          {"call_p50_ns", outcome.calls.quantile(0.5) / ticks_per_ns()},
                                          {"cpu_ns", median(outcome.cpu_ns)},
                                          {"p50_samples", outcome.p50_ns},
                                          {"p99_samples", outcome.p99_ns}}));
        }
        if (!results.idling.empty()) {
            idling.push_back(Json::object({{"pool", name},
                                           {"cpu_us_per_second", median(results.idling[index].cpu_us)},
                                           {"switches_per_second", median(results.idling[index].switches)}}));
        }
        if (!results.memory.empty()) {
            const MemoryOutcome &outcome = results.memory[index];
            memory.push_back(Json::object({{"pool", name},
                                           {"threads", outcome.threads},
                                           {"heap_bytes", outcome.heap_bytes},
                                           {"resident_bytes", outcome.resident_bytes},
                                           {"waiting_job_bytes", outcome.job_bytes}}));
        }
    }
    for (size_t index = 0; index < results.timing.size(); ++index) {
        const TimerOutcome &outcome = results.timing[index];
        timing.push_back(Json::object({{"timers", results.timers[index].name},
                                       {"set_ns", outcome.set},
                                       {"cancel_ns", outcome.cancelled},
                                       {"fire_ns", outcome.fired}}));
    }
    return {{"submissions", Json::array(submissions)}, {"fibonacci", Json::array(fibonacci)},
            {"loop_even", Json::array(loops[0])},      {"loop_uneven", Json::array(loops[1])},
            {"wake_ups", Json::array(wakes)},          {"idle", Json::array(idling)},
            {"timers", Json::array(timing)},           {"memory", Json::array(memory)}};
}

} // namespace bench
