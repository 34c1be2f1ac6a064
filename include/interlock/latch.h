/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_latch: a count that goes down to zero once, and the threads that wait for that.
 *
 *     #include <interlock/latch.h>
 *     #include <pthread.h>
 *     #include <stdio.h>
 *
 *     static ilk_latch done;
 *     static int result;
 *
 *     static void *compute(void *unused) {
 *         result = 42;
 *         ilk_latch_count_down(&done);
 *         return unused;
 *     }
 *     int main(void) {
 *         pthread_t thread;
 *         ilk_latch_init(&done, 1); // one call of count_down opens it
 *         if (pthread_create(&thread, NULL, compute, NULL) != 0) return 1;
 *         if (ilk_latch_wait_until(&done, ILK_FOREVER) == ILK_OK) printf("%d\n", result); // prints 42
 *         return pthread_join(thread, NULL);
 *     }
 *
 * Concurrency matrix: every call but init may run beside every other. There is nothing to destroy.
 *
 * Guarantees
 *   A  What a thread did before it counted down is visible to every thread whose wait succeeded.
 *   B  A thread whose wait has succeeded may free the latch when no other thread is in a call on it but the
 *      count_down that opened it, which does not touch the memory any more.
 *   C  A wait that timed out leaves only the mark of a sleeper: the count_down that opens the latch then
 *      makes a system call which may wake no thread.
 *
 * Signal handlers: a handler may make every call but init and the wait, whatever it interrupted. (Not with the pthread
 * park backend.) But while any latch of the process is in a wait set (wait_set.h), a handler must not open a latch that
 * is waited for: count_down then waits for a short lock.
 *
 * Fork: in the child a latch has the count that it had, for threads of the child to count down and wait for. Whatever
 * threads that do not exist would have counted down is missing.
 */
#ifndef INTERLOCK_LATCH_H
#define INTERLOCK_LATCH_H

#include <interlock/deadline.h>
#include <interlock/inline/atomic.h>
#include <interlock/inline/attributes.h>
#include <interlock/status.h>
#include <stdbool.h>
#include <stdint.h>

ILK_BEGIN_DECLARATIONS

/* The largest count. */
#define ILK_LATCH_MAX UINT32_C(0x7FFFFFFF)

/* Private: twice the count, plus 1 while a waiter sleeps. All zero bits are an open latch. */
typedef struct ilk_latch {
    ILK_ATOMIC(uint32_t) word;
} ilk_latch;

/* Makes `latch` wait for `count` calls of count_down; 0 is open at once. Not thread-safe. Misuse: above
 * ILK_LATCH_MAX. */
void ilk_latch_init(ilk_latch *latch, uint32_t count);

/* Counts one down; at zero opens the latch for good and wakes every waiter. Does not block or allocate; a
 * system call only where it opens a latch with a sleeper. O(1), O(sleepers) at zero. Misuse: open already. */
void ilk_latch_count_down(ilk_latch *latch) ILK_NONBLOCKING;

/* Waits until the latch is open, or until `deadline_ns`. Does not allocate; not a cancellation point. ILK_OK:
 * open (A). ILK_TIMEDOUT: not open. A passed deadline still finds an open latch. */
ILK_MUST_USE ilk_status ilk_latch_wait_until(ilk_latch *latch, uint64_t deadline_ns);

/* True if the latch is open (A). Never blocks. */
ILK_MUST_USE bool ilk_latch_try_wait(ilk_latch *latch) ILK_NONBLOCKING;

/* The count that is left: a snapshot that may be old. */
uint32_t ilk_latch_count(const ilk_latch *latch) ILK_NONBLOCKING;

ILK_END_DECLARATIONS

#endif
