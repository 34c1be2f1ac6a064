/* SPDX-License-Identifier: Apache-2.0
 *
 * pthread_rwlock_t with its defaults (readers preferred), and std::shared_mutex, which is one with checks
 * around it.
 */
#include "../contender.h"

#include <pthread.h>
#include <shared_mutex>

namespace bench {
namespace {

struct Pthread : Memberless {
    static constexpr const char *name = "pthread_rwlock";
    static constexpr Waiting waiting = Waiting::parks;
    static constexpr size_t thread_bytes = 0;
    pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;

    ~Pthread() {
        pthread_rwlock_destroy(&lock);
    }
    BENCH_INLINE void read_lock(Member &) {
        pthread_rwlock_rdlock(&lock);
    }
    BENCH_INLINE void read_unlock(Member &) {
        pthread_rwlock_unlock(&lock);
    }
    BENCH_INLINE void write_lock(Member &) {
        pthread_rwlock_wrlock(&lock);
    }
    BENCH_INLINE void write_unlock(Member &) {
        pthread_rwlock_unlock(&lock);
    }
};

struct Standard : SharedMutex<std::shared_mutex> {
    static constexpr const char *name = "std::shared_mutex";
    static constexpr Waiting waiting = Waiting::parks;
};

const Enlisted posix{10, make_contender<Pthread>()};
const Enlisted standard{11, make_contender<Standard>()};

} // namespace
} // namespace bench
