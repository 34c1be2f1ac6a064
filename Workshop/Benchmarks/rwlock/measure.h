/* SPDX-License-Identifier: Apache-2.0
 *
 * One slice of one lock: throughput of a mix of reads and writes, or how long one side waits while the other
 * saturates the lock. A lost write, or a read of half a write, makes the slice void and the run fail.
 */
#ifndef INTERLOCK_BENCHMARKS_RWLOCK_MEASURE_H
#define INTERLOCK_BENCHMARKS_RWLOCK_MEASURE_H

#include "../runner/histogram.h"
#include "../runner/slice.h"
#include "../runner/throughput.h"
#include "contender.h"

#include <string>
#include <vector>

namespace bench {

struct Mix {
    unsigned threads;
    double writes; /* per cent */
    double section_ns;
};

/* Samples, one a round. */
using MixOutcome = Throughput;

/* Thread 0 takes the lock in one mode with a pause before each time; the others take it in the other mode as
 * fast as they can. */
struct Siege {
    unsigned threads;
    bool writer_waits;
    double section_ns;
    double pause_ns;
};

struct SiegeOutcome {
    Histogram waits;               /* of thread 0, in ticks, all rounds */
    std::vector<double> rates;     /* million operations a second of thread 0 */
    std::vector<double> besieging; /* of all the others */
};

/* Adds a round's sample to `outcome`; the answer is empty, or the lock's fault. */
std::string measure(const Contender &contender, const Mix &mix, SliceTimes times, uint64_t seed,
                    MixOutcome &outcome);
std::string measure(const Contender &contender, const Siege &siege, SliceTimes times, uint64_t seed,
                    SiegeOutcome &outcome);

} // namespace bench

#endif
