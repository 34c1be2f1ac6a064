/* SPDX-License-Identifier: Apache-2.0
 *
 * Hand-over: two threads wake each other in turn through two semaphores; each turn is timed.
 */
#ifndef INTERLOCK_BENCHMARKS_MUTEX_BATON_H
#define INTERLOCK_BENCHMARKS_MUTEX_BATON_H

#include "../runner/clock.h"
#include "../runner/histogram.h"
#include "../runner/slice.h"

#include <atomic>
#include <string>
#include <vector>

namespace bench {

/* `measure` adds a slice's trips of one thread; its answer is empty, or the fault. */
struct Baton {
    std::string name;
    std::string (*measure)(SliceTimes times, Histogram *trips, SliceResult *result);
};

struct EnlistedBaton {
    EnlistedBaton(int position, Baton baton);
};
std::vector<Baton> batons();

/* An adapter has wait() and signal(), starts with no permit, and is named by `name`. */
template <class Semaphore> std::string pass_baton(SliceTimes times, Histogram *trips, SliceResult *result) {
    struct alignas(128) Side {
        Semaphore semaphore;
        uint64_t passed = 0; /* by the thread that waits here; read after the end */
    };
    Side there, back;
    std::atomic<bool> last{false};
    *result = run_slice(2, times, [&](Worker &worker) {
        if (worker.index == 1) {
            worker.gather();
            for (;;) {
                there.semaphore.wait();
                if (last.load(std::memory_order_relaxed)) { /* carried by the semaphore */
                    return;
                }
                ++there.passed;
                back.semaphore.signal();
            }
        }
        worker.gather(measuring);
        worker.begin_measuring();
        while (worker.in(measuring)) {
            uint64_t begin = ticks();
            there.semaphore.signal();
            back.semaphore.wait();
            trips->record(ticks() - begin);
            ++back.passed;
        }
        worker.end_measuring();
        last.store(true, std::memory_order_relaxed);
        there.semaphore.signal();
    });
    return there.passed == back.passed
               ? ""
               : std::to_string(there.passed) + " turns there and " + std::to_string(back.passed) + " back";
}

} // namespace bench

#endif
