/* SPDX-License-Identifier: Apache-2.0
 *
 * tbb::concurrent_bounded_queue, trying and blocking.
 */
#include "../contender.h"

#include <oneapi/tbb/concurrent_queue.h>

namespace bench {
namespace {

template <class T> struct TbbBounded : AnyCapacity {
    static constexpr const char *name = "tbb bounded queue";
    static constexpr Sides sides = Sides::many;
    static constexpr bool bounded = true;
    static constexpr unsigned transfers = trying | blocking;
    using Producer = Anonymous;
    using Consumer = Anonymous;
    tbb::concurrent_bounded_queue<T> queue;

    TbbBounded(size_t capacity, unsigned, unsigned) {
        queue.set_capacity(static_cast<std::ptrdiff_t>(capacity));
    }
    BENCH_INLINE bool try_push(Producer &, const T &element) {
        return queue.try_push(element);
    }
    BENCH_INLINE bool try_pop(Consumer &, T &element) {
        return queue.try_pop(element);
    }
    BENCH_INLINE void push(Producer &, const T &element) {
        queue.push(element);
    }
    BENCH_INLINE void pop(Consumer &, T &element) {
        queue.pop(element);
    }
};

const EnlistedRings tbb_bounded{33, make_ring_contenders<TbbBounded>()};

} // namespace
} // namespace bench
