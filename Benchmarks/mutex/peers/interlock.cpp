/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_mutex, with and without priority inheritance, and ilk_semaphore, as a lock of one permit and as a
 * baton.
 */
#include "../baton.h"
#include "../lock.h"

#include <interlock/mutex.h>
#include <interlock/semaphore.h>

namespace bench {
namespace {

template <bool inherits> struct Mutex {
    static constexpr const char *name = inherits ? "ilk_mutex (inheriting)" : "ilk_mutex";
    ilk_mutex mutex;

    Mutex() {
        ilk_mutex_init(&mutex, inherits);
    }
    BENCH_INLINE void lock() {
        ilk_mutex_lock(&mutex);
    }
    BENCH_INLINE void unlock() {
        ilk_mutex_unlock(&mutex);
    }
};

template <uint32_t permits> struct Semaphore {
    static constexpr const char *name = "ilk_semaphore";
    ilk_semaphore semaphore = ILK_SEMAPHORE_INIT(permits);

    ~Semaphore() {
        ilk_semaphore_destroy(&semaphore);
    }
    BENCH_INLINE void wait() {
        ilk_semaphore_wait(&semaphore);
    }
    BENCH_INLINE void signal() {
        ilk_semaphore_signal(&semaphore, 1);
    }
    BENCH_INLINE void lock() {
        wait();
    }
    BENCH_INLINE void unlock() {
        signal();
    }
};

const Enlisted mutex{0, make_contender<OneMode<Mutex<false>>>()};
const Enlisted inheriting{2, make_contender<OneMode<Mutex<true>>>()};
const Enlisted semaphore{4, make_contender<OneMode<Semaphore<1>>>()};
const EnlistedBaton baton{0, {Semaphore<0>::name, pass_baton<Semaphore<0>>}};

} // namespace
} // namespace bench
