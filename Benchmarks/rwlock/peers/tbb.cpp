/* SPDX-License-Identifier: Apache-2.0
 *
 * oneTBB: rw_mutex, which at last sleeps by address, and spin_rw_mutex, which spins and then yields.
 */
#include "../contender.h"

#include <oneapi/tbb/rw_mutex.h>
#include <oneapi/tbb/spin_rw_mutex.h>

namespace bench {
namespace {

template <class Mutex> struct Tbb : Memberless {
    static constexpr size_t thread_bytes = 0;
    Mutex lock;

    BENCH_INLINE void read_lock(Member &) {
        lock.lock_shared();
    }
    BENCH_INLINE void read_unlock(Member &) {
        lock.unlock_shared();
    }
    BENCH_INLINE void write_lock(Member &) {
        lock.lock();
    }
    BENCH_INLINE void write_unlock(Member &) {
        lock.unlock();
    }
};

struct Parking : Tbb<tbb::rw_mutex> {
    static constexpr const char *name = "tbb::rw_mutex";
    static constexpr Waiting waiting = Waiting::parks;
};

struct Yielding : Tbb<tbb::spin_rw_mutex> {
    static constexpr const char *name = "tbb::spin_rw_mutex";
    static constexpr Waiting waiting = Waiting::yields;
};

const Enlisted parking{20, make_contender<Parking>()};
const Enlisted yielding{80, make_contender<Yielding>()};

} // namespace
} // namespace bench
