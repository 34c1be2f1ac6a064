/* SPDX-License-Identifier: Apache-2.0
 *
 * moodycamel's ConcurrentQueue, with a token a thread, as its manual advises. It has a queue for each
 * producer, no order between producers, and no bound: try_enqueue keeps it to its first blocks, which are
 * more than the capacity.
 */
#include "../contender.h"

#include <concurrentqueue/concurrentqueue.h>

namespace bench {
namespace {

template <class T> struct Concurrent : AnyCapacity {
    using Queue = moodycamel::ConcurrentQueue<T>;
    static constexpr const char *name = "moodycamel ConcurrentQueue";
    static constexpr Sides sides = Sides::many;
    static constexpr bool bounded = false;
    static constexpr unsigned transfers = trying | batches;
    Queue queue;

    struct Producer {
        moodycamel::ProducerToken token;
        explicit Producer(Concurrent &ring) : token(ring.queue) {}
    };
    struct Consumer {
        moodycamel::ConsumerToken token;
        explicit Consumer(Concurrent &ring) : token(ring.queue) {}
    };

    Concurrent(size_t capacity, unsigned producers, unsigned) : queue(capacity, producers, 0) {}
    BENCH_INLINE bool try_push(Producer &me, const T &element) {
        return queue.try_enqueue(me.token, element);
    }
    BENCH_INLINE bool try_pop(Consumer &me, T &element) {
        return queue.try_dequeue(me.token, element);
    }
    BENCH_INLINE size_t try_push_many(Producer &me, const T *elements, size_t count) {
        return queue.try_enqueue_bulk(me.token, elements, count) ? count : 0;
    }
    BENCH_INLINE size_t try_pop_many(Consumer &me, T *elements, size_t count) {
        return queue.try_dequeue_bulk(me.token, elements, count);
    }
};

const EnlistedRings concurrent{40, make_ring_contenders<Concurrent>()};

} // namespace
} // namespace bench
