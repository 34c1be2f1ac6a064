/* SPDX-License-Identifier: Apache-2.0
 *
 * Time for the benchmarks: a cycle counter, the monotonic clock, and calibrated work that touches no memory,
 * so that a critical section of "about 50 ns" is the same for every contender.
 */
#ifndef INTERLOCK_BENCHMARKS_CLOCK_H
#define INTERLOCK_BENCHMARKS_CLOCK_H

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace bench {

uint64_t now_ns();

/* Of constant rate, not serialising. */
inline uint64_t ticks() {
#if defined(__x86_64__)
    return __rdtsc();
#elif defined(__aarch64__)
    uint64_t value;
    asm volatile("mrs %0, cntvct_el0" : "=r"(value));
    return value;
#else
    return now_ns();
#endif
}

/* Measured at the first call: about 50 ms. */
double ticks_per_ns();

/* One multiplication and one addition a step, each waiting for the one before. The result goes into the next
 * seed, with a word read under the lock: a processor that runs ahead can neither overlap two critical
 * sections nor begin one before it has the lock. */
inline uint64_t work(uint32_t steps, uint64_t seed) {
    for (; steps != 0; --steps) {
        seed = seed * 0x5851F42D4C957F2D + 1;
        asm volatile("" : "+r"(seed));
    }
    return seed;
}

/* Steps of work in about `ns`; 0 under 5 ns, which are the two words alone. */
uint32_t work_steps(double ns);

/* The next operation, cheap: a chain of one addition hides behind any lock. (The finisher is half of
 * SplitMix64's.) */
struct Random {
    uint64_t state;
    explicit Random(uint64_t seed) : state(seed) {}
    uint32_t next() {
        uint64_t value = state += 0x9E3779B97F4A7C15;
        value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9;
        return static_cast<uint32_t>(value >> 32);
    }
};

} // namespace bench

#endif
