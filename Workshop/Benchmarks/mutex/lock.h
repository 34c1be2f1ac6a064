/* SPDX-License-Identifier: Apache-2.0
 *
 * A lock without a reader mode, in the reader–writer locks' loops: reads take it, too.
 */
#ifndef INTERLOCK_BENCHMARKS_MUTEX_LOCK_H
#define INTERLOCK_BENCHMARKS_MUTEX_LOCK_H

#include "../rwlock/contender.h"

namespace bench {

/* Base has lock() and unlock(). */
template <class Base> struct OneMode : Memberless {
    static constexpr const char *name = Base::name;
    static constexpr Waiting waiting = Waiting::parks;
    static constexpr size_t thread_bytes = 0;
    Base base;

    BENCH_INLINE void read_lock(Member &) {
        base.lock();
    }
    BENCH_INLINE void read_unlock(Member &) {
        base.unlock();
    }
    BENCH_INLINE void write_lock(Member &) {
        base.lock();
    }
    BENCH_INLINE void write_unlock(Member &) {
        base.unlock();
    }
};

} // namespace bench

#endif
