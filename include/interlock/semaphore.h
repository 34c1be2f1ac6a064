/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_semaphore: a counting semaphore that serves first come, first served, or barges.
 *
 *     #include <interlock/semaphore.h>
 *     #include <pthread.h>
 *     #include <stdio.h>
 *
 *     static ilk_semaphore ready = ILK_SEMAPHORE_INIT(0);
 *     static int result;
 *
 *     static void *compute(void *unused) {
 *         result = 42;
 *         ilk_semaphore_signal(&ready, 1); // the permit goes to the waiter, which then sees the result
 *         return unused;
 *     }
 *     int main(void) {
 *         pthread_t thread;
 *         if (pthread_create(&thread, NULL, compute, NULL) != 0) return 1;
 *         ilk_semaphore_wait(&ready);
 *         printf("%d\n", result); // prints 42
 *         return pthread_join(thread, NULL);
 *     }
 *
 * The semaphore never allocates: waiters queue on their own stacks.
 *
 * Concurrency matrix: every call but init and destroy may run beside every other.
 *
 * Guarantees
 *   A  Hand-off in order of arrival. signal(n) serves the n threads that queued first, or all if fewer wait;
 *      the rest of the permits stay. While the queue is empty, a caller first spins for a permit for some
 *      tens of microseconds, and the first spinner that sees one takes it. No thread overtakes the queue.
 *   B  What a thread did before signal is visible to the thread that its permit goes to.
 *   C  A wait that timed out has taken no permit and has left the queue. It may time out beside a permit only
 *      while a thread that came before it has not left the queue. It ends at its limit or, if later, after its
 *      spin, with one exception: it leaves the queue, or takes a permit handed to it, behind any thread that is
 *      changing the queue or handing permits over: tens of instructions, and that thread's time off its core.
 *   D  A thread that has got a permit may destroy the semaphore when no other thread will use it: the signal
 *      that gave the permit does not touch the memory any more.
 *   E  try_wait, signal and try_signal wait for nothing, not even for a thread preempted while it changes the queue:
 *      that thread hands over the permits given meanwhile. The signals make no system call but to wake sleepers, and
 *      while diagnosis watches the semaphore, or as it is first used where ILK_SEMAPHORE_INIT has made it. A signal
 *      handler may call all three, whatever it interrupted. (Not with the pthread park backend.)
 *   F  A semaphore of ilk_semaphore_init_barging keeps B to E, and not A: any thread may take a permit that lies there,
 *      before threads that wait. A signal wakes the first in the queue, which sleeps again if the permit is gone. When
 *      the first has been passed at 16 such wake-ups, other threads leave it the permits until it has one, but for a
 *      thread that was about to take one. Right after, a try may find none beside free ones. Permits for waiters count
 *      towards the maximum.
 *
 * In order of arrival each hand-over to a sleeper lasts as long as waking it. Where threads take a permit for less than
 * that, and more of them want one than there are cores, barging does some hundred times the calls
 * (docs/benchmarks.md). The order is the default: a program that needs it cannot add it.
 *
 * Sources of the hand-off: Birrell, "An introduction to programming with threads" (1989); Lampson and Redell
 * (1980).
 */
#ifndef INTERLOCK_SEMAPHORE_H
#define INTERLOCK_SEMAPHORE_H

#include <interlock/deadline.h>
#include <interlock/inline/atomic.h>
#include <interlock/inline/attributes.h>
#include <interlock/status.h>
#include <stdbool.h>
#include <stdint.h>

ILK_BEGIN_DECLARATIONS

/* The most permits a semaphore holds. */
#define ILK_SEMAPHORE_MAX UINT32_C(0x0FFFFFFF)

/* What libbsd's TAILQ_HEAD(ilk__waiter_list, ilk__waiter) expands to: this header needs no other. */
struct ilk__waiter_list {
    struct ilk__waiter *tqh_first;
    struct ilk__waiter **tqh_last;
};

