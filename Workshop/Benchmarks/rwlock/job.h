/* SPDX-License-Identifier: Apache-2.0
 *
 * The input and output of a measured loop: plain data, which the Rust crate mirrors (rust/src/rwlock.rs).
 */
#ifndef INTERLOCK_BENCHMARKS_RWLOCK_JOB_H
#define INTERLOCK_BENCHMARKS_RWLOCK_JOB_H

#include "../runner/histogram.h"

#include <cstdint>

namespace bench {

struct Job {
    const uint32_t *phase; /* go on while it holds `during` */
    uint32_t during;
    uint32_t section;   /* steps of work inside the critical section */
    uint32_t pause;     /* steps between two operations (waits only) */
    uint64_t threshold; /* an operation writes if a random 32-bit number is below */
    uint64_t seed;
};

struct LoopCounts {
    uint64_t operations;
    uint64_t writes;
    uint64_t torn; /* reads that saw two different words: must stay 0 */
};

/* Two words that every write increments together. */
struct Words {
    volatile uint64_t first;
    volatile uint64_t second;
};

} // namespace bench

#endif
