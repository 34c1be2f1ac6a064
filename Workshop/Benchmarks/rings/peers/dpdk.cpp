/* SPDX-License-Identifier: Apache-2.0
 *
 * DPDK's rte_ring in its four kinds of synchronisation, in memory of our own: no environment layer, no huge
 * pages. Burst moves as many as fit; bulk all or nothing.
 */
#include "../contender.h"

#include <cstdio>
#include <cstdlib>
#include <rte_ring.h>
#include <rte_ring_hts.h>
#include <rte_ring_rts.h>

namespace bench {
namespace {

enum class Kind { single, many, head_tail, relaxed };

template <class T, Kind kind, bool bulk> struct Rte {
    static constexpr Sides sides = kind == Kind::single ? Sides::single : Sides::many;
    static constexpr bool bounded = true;
    static constexpr unsigned transfers = bulk ? unsigned{batches} : trying | batches;
    using Producer = Anonymous;
    using Consumer = Anonymous;

    static bool takes(size_t capacity, size_t batch) {
        return !bulk || batch <= capacity;
    }

    Rte(size_t capacity, unsigned, unsigned) {
        unsigned slots = 1;
        while (slots < capacity + 1) {
            slots *= 2;
        }
        ssize_t size = rte_ring_get_memsize_elem(sizeof(T), slots);
        ring = size < 0 ? nullptr
                        : static_cast<rte_ring *>(
                              std::aligned_alloc(128, (static_cast<size_t>(size) + 127) & ~size_t{127}));
        static const unsigned flags[] = {RING_F_SP_ENQ | RING_F_SC_DEQ, 0,
                                         RING_F_MP_HTS_ENQ | RING_F_MC_HTS_DEQ,
                                         RING_F_MP_RTS_ENQ | RING_F_MC_RTS_DEQ};
        if (ring == nullptr || rte_ring_init(ring, "bench", static_cast<unsigned>(capacity),
                                             flags[static_cast<int>(kind)] | RING_F_EXACT_SZ) != 0) {
            std::fprintf(stderr, "error: rte_ring_init failed\n");
            std::exit(2);
        }
    }
    ~Rte() {
        std::free(ring);
    }
    Rte(const Rte &) = delete;

    BENCH_INLINE size_t enqueue(const T *elements, unsigned count) {
        unsigned (*call)(rte_ring *, const void *, unsigned, unsigned, unsigned *) = nullptr;
        switch (kind) {
        case Kind::single:
            call = bulk ? rte_ring_sp_enqueue_bulk_elem : rte_ring_sp_enqueue_burst_elem;
            break;
        case Kind::many:
            call = bulk ? rte_ring_mp_enqueue_bulk_elem : rte_ring_mp_enqueue_burst_elem;
            break;
        case Kind::head_tail:
            call = bulk ? rte_ring_mp_hts_enqueue_bulk_elem : rte_ring_mp_hts_enqueue_burst_elem;
            break;
        case Kind::relaxed:
            call = bulk ? rte_ring_mp_rts_enqueue_bulk_elem : rte_ring_mp_rts_enqueue_burst_elem;
            break;
        }
        return call(ring, elements, sizeof(T), count, nullptr);
    }
    BENCH_INLINE size_t dequeue(T *elements, unsigned count) {
        unsigned (*call)(rte_ring *, void *, unsigned, unsigned, unsigned *) = nullptr;
        switch (kind) {
        case Kind::single:
            call = bulk ? rte_ring_sc_dequeue_bulk_elem : rte_ring_sc_dequeue_burst_elem;
            break;
        case Kind::many:
            call = bulk ? rte_ring_mc_dequeue_bulk_elem : rte_ring_mc_dequeue_burst_elem;
            break;
        case Kind::head_tail:
            call = bulk ? rte_ring_mc_hts_dequeue_bulk_elem : rte_ring_mc_hts_dequeue_burst_elem;
            break;
        case Kind::relaxed:
            call = bulk ? rte_ring_mc_rts_dequeue_bulk_elem : rte_ring_mc_rts_dequeue_burst_elem;
            break;
        }
        return call(ring, elements, sizeof(T), count, nullptr);
    }

    BENCH_INLINE bool try_push(Producer &, const T &element) {
        return enqueue(&element, 1) != 0;
    }
    BENCH_INLINE bool try_pop(Consumer &, T &element) {
        return dequeue(&element, 1) != 0;
    }
    BENCH_INLINE size_t try_push_many(Producer &, const T *elements, size_t count) {
        return enqueue(elements, static_cast<unsigned>(count));
    }
    BENCH_INLINE size_t try_pop_many(Consumer &, T *elements, size_t count) {
        return dequeue(elements, static_cast<unsigned>(count));
    }

    rte_ring *ring;
};

#define BENCH_RTE(type, kind, bulk, text)                                                                    \
    template <class T> struct type : Rte<T, kind, bulk> {                                                    \
        static constexpr const char *name = text;                                                            \
        using Rte<T, kind, bulk>::Rte;                                                                       \
    }
BENCH_RTE(Single, Kind::single, false, "rte_ring SP/SC");
BENCH_RTE(SingleBulk, Kind::single, true, "rte_ring SP/SC bulk");
BENCH_RTE(Many, Kind::many, false, "rte_ring MP/MC");
BENCH_RTE(ManyBulk, Kind::many, true, "rte_ring MP/MC bulk");
BENCH_RTE(HeadTail, Kind::head_tail, false, "rte_ring HTS");
BENCH_RTE(HeadTailBulk, Kind::head_tail, true, "rte_ring HTS bulk");
BENCH_RTE(Relaxed, Kind::relaxed, false, "rte_ring RTS");
BENCH_RTE(RelaxedBulk, Kind::relaxed, true, "rte_ring RTS bulk");

const EnlistedRings single{14, make_ring_contenders<Single>()};
const EnlistedRings single_bulk{15, make_ring_contenders<SingleBulk>()};
const EnlistedRings many{34, make_ring_contenders<Many>()};
const EnlistedRings many_bulk{35, make_ring_contenders<ManyBulk>()};
const EnlistedRings head_tail{36, make_ring_contenders<HeadTail>()};
const EnlistedRings head_tail_bulk{37, make_ring_contenders<HeadTailBulk>()};
const EnlistedRings relaxed{38, make_ring_contenders<Relaxed>()};
const EnlistedRings relaxed_bulk{39, make_ring_contenders<RelaxedBulk>()};

} // namespace
} // namespace bench
