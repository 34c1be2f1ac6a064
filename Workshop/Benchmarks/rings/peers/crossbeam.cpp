/* SPDX-License-Identifier: Apache-2.0
 *
 * crossbeam's ArrayQueue, in loops compiled by the Rust compiler (rust/src/rings.rs).
 */
#include "../contender.h"

#define BENCH_CROSSBEAM(size)                                                                                \
    void *bench_crossbeam_create_##size(size_t capacity, unsigned producers, unsigned consumers);            \
    void bench_crossbeam_destroy_##size(void *ring);                                                         \
    void bench_crossbeam_produce_##size(void *ring, void *member, const uint32_t *phase, uint32_t during,    \
                                        bench::ProducerBooks *books);                                        \
    void bench_crossbeam_consume_##size(void *ring, void *member, const uint32_t *phase, uint32_t during,    \
                                        bench::ConsumerBooks *books);                                        \
    void bench_crossbeam_drain_##size(void *ring, void *member, bench::ConsumerBooks *books);                \
    void bench_crossbeam_ping_##size(void *there, void *back, void *producer, void *consumer,                \
                                     const uint32_t *phase, uint32_t during, bench::Histogram *trips);       \
    void bench_crossbeam_pong_##size(void *there, void *back, void *producer, void *consumer);
extern "C" {
void bench_crossbeam_set_pauses(uint32_t pauses);
BENCH_CROSSBEAM(8)
BENCH_CROSSBEAM(64)
BENCH_CROSSBEAM(256)
}

namespace bench {
namespace {

#define BENCH_CROSSBEAM_LOOPS(size)                                                                          \
    {                                                                                                        \
        bench_crossbeam_create_##size, bench_crossbeam_destroy_##size, enter, leave,                         \
            bench_crossbeam_produce_##size, bench_crossbeam_consume_##size, bench_crossbeam_drain_##size,    \
            bench_crossbeam_ping_##size, bench_crossbeam_pong_##size, nullptr, nullptr, nullptr              \
    }

void *enter(void *, bool) {
    return nullptr;
}
void leave(void *, bool) {}

const EnlistedRings crossbeam{
    32,
    {{"crossbeam ArrayQueue",
      trying,
      Sides::many,
      true,
      AnyCapacity::takes,
      {BENCH_CROSSBEAM_LOOPS(8), BENCH_CROSSBEAM_LOOPS(64), BENCH_CROSSBEAM_LOOPS(256)}}},
    bench_crossbeam_set_pauses};

} // namespace
} // namespace bench
