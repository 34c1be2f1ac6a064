/* SPDX-License-Identifier: Apache-2.0
 *
 * The loops over the C rings that the Swift ones are compared with, compiled as any C program would be; and
 * the pinning of threads, which Swift's view of the C library leaves out.
 */
#ifndef BENCH_H
#define BENCH_H

#include <interlock/interlock.h>
#include <stdint.h>

/* Ties the calling thread to one of the processors the process may use, counted round. */
void bench_pin(unsigned index);

/* Pushes and pops `count` times in turn; the sum of what came out. The ring is empty before and after. */
uint64_t bench_spsc_pairs(ilk_spsc *ring, uint64_t count);
uint64_t bench_mpmc_pairs(ilk_mpmc *ring, uint64_t count);

/* Pushes `count` numbers from `first` on; looks again, and yields, while the ring is full. */
void bench_spsc_push(ilk_spsc *ring, uint64_t first, uint64_t count);
void bench_mpmc_push(ilk_mpmc *ring, uint64_t first, uint64_t count);

/* Pops until the ring is closed and drained; the sum. */
uint64_t bench_spsc_drain(ilk_spsc *ring);
uint64_t bench_mpmc_drain(ilk_mpmc *ring);

/* Out of patience: the processor goes to another thread every 32nd time. */
void bench_pause(unsigned *pauses);

#endif
