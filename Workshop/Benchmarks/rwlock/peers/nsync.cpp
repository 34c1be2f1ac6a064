/* SPDX-License-Identifier: Apache-2.0
 *
 * nsync_mu in both modes. A thread that has waited keeps a waiter structure of private size.
 */
#include "../contender.h"

#include <nsync.h>

namespace bench {
namespace {

struct Nsync : Memberless {
    static constexpr const char *name = "nsync_mu";
    static constexpr Waiting waiting = Waiting::parks;
    static constexpr size_t thread_bytes = unknown_bytes;
    nsync::nsync_mu lock = NSYNC_MU_INIT;

    BENCH_INLINE void read_lock(Member &) {
        nsync::nsync_mu_rlock(&lock);
    }
    BENCH_INLINE void read_unlock(Member &) {
        nsync::nsync_mu_runlock(&lock);
    }
    BENCH_INLINE void write_lock(Member &) {
        nsync::nsync_mu_lock(&lock);
    }
    BENCH_INLINE void write_unlock(Member &) {
        nsync::nsync_mu_unlock(&lock);
    }
};

const Enlisted nsync{40, make_contender<Nsync>()};

} // namespace
} // namespace bench
