/* SPDX-License-Identifier: Apache-2.0
 *
 * CLOCK_MONOTONIC behind the port of clock.h.
 */
#include "platform/clock.h"

uint64_t ilk__clock_ticks(void) {
#if defined(__x86_64__) || defined(__i386__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ __volatile__("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return ilk__clock_now_ns();
#endif
}

uint64_t ilk__clock_now_ns(void) {
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now); /* cannot fail */
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}
