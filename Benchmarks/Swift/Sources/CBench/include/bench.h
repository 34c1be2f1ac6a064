/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops over the C rings, with which the Swift loops are compared, compiled as in a C program; and the
 * pinning of threads, which the Swift overlay of the C library lacks.
 */
#ifndef BENCH_H
#define BENCH_H

#include <interlock/interlock.h>
#include <stdint.h>

/* Pins the calling thread to one of the processors that the process may use, modulo their number. */
void bench_pin(unsigned index);

/* Pushes and pops `count` times in turn; returns the sum of the elements. The ring is empty before and after.
 * */
uint64_t bench_spsc_pairs(ilk_spsc *ring, uint64_t count);
uint64_t bench_mpmc_pairs(ilk_mpmc *ring, uint64_t count);

/* Pushes `count` numbers from `first` on; probes again, and yields, while the ring is full. */
void bench_spsc_push(ilk_spsc *ring, uint64_t first, uint64_t count);
void bench_mpmc_push(ilk_mpmc *ring, uint64_t first, uint64_t count);

/* Pops until the ring is closed and drained; the sum. */
uint64_t bench_spsc_drain(ilk_spsc *ring);
uint64_t bench_mpmc_drain(ilk_mpmc *ring);

/* A full or empty ring was probed: yields the processor every 32nd time. */
void bench_pause(unsigned *pauses);

#endif
