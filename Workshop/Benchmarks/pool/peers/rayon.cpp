/* SPDX-License-Identifier: Apache-2.0
 *
 * rayon: spawn, join, and for_each on a parallel iterator. Its loops are in rust/src/lib.rs.
 */
#include "../contender.h"

extern "C" {
void *bench_rayon_create();
void bench_rayon_destroy(void *pool);
void bench_rayon_run_one(void *pool, void (*function)(void *context), void *context);
void bench_rayon_submit(void *pool, uint64_t count);
uint64_t bench_rayon_fibonacci(void *pool, unsigned number);
void bench_rayon_loop(void *pool, uint64_t count, bool is_uneven);
}

namespace bench {
namespace {

void *prepare(void *, uint64_t) {
    return nullptr;
}
void release(void *) {}
void submit(void *pool, void *, uint64_t count) {
    bench_rayon_submit(pool, count);
}

const EnlistedPool rayon{6,
                         {"rayon",
                          bench_rayon_create,
                          bench_rayon_destroy,
                          bench_rayon_run_one,
                          {{"rayon spawn", prepare, submit, nullptr, release}},
                          bench_rayon_fibonacci,
                          bench_rayon_loop}};

} // namespace
} // namespace bench
