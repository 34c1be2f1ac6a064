/* SPDX-License-Identifier: Apache-2.0
 *
 * The elements that go through the rings, and the books kept of them. Every element carries a stamp: its
 * producer in the upper 16 bits; below, a number that grows by one with each push. Consumers check that each
 * element is whole and newer than its producer's last. At a slice's end count and sum must be those of the
 * pushed elements.
 *
 * The Rust crate mirrors the structures (rust/src/rings.rs).
 */
#ifndef INTERLOCK_BENCHMARKS_RINGS_ELEMENT_H
#define INTERLOCK_BENCHMARKS_RINGS_ELEMENT_H

#include <cstddef>
#include <cstdint>

namespace bench {

constexpr unsigned max_producers = 15;
constexpr size_t max_batch = 64;
/* Nothing follows for a blocked consumer. */
constexpr uint64_t end_stamp = UINT64_MAX;

template <size_t Size> struct Element {
    static_assert(Size % sizeof(uint64_t) == 0 && Size != 0);
    static constexpr size_t last = Size / sizeof(uint64_t) - 1;
    uint64_t words[last + 1];

    void stamp(uint64_t value) {
        words[0] = value;
        words[last] = value;
    }
};

constexpr uint64_t first_stamp(unsigned producer) {
    return static_cast<uint64_t>(producer + 1) << 48;
}

struct ProducerBooks {
    uint64_t next; /* the stamp of the next element to push */
};

struct ConsumerBooks {
    uint64_t count = 0;
    uint64_t sum = 0;
    uint64_t faults = 0; /* elements torn or out of order: must stay 0 */
    uint64_t ended = 0;  /* 1 when the end stamp has come */
    uint64_t lone = 0;   /* 1 if there is one producer: a batch has no gap */
    uint64_t latest[max_producers + 1] = {};

    /* One element: whole? */
    template <class T> void note(const T &element) {
        ++count;
        sum += element.words[0];
        faults += element.words[0] != element.words[T::last];
    }
    template <class T> void record_order(const T &element) {
        uint64_t &before = latest[(element.words[0] >> 48) & max_producers];
        faults += element.words[0] <= before;
        before = element.words[0];
    }
    /* With several producers only a batch's ends, to cost less than batches save; with one all elements, by
     * operations that every x86-64 does two at a time. */
    template <class T> void record_batch(const T *elements, size_t size) {
        const uint64_t first = elements[0].words[0];
        uint64_t total = 0, torn = 0, gaps = 0;
        for (size_t index = 0; index < size; ++index) {
            total += elements[index].words[0];
            torn |= elements[index].words[0] ^ elements[index].words[T::last];
            gaps |= elements[index].words[0] ^ (first + index);
        }
        count += size;
        sum += total;
        faults += torn != 0;
        faults += lone != 0 && gaps != 0;
        record_order(elements[0]);
        if (size > 1) {
            record_order(elements[size - 1]);
        }
    }
};

} // namespace bench

#endif
