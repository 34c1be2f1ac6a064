/* SPDX-License-Identifier: Apache-2.0
 *
 * One slice: a few threads, each new and pinned to a core, do the same thing for some tens of milliseconds.
 * Contenders take turns slice by slice, so that a slow change of the machine (frequency, neighbours,
 * temperature) meets all. The coordinating thread sets a slice's phases, and the workers read them:
 *
 *     gathering   workers start, pin themselves, register with the contender
 *     warming     they work; nothing counts yet (adaptive contenders settle)
 *     measuring   they work, and count
 *     stopping    they finish what they are in and go
 */
#ifndef INTERLOCK_BENCHMARKS_SLICE_H
#define INTERLOCK_BENCHMARKS_SLICE_H

#include <atomic>
#include <cstdint>
#include <functional>
#include <vector>

namespace bench {

enum Phase : uint32_t { gathering, warming, measuring, stopping };

struct Usage {
    long voluntary = 0;   /* context switches: it went to sleep */
    long involuntary = 0; /* context switches off its core */
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

    /* The word that the measured loops (some not C++) poll. */
    const uint32_t *phase_word() const {
        static_assert(sizeof(phase_) == sizeof(uint32_t));
        return reinterpret_cast<const uint32_t *>(&phase_);
    }

    bool in(Phase phase) const {
        return phase_.load(std::memory_order_relaxed) == phase;
    }

    /* This thread is ready; waits until the slice has reached `phase`. */
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

/* Measures for `ms`, and warms up for an eighth of that before. */
SliceTimes slice_of(double ms);

/* Long enough for a few turns of each thread on a shared core. */
SliceTimes stretched(SliceTimes times, unsigned threads);

struct SliceResult {
    double seconds = 0; /* of the measuring phase, measured */
    std::vector<Usage> usage;
};

/* Runs `body` on `threads` threads, thread i on core i modulo the number of cores. Every body calls gather.
 * Returns when all have ended. */
SliceResult run_slice(unsigned threads, SliceTimes times, const std::function<void(Worker &)> &body);

/* The median nanoseconds of a cache line's round trip between two writing cores; 0 on one core. Takes some 2
 * ms. */
double line_trip_ns();

/* The cores this process may run on. */
const std::vector<int> &cores();

/* Keeps the calling thread on core `index` modulo the number of cores; exits with a message where it cannot. */
void pin(unsigned index);

} // namespace bench

#endif
