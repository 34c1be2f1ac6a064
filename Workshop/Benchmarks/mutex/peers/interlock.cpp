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

template <uint32_t permits, bool barges> struct Semaphore {
    static constexpr const char *name = barges ? "ilk_semaphore (barging)" : "ilk_semaphore";
    ilk_semaphore semaphore;

    Semaphore() {
        barges ? ilk_semaphore_init_barging(&semaphore, permits) : ilk_semaphore_init(&semaphore, permits);
    }
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
const Enlisted semaphore{4, make_contender<OneMode<Semaphore<1, false>>>()};
const Enlisted barging{5, make_contender<OneMode<Semaphore<1, true>>>()};
const EnlistedBaton baton{0, {Semaphore<0, false>::name, pass_baton<Semaphore<0, false>>}};
const EnlistedBaton barging_baton{1, {Semaphore<0, true>::name, pass_baton<Semaphore<0, true>>}};

} // namespace
} // namespace bench
