/* SPDX-License-Identifier: Apache-2.0
 *
 * Boost.Lockfree: spsc_queue, and queue with at most 65,534 nodes.
 */
#include "../contender.h"

#include <boost/lockfree/queue.hpp>
#include <boost/lockfree/spsc_queue.hpp>

namespace bench {
namespace {

template <class T> struct BoostSpsc : AnyCapacity {
    static constexpr const char *name = "boost spsc_queue";
    static constexpr Sides sides = Sides::single;
    static constexpr bool bounded = true;
    static constexpr unsigned transfers = trying | batches;
    using Producer = Anonymous;
    using Consumer = Anonymous;
    boost::lockfree::spsc_queue<T> queue;

    BoostSpsc(size_t capacity, unsigned, unsigned) : queue(capacity) {}
    BENCH_INLINE bool try_push(Producer &, const T &element) {
        return queue.push(element);
    }
    BENCH_INLINE bool try_pop(Consumer &, T &element) {
        return queue.pop(element);
    }
    BENCH_INLINE size_t try_push_many(Producer &, const T *elements, size_t count) {
        return queue.push(elements, count);
    }
    BENCH_INLINE size_t try_pop_many(Consumer &, T *elements, size_t count) {
        return queue.pop(elements, count);
    }
};

template <class T> struct BoostQueue : AnyCapacity {
    static constexpr const char *name = "boost queue";
    static constexpr Sides sides = Sides::many;
    static constexpr bool bounded = true;
    static constexpr unsigned transfers = trying;
    using Producer = Anonymous;
    using Consumer = Anonymous;
    boost::lockfree::queue<T, boost::lockfree::fixed_sized<true>> queue;

    BoostQueue(size_t capacity, unsigned, unsigned) : queue(std::min<size_t>(capacity, 65534)) {}
    BENCH_INLINE bool try_push(Producer &, const T &element) {
        return queue.bounded_push(element);
    }
    BENCH_INLINE bool try_pop(Consumer &, T &element) {
        return queue.pop(element);
    }
};

const EnlistedRings spsc{11, make_ring_contenders<BoostSpsc>()};
const EnlistedRings many{31, make_ring_contenders<BoostQueue>()};

} // namespace
} // namespace bench
