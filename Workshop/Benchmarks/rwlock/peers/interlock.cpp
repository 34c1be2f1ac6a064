/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_rwlock.
 */
#include "../contender.h"

#include <interlock/rwlock.h>

namespace bench {
namespace {

struct Interlock : Memberless {
    static constexpr const char *name = "ilk_rwlock";
    static constexpr Waiting waiting = Waiting::parks;
#if __has_include(<interlock/inline/slots.h>)
    static constexpr size_t thread_bytes = sizeof(struct ilk__slot_block);
#else
    static constexpr size_t thread_bytes = 0;
#endif
    ilk_rwlock lock = ILK_RWLOCK_INIT;

    ~Interlock() {
        ilk_rwlock_destroy(&lock);
    }
    BENCH_INLINE void read_lock(Member &) {
        ilk_rwlock_read_lock(&lock);
    }
    BENCH_INLINE void read_unlock(Member &) {
        ilk_rwlock_read_unlock(&lock);
    }
    BENCH_INLINE void write_lock(Member &) {
        ilk_rwlock_write_lock(&lock);
    }
    BENCH_INLINE void write_unlock(Member &) {
        ilk_rwlock_write_unlock(&lock);
    }
};

const Enlisted interlock{0, make_contender<Interlock>()};

} // namespace
} // namespace bench
