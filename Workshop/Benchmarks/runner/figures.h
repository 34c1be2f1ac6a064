/* SPDX-License-Identifier: Apache-2.0
 *
 * What a probe of the machine measures; probe.h takes it, state.h judges it.
 */
#ifndef INTERLOCK_BENCHMARKS_FIGURES_H
#define INTERLOCK_BENCHMARKS_FIGURES_H

namespace bench {

/* Of short repetitions: what the machine can do now, and what it does at most times. */
struct Sample {
    double best = 0, usual = 0; /* the best repetition, the median */
};

/* Of the probed core that does worst. */
struct Figures {
    Sample additions_per_ns; /* independent additions: a loop that is bound by its instructions */
    double additions_per_step =
        0;                   /* in the usual time of one step of work (clock.h): free of the frequency */
    Sample locked_ns;        /* an uncontended read-modify-write */
    Sample trip_ns;          /* a cache line to the other core and back; 0 on one core */
    double core_share = 1;   /* CPU time over time of the probing thread */
    double others_cores = 0; /* cores that other processes used in the time before the probe */
    double stolen_cores = 0; /* cores that the host took in that time */
    double watched_s = 0;    /* that time */
};

} // namespace bench

#endif
