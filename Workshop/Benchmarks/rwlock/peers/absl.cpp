/* SPDX-License-Identifier: Apache-2.0
 *
 * absl::Mutex in both modes. Its per-thread structure is private.
 */
#include "../contender.h"

#include <absl/synchronization/mutex.h>

namespace bench {
namespace {

struct Abseil : Memberless {
    static constexpr const char *name = "absl::Mutex";
    static constexpr Waiting waiting = Waiting::parks;
    static constexpr size_t thread_bytes = unknown_bytes;
    absl::Mutex lock;

    BENCH_INLINE void read_lock(Member &) {
        lock.ReaderLock();
    }
    BENCH_INLINE void read_unlock(Member &) {
        lock.ReaderUnlock();
    }
    BENCH_INLINE void write_lock(Member &) {
        lock.Lock();
    }
    BENCH_INLINE void write_unlock(Member &) {
        lock.Unlock();
    }
};

const Enlisted abseil{50, make_contender<Abseil>()};

} // namespace
} // namespace bench
