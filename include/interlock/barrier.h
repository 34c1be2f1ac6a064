/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_barrier: threads meet, round after round; in each round one learns that it came last.
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
 *         ilk_barrier_destroy(&barrier); // the other party may not have returned yet
 *         return pthread_join(thread, NULL);
 *     }
 *
 * Concurrency matrix: any number of waits may run beside each other; init alone; destroy beside waits whose round is
 * complete (F).
 *
 * Guarantees
 *   A  A round is complete when as many waits have arrived in it as there are parties. None returns before
 *      that, except one that times out.
 *   B  What a party did before its wait is visible to each party of the round after its own.
 *   C  Exactly one wait a round answers that it came last: the one that completed the round.
 *   D  A wait that times out takes its arrival back: its round counts on as if it had never been called. A
 *      wait whose round is complete does not time out, however late it finds out.
 *   E  Threads beyond the number of parties are counted into the following rounds.
 *   F  A thread whose wait has returned ILK_OK may destroy the barrier at once, and then free the memory or make a new
 *      barrier there, the last party too: destroy waits until the other parties of the round have left it. To free or
 *      initialise it without destroy is right only where the program knows that every wait has returned: a wait
 *      that still runs would use the memory.
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
    ILK_ATOMIC(uint32_t) left;  /* the word slept on: bit 0, a destroyer sleeps; above, departures; wraps */
    uint32_t parties;           /* constant */
} ilk_barrier;

/* Makes `barrier` meet `parties` threads a round. Not thread-safe. Misuse: 0 parties. */
void ilk_barrier_init(ilk_barrier *barrier, uint32_t parties);

/* Ends the use of `barrier`, and drops its name (F). No thread may arrive beside it. Blocks while a wait whose round is
 * complete has not left the barrier: some instructions, and that thread's time off its core; not a cancellation point;
 * does not allocate. Misuse: a thread waits for its round. */
void ilk_barrier_destroy(ilk_barrier *barrier);

/* Waits until all parties of the round have arrived. Not a cancellation point; does not allocate; not in
 * signal handlers. True for one party a round (C). O(1); O(parties) for the last. */
bool ilk_barrier_wait(ilk_barrier *barrier);

/* Waits until all parties of the round have arrived, or until `deadline_ns`. ILK_OK: complete; `*last` says whether
 * the caller came last.
 * ILK_TIMEDOUT: the arrival is taken back (D), without waiting for another thread; `*last` is false; nothing
 * becomes visible. A passed deadline still completes a round that lacks only this party. `last` may be
 * NULL. */
ILK_MUST_USE ilk_status ilk_barrier_wait_until(ilk_barrier *barrier, uint64_t deadline_ns, bool *last);

ILK_END_DECLARATIONS

#endif
