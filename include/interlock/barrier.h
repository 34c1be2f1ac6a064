/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_barrier: a number of threads meet, round after round; in each round one of them is told that it
 * came last.
 *
 * Concurrency matrix: wait may run beside itself, from as many threads as there are parties. init
 * beside nothing; the memory must live until every party's last wait has returned.
 *
 * Guarantees
 *   A  No wait of a round returns before all parties have called it in that round.
 *   B  What any party did before its wait is visible to all after theirs.
 *   C  Exactly one wait a round answers true: that of the party that came last.
 */
#ifndef INTERLOCK_BARRIER_H
#define INTERLOCK_BARRIER_H

#include <interlock/inline/atomic.h>
#include <interlock/inline/attributes.h>
#include <stdbool.h>
#include <stdint.h>

ILK_BEGIN_DECLARATIONS

/* Fields are private. */
typedef struct ilk_barrier {
    ILK_ATOMIC(uint32_t) arrived; /* parties of this round so far */
    ILK_ATOMIC(uint32_t) round;   /* rounds completed; the word slept on; wraps */
    uint32_t parties;             /* constant */
} ilk_barrier;

/* Makes `barrier` meet `parties` threads a round. Not thread-safe. Misuse: 0 parties. */
void ilk_barrier_init(ilk_barrier *barrier, uint32_t parties);

/* Waits until all parties have come. True for exactly one of them a round. Blocks; not a cancellation
 * point. Misuse: more threads than parties in one round. O(1), O(parties) for the last. */
bool ilk_barrier_wait(ilk_barrier *barrier);

ILK_END_DECLARATIONS

#endif
