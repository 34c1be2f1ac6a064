/* SPDX-License-Identifier: Apache-2.0
 *
 * Time for the benchmarks: a cycle counter for what happens millions of times a second, the monotonic
 * clock for everything else, and a calibrated stretch of work that touches no memory, so that a
 * critical section of "about 50 ns" is the same work for every contender.
 */
#ifndef INTERLOCK_BENCHMARKS_CLOCK_H
#define INTERLOCK_BENCHMARKS_CLOCK_H

#include <cstdint>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

namespace bench {

uint64_t now_ns();

/* A counter of constant rate. Not serialising: a few instructions may slip past it, which is under the
 * resolution of what is measured with it. */
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

/* Measured once, at the first call: about 50 ms. */
double ticks_per_ns();

/* One multiplication and one addition a step, each waiting for the one before. The result goes into the
 * next seed, together with a word read under the lock: so a processor that looks far ahead can neither
 * do two critical sections at a time nor begin one before the lock is had. */
inline uint64_t work(uint32_t steps, uint64_t seed) {
    for (; steps != 0; --steps) {
        seed = seed * 0x5851F42D4C957F2D + 1;
        asm volatile("" : "+r"(seed));
    }
    return seed;
}

/* How many steps of work take about `ns`; 0 for sections under 5 ns, which are the two words alone. */
uint32_t work_steps(double ns);

/* Which operation comes next: cheap, and with a chain of dependence of one addition, so that it hides
 * behind any lock. (The finisher is half of SplitMix64's.) */
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
