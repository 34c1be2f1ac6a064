/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops: one text for both rings.
 */
#define _GNU_SOURCE
#include "bench.h"
#include <interlock/inline/fence.h>
#include <interlock/inline/mpmc.h>
#include <interlock/inline/spsc.h>
#include <sched.h>

void bench_pin(unsigned index) {
#ifdef __linux__
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) {
        return;
    }
    unsigned skip = index % (unsigned)CPU_COUNT(&allowed);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &allowed) && skip-- == 0) {
            cpu_set_t one;
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            (void)sched_setaffinity(0, sizeof one, &one);
            return;
        }
    }
#else
    (void)index;
#endif
}

void bench_pause(unsigned *pauses) {
    if (++*pauses % 32 == 0) {
        sched_yield();
    } else {
        ilk_cpu_relax();
    }
}

#define LOOPS(kind)                                                                                          \
    uint64_t bench_##kind##_pairs(ilk_##kind *ring, uint64_t count) {                                        \
        uint64_t sum = 0;                                                                                    \
        for (uint64_t number = 0; number < count; number++) {                                                \
            uint64_t popped = 0;                                                                             \
            if (!ilk_##kind##_try_push(ring, &number, sizeof number) ||                                      \
                !ilk_##kind##_try_pop(ring, &popped, sizeof popped)) {                                       \
                return UINT64_MAX;                                                                           \
            }                                                                                                \
            sum += popped;                                                                                   \
        }                                                                                                    \
        return sum;                                                                                          \
    }                                                                                                        \
    void bench_##kind##_push(ilk_##kind *ring, uint64_t first, uint64_t count) {                             \
        unsigned pauses = 0;                                                                                 \
        for (uint64_t number = first; number < first + count; number++) {                                    \
            while (!ilk_##kind##_try_push(ring, &number, sizeof number)) {                                   \
                bench_pause(&pauses);                                                                        \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    uint64_t bench_##kind##_drain(ilk_##kind *ring) {                                                        \
        uint64_t sum = 0;                                                                                    \
        unsigned pauses = 0;                                                                                 \
        for (;;) {                                                                                           \
            uint64_t popped;                                                                                 \
            if (ilk_##kind##_try_pop(ring, &popped, sizeof popped)) {                                        \
                sum += popped;                                                                               \
            } else if (ilk_##kind##_is_closed(ring)) {                                                       \
                return ilk_##kind##_pop_until(ring, &popped, sizeof popped, 0) == ILK_OK                     \
                           ? sum + popped + bench_##kind##_drain(ring)                                       \
                           : sum;                                                                            \
            } else {                                                                                         \
                bench_pause(&pauses);                                                                        \
            }                                                                                                \
        }                                                                                                    \
    }

LOOPS(spsc)
LOOPS(mpmc)
