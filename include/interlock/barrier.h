/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_barrier: threads meet, round after round; in each round one is told that it came last.
 *
 *     #include <interlock/barrier.h>
 *     #include <pthread.h>
 *     #include <stdio.h>
 *
 *     static ilk_barrier barrier;
 *     static int halves[2];
 *
 *     static void *compute(void *half) {
 *         *(int *)half = 21;
 *         if (ilk_barrier_wait(&barrier)) { // true for the last party of the round
 *             printf("%d\n", halves[0] + halves[1]); // prints 42
 *         }
 *         return NULL;
 *     }
 *     int main(void) {
 *         pthread_t thread;
 *         ilk_barrier_init(&barrier, 2); // two parties a round
 *         if (pthread_create(&thread, NULL, compute, &halves[0]) != 0) return 1;
 *         compute(&halves[1]);
 *         return pthread_join(thread, NULL);
 *     }
 *
 * Concurrency matrix: any number of waits may run beside each other. There is nothing to destroy. The memory
 * must live until every wait has returned: when one has, the party that came last may still be waking the
 * others.
 *
 * Guarantees
 *   A  A round is complete when as many waits have arrived in it as there are parties. None returns before
 *      that, except one that times out.
 *   B  What a party did before its wait is visible to each party of the round after its own.
 *   C  Exactly one wait a round is told that it came last: the one that completed the round.
 *   D  A wait that times out takes its arrival back: its round counts on as if it had never been called. A
 *      wait whose round is complete does not time out, however late it finds out.
 *   E  Threads beyond the number of parties are counted into the following rounds.
 */
#ifndef INTERLOCK_BARRIER_H
#define INTERLOCK_BARRIER_H

#include <interlock/deadline.h>
#include <interlock/inline/atomic.h>
#include <interlock/inline/attributes.h>
#include <interlock/status.h>
#include <stdbool.h>
#include <stdint.h>

ILK_BEGIN_DECLARATIONS

/* Fields are private. */
typedef struct ilk_barrier {
    ILK_ATOMIC(uint64_t) state; /* upper half: rounds completed, wraps; lower half: arrivals in this one */
    ILK_ATOMIC(uint32_t) wakes; /* rounds whose parties were woken; the word slept on; wraps */
    uint32_t parties;           /* constant */
} ilk_barrier;

/* Makes `barrier` meet `parties` threads a round. Not thread-safe. Misuse: 0 parties. */
void ilk_barrier_init(ilk_barrier *barrier, uint32_t parties);

/* Waits until all parties of the round have arrived. Not a cancellation point; does not allocate; not in
 * signal handlers. True for one party a round (C). O(1); O(parties) for the last. */
bool ilk_barrier_wait(ilk_barrier *barrier);

/* The same until `deadline_ns` at most. ILK_OK: complete; `*last` says whether the caller came last.
 * ILK_TIMEDOUT: the arrival is taken back (D), without waiting for another thread; `*last` is false; nothing
 * becomes visible. A passed deadline still completes a round that lacks only this party. `last` may be
 * NULL. */
ILK_MUST_USE ilk_status ilk_barrier_wait_until(ilk_barrier *barrier, uint64_t deadline_ns, bool *last);

ILK_END_DECLARATIONS

#endif
