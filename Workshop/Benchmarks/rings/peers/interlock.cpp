/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_spsc, also with batches in place, and ilk_mpmc.
 */
#include "../contender.h"

#include <cstdio>
#include <cstdlib>
#include <interlock/mpmc.h>
#include <interlock/spsc.h>

namespace bench {
namespace {

void check(ilk_status status) {
    if (status != ILK_OK) {
        std::fprintf(stderr, "error: a ring answered %s\n", ilk_status_name(status));
        std::exit(2);
    }
}

template <class T> struct Spsc : AnyCapacity {
    static constexpr const char *name = "ilk_spsc";
    static constexpr Sides sides = Sides::single;
    static constexpr bool bounded = true;
    static constexpr unsigned transfers = trying | blocking | batches;
    using Producer = Anonymous;
    using Consumer = Anonymous;
    ilk_spsc *ring;

    Spsc(size_t capacity, unsigned, unsigned) {
        check(ilk_spsc_create(&ring, capacity, sizeof(T)));
    }
    ~Spsc() {
        ilk_spsc_destroy(ring);
    }
    Spsc(const Spsc &) = delete;

    BENCH_INLINE bool try_push(Producer &, const T &element) {
        return ilk_spsc_try_push(ring, &element, sizeof(T));
    }
    BENCH_INLINE bool try_pop(Consumer &, T &element) {
        return ilk_spsc_try_pop(ring, &element, sizeof(T));
    }
    BENCH_INLINE void push(Producer &, const T &element) {
        (void)!ilk_spsc_push_until(ring, &element, sizeof(T), ILK_FOREVER);
    }
    BENCH_INLINE void pop(Consumer &, T &element) {
        (void)!ilk_spsc_pop_until(ring, &element, sizeof(T), ILK_FOREVER);
    }
    BENCH_INLINE size_t try_push_many(Producer &, const T *elements, size_t count) {
        return ilk_spsc_try_push_many(ring, elements, count, sizeof(T));
    }
    BENCH_INLINE size_t try_pop_many(Consumer &, T *elements, size_t count) {
        return ilk_spsc_try_pop_many(ring, elements, count, sizeof(T));
    }
};

template <class T> struct SpscInPlace : Spsc<T> {
    static constexpr const char *name = "ilk_spsc (in place)";
    static constexpr unsigned transfers = batches;
    static constexpr bool in_place = true;
    using Producer = Anonymous;
    using Consumer = Anonymous;
    using Spsc<T>::Spsc;
    using Spsc<T>::ring;

    BENCH_INLINE T *reserve(Producer &, size_t &count) {
        return static_cast<T *>(ilk_spsc_reserve(ring, &count));
    }
    BENCH_INLINE void commit(Producer &, size_t count) {
        ilk_spsc_commit(ring, count);
    }
    BENCH_INLINE const T *peek(Consumer &, size_t &count) {
        return static_cast<const T *>(ilk_spsc_peek(ring, &count));
    }
    BENCH_INLINE void release(Consumer &, size_t count) {
        ilk_spsc_release(ring, count);
    }
};

template <class T> struct Mpmc : AnyCapacity {
    static constexpr const char *name = "ilk_mpmc";
    static constexpr Sides sides = Sides::many;
    static constexpr bool bounded = true;
    static constexpr unsigned transfers = trying | blocking | batches;
    using Producer = Anonymous;
    using Consumer = Anonymous;
    ilk_mpmc *ring;

    Mpmc(size_t capacity, unsigned, unsigned) {
        check(ilk_mpmc_create(&ring, capacity, sizeof(T)));
    }
    ~Mpmc() {
        ilk_mpmc_destroy(ring);
    }
    Mpmc(const Mpmc &) = delete;

    BENCH_INLINE bool try_push(Producer &, const T &element) {
        return ilk_mpmc_try_push(ring, &element, sizeof(T));
    }
    BENCH_INLINE bool try_pop(Consumer &, T &element) {
        return ilk_mpmc_try_pop(ring, &element, sizeof(T));
    }
    BENCH_INLINE void push(Producer &, const T &element) {
        (void)!ilk_mpmc_push_until(ring, &element, sizeof(T), ILK_FOREVER);
    }
    BENCH_INLINE void pop(Consumer &, T &element) {
        (void)!ilk_mpmc_pop_until(ring, &element, sizeof(T), ILK_FOREVER);
    }
    BENCH_INLINE size_t try_push_many(Producer &, const T *elements, size_t count) {
        return ilk_mpmc_try_push_many(ring, elements, count, sizeof(T));
    }
    BENCH_INLINE size_t try_pop_many(Consumer &, T *elements, size_t count) {
        return ilk_mpmc_try_pop_many(ring, elements, count, sizeof(T));
    }
};

const EnlistedRings spsc{0, make_ring_contenders<Spsc>()};
const EnlistedRings in_place{1, make_ring_contenders<SpscInPlace>()};
const EnlistedRings mpmc{2, make_ring_contenders<Mpmc>()};

} // namespace
} // namespace bench
