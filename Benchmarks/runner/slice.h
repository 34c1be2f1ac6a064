/* SPDX-License-Identifier: Apache-2.0
 *
 * One slice: a few threads, each pinned to a core, do the same thing for some tens of milliseconds.
 * Contenders take turns slice by slice, so that a change of the machine in the course of minutes (frequency,
 * neighbours, temperature) meets all of them.
 *
 * A slice goes through phases, which the coordinating thread sets and the workers read:
 *
 *     gathering   workers start, pin themselves, register with the contender
 *     warming     they work; nothing counts yet (adaptive contenders settle)
 *     measuring   they work, and count
 *     stopping    they finish what they are in and go
 *
 * Every slice has new threads: a contender with state per thread sees exactly as many threads as the slice
 * has.
 */
#ifndef INTERLOCK_BENCHMARKS_SLICE_H
#define INTERLOCK_BENCHMARKS_SLICE_H

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

namespace bench {

enum Phase : uint32_t { gathering, warming, measuring, stopping };

/* What one thread used while it measured. */
struct Usage {
    long voluntary = 0;   /* context switches: it went to sleep */
    long involuntary = 0; /* context switches: it was taken off its core */
    double cpu_seconds = 0;
};

/* A worker's view of its slice. */
class Worker {
  public:
    Worker(unsigned index, unsigned count, const std::atomic<uint32_t> &phase,
           std::atomic<unsigned> &gathered)
        : index(index), count(count), phase_(phase), gathered_(gathered) {}

    const unsigned index; /* 0 to count - 1 */
    const unsigned count;

    /* The word to poll, as the measured loops (some of which are not C++) read it. */
    const uint32_t *phase_word() const {
        static_assert(sizeof(phase_) == sizeof(uint32_t));
        return reinterpret_cast<const uint32_t *>(&phase_);
    }

    bool in(Phase phase) const {
        return phase_.load(std::memory_order_relaxed) == phase;
    }

    /* Says that this thread is ready, and waits until the slice has reached `phase`. */
    void gather(Phase phase = warming);

    /* Around the measured part. */
    void begin_measuring();
    void end_measuring();

    Usage usage;

  private:
    const std::atomic<uint32_t> &phase_;
    std::atomic<unsigned> &gathered_;
    bool is_gathered_ = false;
};

struct SliceTimes {
    uint64_t warming_ns;
    uint64_t measuring_ns;
};

/* Long enough for that many threads: where several share a core, each must have a few turns on it. Otherwise
 * the slowest thread's share shows the scheduler, not the contender. */
SliceTimes stretched(SliceTimes times, unsigned threads);

struct SliceResult {
    double seconds = 0; /* of the measuring phase, measured */
    std::vector<Usage> usage;
};

/* Runs `body` on `threads` threads, thread i on core i modulo the number of cores. Every body must
 * call gather. Returns when all have ended. */
SliceResult run_slice(unsigned threads, SliceTimes times, const std::function<void(Worker &)> &body);

/* The median time, in nanoseconds, in which a cache line that two cores write in turn goes there and back; 0
 * on one core. Takes some 2 ms. */
double line_trip_ns();

/* The cores this process may run on. */
const std::vector<int> &cores();

} // namespace bench

#endif
