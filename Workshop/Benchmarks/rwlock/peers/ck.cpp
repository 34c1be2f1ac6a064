/* SPDX-License-Identifier: Apache-2.0
 *
 * Concurrency Kit's three: ck_brlock (readers write only to a structure of their own, registered by hand with
 * each lock), ck_rwlock (a count; writers first) and ck_pflock (phase-fair). All spin without a limit.
 */
#include "../contender.h"

#include <ck_brlock.h>
#include <ck_pflock.h>
#include <ck_rwlock.h>

namespace bench {
namespace {

struct Brlock {
    static constexpr const char *name = "ck_brlock";
    static constexpr Waiting waiting = Waiting::spins;
    /* A cache line of its own, per lock and thread. */
    struct alignas(128) Member {
        ck_brlock_reader_t reader;
    };
    static constexpr size_t thread_bytes = sizeof(ck_brlock_reader_t);
    ck_brlock_t lock = CK_BRLOCK_INITIALIZER;

    void enter(Member &me) {
        ck_brlock_read_register(&lock, &me.reader);
    }
    void leave(Member &me) {
        ck_brlock_read_unregister(&lock, &me.reader);
    }
    BENCH_INLINE void read_lock(Member &me) {
        ck_brlock_read_lock(&lock, &me.reader);
    }
    BENCH_INLINE void read_unlock(Member &me) {
        ck_brlock_read_unlock(&me.reader);
    }
    BENCH_INLINE void write_lock(Member &) {
        ck_brlock_write_lock(&lock);
    }
    BENCH_INLINE void write_unlock(Member &) {
        ck_brlock_write_unlock(&lock);
    }
};

struct Rwlock : Memberless {
    static constexpr const char *name = "ck_rwlock";
    static constexpr Waiting waiting = Waiting::spins;
    static constexpr size_t thread_bytes = 0;
    ck_rwlock_t lock = CK_RWLOCK_INITIALIZER;

    BENCH_INLINE void read_lock(Member &) {
        ck_rwlock_read_lock(&lock);
    }
    BENCH_INLINE void read_unlock(Member &) {
        ck_rwlock_read_unlock(&lock);
    }
    BENCH_INLINE void write_lock(Member &) {
        ck_rwlock_write_lock(&lock);
    }
    BENCH_INLINE void write_unlock(Member &) {
        ck_rwlock_write_unlock(&lock);
    }
};

struct Pflock : Memberless {
    static constexpr const char *name = "ck_pflock";
    static constexpr Waiting waiting = Waiting::spins;
    static constexpr size_t thread_bytes = 0;
    ck_pflock_t lock = CK_PFLOCK_INITIALIZER;

    BENCH_INLINE void read_lock(Member &) {
        ck_pflock_read_lock(&lock);
    }
    BENCH_INLINE void read_unlock(Member &) {
        ck_pflock_read_unlock(&lock);
    }
    BENCH_INLINE void write_lock(Member &) {
        ck_pflock_write_lock(&lock);
    }
    BENCH_INLINE void write_unlock(Member &) {
        ck_pflock_write_unlock(&lock);
    }
};

const Enlisted brlock{90, make_contender<Brlock>()};
const Enlisted rwlock{91, make_contender<Rwlock>()};
const Enlisted pflock{92, make_contender<Pflock>()};

} // namespace
} // namespace bench