/* Fields are private; see inline/semaphore.h. All zero bits are a semaphore without permits. */
typedef struct ilk_semaphore {
    ILK_ATOMIC(uint32_t) word;       /* state bits and permits */
    ILK_ATOMIC(uint32_t) queue;      /* whether it barges, and the number of waiters */
    struct ilk__waiter_list waiters; /* oldest first; guarded likewise */
} ilk_semaphore;

/* 1, or does not compile. */
#define ILK__SEMAPHORE_FITS(count) ((uint32_t)sizeof(char[(uint64_t)(count) <= ILK_SEMAPHORE_MAX ? 1 : -1]))

/* Initialises a semaphore with `count` permits where it is defined: a constant, of ILK_SEMAPHORE_MAX at most; a larger
 * or a negative one does not compile. Its first call goes slow, to ask whether diagnosis is on, which takes it for the
 * semaphore that was there before if that was not destroyed. */
#define ILK_SEMAPHORE_INIT(count)                                                                            \
    {                                                                                                        \
        (uint32_t)(count) * ILK__SEMAPHORE_FITS(count) << 4 | 0x8, 0, {                                      \
            ILK__NULL, ILK__NULL                                                                             \
        }                                                                                                    \
    }

/* Makes `semaphore` hold `permits`. Not thread-safe. Misuse: permits above ILK_SEMAPHORE_MAX. */
void ilk_semaphore_init(ilk_semaphore *semaphore, uint32_t permits);

/* Makes `semaphore` hold `permits`, and barge (F). Not thread-safe. Misuse: permits above ILK_SEMAPHORE_MAX. */
void ilk_semaphore_init_barging(ilk_semaphore *semaphore, uint32_t permits);

/* Ends the use of `semaphore`, and drops its name. Not thread-safe. Any number of permits may be out. Misuse:
 * a thread is waiting. */
void ilk_semaphore_destroy(ilk_semaphore *semaphore);

/* Has diagnosis watch this semaphore alone: `what` are ILK_DIAGNOSE_ bits of <interlock/diagnostics.h>, 0 for none of
 * its own. Any thread. ILK_NOMEM: not watched. */
ilk_status ilk_semaphore_observe(ilk_semaphore *semaphore, uint32_t what);

/* Takes one permit; queues for it as long as it takes. Blocks; not a cancellation point. */
static inline void ilk_semaphore_wait(ilk_semaphore *semaphore);

/* Takes one permit if there is one that no thread is queued for: true when taken. Never blocks (E). */
ILK_MUST_USE static inline bool ilk_semaphore_try_wait(ilk_semaphore *semaphore) ILK_NONBLOCKING;

/* Takes one permit; queues for it until `deadline_ns` at most. ILK_OK: taken. ILK_TIMEDOUT: not taken (C). A passed
 * deadline still takes a permit that is there. Blocks; not a cancellation point. */
ILK_MUST_USE ilk_status ilk_semaphore_wait_until(ilk_semaphore *semaphore, uint64_t deadline_ns);

/* Adds `permits`; 0 does nothing. Does not block (E). O(permits handed over). Misuse: more than
 * ILK_SEMAPHORE_MAX permits in all; ilk_semaphore_try_signal answers instead. */
static inline void ilk_semaphore_signal(ilk_semaphore *semaphore, uint32_t permits);

/* Adds `permits`: true when they were added. Does not block (E). False, and none added: there would be more than
 * ILK_SEMAPHORE_MAX. Permits for waiters are not counted, but beside a thread that is changing the queue, and
 * where it barges. */
ILK_MUST_USE bool ilk_semaphore_try_signal(ilk_semaphore *semaphore, uint32_t permits);

/* The permits there less the number of queued threads: a snapshot that may be old, for traces and tests,
 * not for decisions. Blocks only for the queue's own short lock. */
int64_t ilk_semaphore_value(ilk_semaphore *semaphore);

ILK_END_DECLARATIONS

#include <interlock/inline/semaphore.h>

#endif
