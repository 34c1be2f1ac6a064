/* SPDX-License-Identifier: Apache-2.0
 *
 * moodycamel's rings for two threads: ReaderWriterQueue, of blocks, which must not allocate more here, and
 * BlockingReaderWriterCircularBuffer, which counts slots and elements in semaphores.
 */
#include "../contender.h"

#include <readerwritercircularbuffer.h>
#include <readerwriterqueue.h>

namespace bench {
namespace {

template <class T> struct ReaderWriter : AnyCapacity {
    static constexpr const char *name = "moodycamel ReaderWriterQueue";
    static constexpr Sides sides = Sides::single;
    static constexpr bool bounded = true; /* rounded up to whole blocks */
    static constexpr unsigned transfers = trying;
    using Producer = Anonymous;
    using Consumer = Anonymous;
    moodycamel::ReaderWriterQueue<T> queue;

    ReaderWriter(size_t capacity, unsigned, unsigned) : queue(capacity) {}
    BENCH_INLINE bool try_push(Producer &, const T &element) {
        return queue.try_enqueue(element);
    }
    BENCH_INLINE bool try_pop(Consumer &, T &element) {
        return queue.try_dequeue(element);
    }
};

template <class T> struct BlockingBuffer : AnyCapacity {
    static constexpr const char *name = "moodycamel blocking buffer";
    static constexpr Sides sides = Sides::single;
    static constexpr bool bounded = true;
    static constexpr unsigned transfers = trying | blocking;
    using Producer = Anonymous;
    using Consumer = Anonymous;
    moodycamel::BlockingReaderWriterCircularBuffer<T> buffer;

    BlockingBuffer(size_t capacity, unsigned, unsigned) : buffer(capacity) {}
    BENCH_INLINE bool try_push(Producer &, const T &element) {
        return buffer.try_enqueue(element);
    }
    BENCH_INLINE bool try_pop(Consumer &, T &element) {
        return buffer.try_dequeue(element);
    }
    BENCH_INLINE void push(Producer &, const T &element) {
        buffer.wait_enqueue(element);
    }
    BENCH_INLINE void pop(Consumer &, T &element) {
        buffer.wait_dequeue(element);
    }
};

const EnlistedRings queue{12, make_ring_contenders<ReaderWriter>()};
const EnlistedRings buffer{13, make_ring_contenders<BlockingBuffer>()};

} // namespace
} // namespace bench
