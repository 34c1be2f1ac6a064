/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops over the C rings, compiled as in a C program; and the pinning of threads, which the Swift overlay
 * lacks.
 */
#ifndef BENCH_H
#define BENCH_H

#include <interlock/interlock.h>
#include <stdint.h>

/* To one of the process's processors, modulo their number. */
void bench_pin(unsigned index);

/* Pushes and pops `count` times in turn; returns the sum. */
uint64_t bench_spsc_pairs(ilk_spsc *ring, uint64_t count);
uint64_t bench_mpmc_pairs(ilk_mpmc *ring, uint64_t count);

/* Pushes `count` numbers from `first` on; yields while the ring is full. */
void bench_spsc_push(ilk_spsc *ring, uint64_t first, uint64_t count);
void bench_mpmc_push(ilk_mpmc *ring, uint64_t first, uint64_t count);

/* Pops until the ring is closed and drained; the sum. */
uint64_t bench_spsc_drain(ilk_spsc *ring);
uint64_t bench_mpmc_drain(ilk_mpmc *ring);

/* Yields the processor at every 32nd probe of a full or empty ring. */
void bench_pause(unsigned *pauses);

#endif
