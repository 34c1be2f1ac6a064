/* SPDX-License-Identifier: Apache-2.0
 *
 * parking_lot's RwLock, in loops compiled by the Rust compiler with its fast paths inlined
 * (rust/src/rwlock.rs).
 */
#include "../contender.h"

extern "C" {
size_t bench_parking_lot_bytes();
void *bench_parking_lot_create();
void bench_parking_lot_destroy(void *shared);
bench::Words *bench_parking_lot_words(void *shared);
void bench_parking_lot_mix(void *shared, void *member, const bench::Job *job, bench::LoopCounts *counts);
void bench_parking_lot_wait(void *shared, void *member, const bench::Job *job, bench::LoopCounts *counts,
                            bench::Histogram *waits);
}

namespace bench {
namespace {

/* A thread that has waited keeps its data, and a share of the process's growing table of queues; both are
 * private. */
const Enlisted parking_lot{30,
                           {"parking_lot::RwLock", Waiting::parks, bench_parking_lot_bytes(), unknown_bytes,
                            bench_parking_lot_create, bench_parking_lot_destroy, bench_parking_lot_words,
                            [](void *) -> void * { return nullptr; }, [](void *, void *) {},
                            bench_parking_lot_mix, bench_parking_lot_wait}};

} // namespace
} // namespace bench
