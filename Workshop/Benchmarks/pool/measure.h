/* SPDX-License-Identifier: Apache-2.0
 *
 * The measurements of one pool. Each makes a pool, warms it up, measures once, ends the pool, and adds a sample to its
 * outcome. All answer nothing, or what went wrong.
 */
#ifndef INTERLOCK_BENCHMARKS_POOL_MEASURE_H
#define INTERLOCK_BENCHMARKS_POOL_MEASURE_H

#include "../runner/histogram.h"
#include "contender.h"

#include <string>
#include <vector>

namespace bench {

struct SubmitOutcome {
    /* From the first submission to the end of the last job, over the number of jobs. */
    std::vector<double> job_ns;
    /* From the first submission to the return of the last one, over the jobs of a thread. */
    std::vector<double> submit_ns;
    std::vector<double> cpu_ns;   /* of the whole process, a job */
    std::vector<double> switches; /* context switches of the process, per thousand jobs */
};
std::string measure_submissions(const Pool &pool, const Submission &submission, unsigned threads,
                                uint64_t jobs, SubmitOutcome *outcome);

struct SpanOutcome {
    std::vector<double> ns;     /* of one pass, the mean of six in a row */
    std::vector<double> cpu_ns; /* of the whole process meanwhile */
    template <class Body> void add_span(const Body &body);
};
std::string measure_fibonacci(const Pool &pool, unsigned number, SpanOutcome *outcome);
std::string measure_loop(const Pool &pool, uint64_t count, bool is_uneven, SpanOutcome *outcome);
/* The same on the calling thread alone. */
void measure_serial_loop(uint64_t count, bool is_uneven, SpanOutcome *outcome);

struct WakeOutcome {
    Histogram waits;                    /* in ticks: from before the submission to the job's first step */
    Histogram calls;                    /* of these, how long the submission took */
    std::vector<double> p50_ns, p99_ns; /* a sample a round */
    /* Of the process, a wake-up: with what the worker spins before it sleeps. */
    std::vector<double> cpu_ns;
};
std::string measure_wakes(const Pool &pool, unsigned wakes, uint64_t pause_ns, WakeOutcome *outcome);

struct IdleOutcome {
    std::vector<double> cpu_us;   /* of the process in a second */
    std::vector<double> switches; /* of the process in a second */
};
std::string measure_idling(const Pool &pool, IdleOutcome *outcome);

struct MemoryOutcome {
    double heap_bytes = 0;     /* allocated by making the pool */
    double resident_bytes = 0; /* pages touched by that and by one job on each thread, stacks included */
    double job_bytes = 0;      /* pages touched by a job that waits: of 100,000 */
    unsigned threads = 0;      /* started */
};
/* In a child process: to be called before any thread is started. */
MemoryOutcome measure_memory(const Pool &pool);

/* fib(number). */
uint64_t fibonacci_of(unsigned number);
/* How many jobs are forked for it. */
uint64_t fibonacci_forks(unsigned number);

} // namespace bench

#endif
