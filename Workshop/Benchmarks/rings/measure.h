/* SPDX-License-Identifier: Apache-2.0
 *
 * One slice of one ring. A ring that loses, doubles, tears or reorders an element makes its slice void and
 * the run fail.
 */
#ifndef INTERLOCK_BENCHMARKS_RINGS_MEASURE_H
#define INTERLOCK_BENCHMARKS_RINGS_MEASURE_H

#include "../runner/histogram.h"
#include "../runner/slice.h"
#include "../runner/throughput.h"
#include "contender.h"

#include <string>
#include <vector>

namespace bench {

struct Flow {
    Transfer transfer;
    unsigned producers, consumers;
    size_t element; /* index into element_sizes */
    size_t capacity;
};

/* Samples, one a round. */
/* Of elements popped; the share is the less even side's. */
using FlowOutcome = Throughput;

/* One element to and fro between two threads on two cores. */
struct Trip {
    Transfer transfer;
    Sides sides;
};
struct TripOutcome {
    Histogram trips;             /* ticks, all rounds */
    std::vector<double> medians; /* ticks, one a round */
    std::vector<double> rates;
};

/* The cost of the waiting side. */
enum class Wait { for_nothing, slow_producer, slow_consumer };
const char *to_text(Wait wait);
struct Idleness {
    Wait wait;
    double pace_ns; /* of the slow side */
};
struct IdleOutcome {
    std::vector<double> cpu;      /* of the waiting thread, as a share of one core */
    std::vector<double> rates;    /* million elements a second */
    std::vector<double> switches; /* of the waiting thread, a second */
};

bool runs(const RingContender &contender, const Flow &flow);
bool runs(const RingContender &contender, const Trip &trip);
bool runs(const RingContender &contender, const Idleness &idleness);

/* Adds a round's sample to `outcome`; the answer is empty, or the ring's fault. */
std::string measure(const RingContender &, const Flow &, SliceTimes, FlowOutcome &);
std::string measure(const RingContender &, const Trip &, SliceTimes, TripOutcome &);
std::string measure(const RingContender &, const Idleness &, SliceTimes, IdleOutcome &);

} // namespace bench

#endif
