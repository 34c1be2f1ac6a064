/* SPDX-License-Identifier: Apache-2.0
 *
 * boost::shared_mutex: a mutex and condition variables around a state.
 */
#include "../contender.h"

#include <boost/thread/shared_mutex.hpp>

namespace bench {
namespace {

struct Boost : Memberless {
    static constexpr const char *name = "boost::shared_mutex";
    static constexpr Waiting waiting = Waiting::parks;
    static constexpr size_t thread_bytes = 0;
    boost::shared_mutex lock;

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

const Enlisted boost_mutex{60, make_contender<Boost>()};

} // namespace
} // namespace bench
