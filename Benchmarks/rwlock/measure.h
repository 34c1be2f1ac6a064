/* SPDX-License-Identifier: Apache-2.0
 *
 * One slice of one lock: throughput of a mix of reads and writes, or how long one side waits while the
 * other saturates the lock. Every slice checks the lock: if a write is lost or a read
 * sees half of a write, the slice is void and the run fails.
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

/* Thread 0 takes the lock for writing (or reading) with a pause before each time; all the others take
 * it for reading (or writing) as fast as they can. */
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

/* Adds a round's sample to `outcome`. The answer is empty, or names the lock's fault. */
std::string measure(const Contender &contender, const Mix &mix, SliceTimes times, uint64_t seed,
                    MixOutcome &outcome);
std::string measure(const Contender &contender, const Siege &siege, SliceTimes times, uint64_t seed,
                    SiegeOutcome &outcome);

} // namespace bench

#endif
