/* SPDX-License-Identifier: Apache-2.0
 *
 * ck_ring, for one and for many threads a side. One slot of its power of two stays free: it holds one element
 * less than the others, or 3 where 2 are asked for.
 */
#include "../contender.h"

#include <cstdlib>
#include <cstring>

/* One inline function returns false for a null pointer, which C++ has not allowed since 2011. */
#define false 0
#include <ck_ring.h>
#undef false

namespace bench {
namespace {

template <class T> struct CkBase {
    static constexpr bool bounded = true;
    static constexpr unsigned transfers = trying;
    using Producer = Anonymous;
    using Consumer = Anonymous;

    CkBase(size_t capacity, unsigned, unsigned) : slots(std::max<size_t>(capacity, 4)) {
        ck_ring_init(&ring, static_cast<unsigned>(slots.size()));
    }
    static bool takes(size_t capacity, size_t) {
        return (capacity & (capacity - 1)) == 0;
    }

    alignas(128) ck_ring_t ring;
    alignas(128) std::vector<T> slots;
};

template <class T> struct CkSpsc : CkBase<T> {
    static constexpr const char *name = "ck_ring SPSC";
    static constexpr Sides sides = Sides::single;
    using CkBase<T>::CkBase;

    BENCH_INLINE bool try_push(Anonymous &, const T &element) {
        return _ck_ring_enqueue_sp(&this->ring, this->slots.data(), &element, sizeof(T), nullptr);
    }
    BENCH_INLINE bool try_pop(Anonymous &, T &element) {
        return _ck_ring_dequeue_sc(&this->ring, this->slots.data(), &element, sizeof(T));
    }
};

template <class T> struct CkMpmc : CkBase<T> {
    static constexpr const char *name = "ck_ring MPMC";
    static constexpr Sides sides = Sides::many;
    using CkBase<T>::CkBase;

    BENCH_INLINE bool try_push(Anonymous &, const T &element) {
        return _ck_ring_enqueue_mp(&this->ring, this->slots.data(), &element, sizeof(T), nullptr);
    }
    BENCH_INLINE bool try_pop(Anonymous &, T &element) {
        return _ck_ring_dequeue_mc(&this->ring, this->slots.data(), &element, sizeof(T));
    }
};

const EnlistedRings spsc{10, make_ring_contenders<CkSpsc>()};
const EnlistedRings mpmc{30, make_ring_contenders<CkMpmc>()};

} // namespace
} // namespace bench
