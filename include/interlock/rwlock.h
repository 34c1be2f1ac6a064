/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_rwlock: a phase-fair reader–writer lock in 16 bytes that parks its waiters.
 *
 *     #include <interlock/rwlock.h>
 *     #include <stdio.h>
 *
 *     static ilk_rwlock lock = ILK_RWLOCK_INIT;
 *     static int rate = 1; // guarded by the lock
 *
 *     int main(void) {
 *         ilk_rwlock_write_lock(&lock); // alone
 *         rate = 2;
 *         ilk_rwlock_downgrade(&lock); // beside other readers; no writer comes in between
 *         printf("%d\n", rate); // prints 2
 *         ilk_rwlock_read_unlock(&lock);
 *     }
 *
 * Beside readers one *upgradable* holder reads, and may become the writer without giving the lock up. Waiters
 * queue on their own stacks; what the lock keeps for a thread is under Allocation.
 *
 * Concurrency matrix of holders
 *                 read    upgradable   write
 *   read          yes     yes          no
 *   upgradable    yes     no           no
 *   write         no      no           no
 *
 * Guarantees
 *   A  Phase-fair. A queued reader waits for one write at most; a queued writer for the holders present when
 *      it queued, the writers and upgradables queued before it, and one group of readers at most after each
 *      of those. Writers and upgradables are served first come, first served. No queued thread starves. A
 *      caller spins briefly before it queues, and may overtake. Only an upgrade, the readers that A lets in
 *      together and, past a queued upgradable, readers overtake a queued thread.
 *   B  A queued writer or upgrade holds back the readers that come after it.
 *   C  What a thread wrote before it gave up the lock is visible to each later holder in a conflicting mode.
 *   D  A wait that timed out leaves nothing behind: the waiters it held back come in at once. It ends at its
 *      limit or, if later, after its spin (H), with two exceptions. A queued thread leaves the queue, or
 *      learns that it was let in, behind any thread that is changing the queue or handing over: tens of
 *      instructions, and that thread's time off its core. Where the process has entered a sandbox that
 *      refuses membarrier(2), a wait adds some ten milliseconds, once each for the process, a lock whose
 *      readers had left the fence out, and a thread that a writer waits for.
 *   E  A thread that got the lock and gave it up may destroy or free it: no earlier unlock touches the memory
 *      once another thread can have taken the lock.
 *   F  try_ calls, unlocks and downgrade wait for nothing, not even for a thread preempted while it
 *      changes the queue: it hands on what they give up. They never allocate. They make no system call
 *      but to wake sleepers; while diagnosis watches the lock, or as it is first used where
 *      ILK_RWLOCK_INIT or _INIT_PLAIN has made it; and, in try_write_lock, one membarrier(2) where readers leave the
 *      fence out: after many thousands of reads with hardly a write. (The pthread park backend's wake-up
 *      takes a mutex that is held for some instructions.) One exception: while a thread waits under the
 *      lock for a condition (condition.h), a writer that leaves judges, and takes short locks; a signal
 *      handler then may not.
 *   G  A try_ call never fails on a free lock that no other call is at work on; of two that meet there
 *      both may fail. Where membarrier(2) is refused late, try_write_lock fails on a lock whose readers
 *      had left the fence out, until a waiting call has taken it for writing.
 *   H  A wait spins for about a hundred microseconds of processor time at most, then sleeps: with real-time
 *      priorities, no wait keeps the thread that it waits for off the core. It yields its core 32 times in it,
 *      a writer 32 times more for readers in slots, however many; beside a busy thread each may take that
 *      thread's time slice. A writer then sleeps for one reader in a slot after the other. The lock does not
 *      lend priorities; ilk_mutex can.
 *
 * The thread that took the lock gives it up, in every mode (but see Plain locks). To unlock what this thread
 * does not hold in that mode is misuse, and may take the share of a reader that still reads. Every build reports
 * it where no thread holds the lock so; a checked build (ILK_CHECKED; CMake's -DINTERLOCK_CHECKED=ON) also where
 * another thread does: it lists the first sixteen locks that a thread holds, for some nanoseconds a call.
 *
 * Recursion: none in any mode. Reading again is tolerated while no thread waits; once a writer has queued
 * between the two it is a deadlock (B), as is taking for writing what one holds. So is, once a writer has queued, a
 * reader that waits under its read lock for another thread that is about to read (by a join, a latch, a queue): that
 * thread waits for the writer, and the writer for the reader. Every build reports a wait without limit for oneself,
 * before it begins, where the thread's slot shows the lock, and it wants to write, or to read upgradable behind a
 * writer; a checked build for every lock that it lists, but for an upgrade beside the thread's own counted read. That
 * build also reports the wait under one's own read lock for the upgradable lock of another thread. The others hang in
 * silence: in an ordinary build any call without limit that waits for one's own write or upgradable lock does, for
 * these 16 bytes do not name the owner. A checked build, or diagnosis (docs/diagnosis.md), finds it.
 *
 * Signal handlers may make try_ calls, whatever they interrupted, if they unlock all that they took before they
 * return: else a share of their thread may be lost. They do not downgrade, and make waiting calls only where
 * they cannot have interrupted a call of the library, or a thread that holds a lock. (With the pthread park
 * backend: no calls.) No wait is a cancellation point.
 *
 * Fork: what the forking thread holds its copy holds in the child. Other threads' readers in slots are gone
 * there. What they held otherwise, waited for or were in a call on is memory that ilk_rwlock_init, called by the
 * thread that forked, makes a lock of (docs/fork.md).
 *
 * Allocation: no call uses malloc, with one exception. A thread gets reader slots, 256 bytes, in a read_lock,
 * write_lock or upgrade, or one of their forms with a deadline; each further 32 threads that have them at a time map
 * some kilobytes for good, for later threads too. The exception: a copy of the library that is opened when the process
 * has made 32 pthread keys allocates there, once a thread. A reader without that memory is counted in the word. See
 * docs/rwlock.md.
 *
 * Plain locks (ILK_RWLOCK_INIT_PLAIN, ilk_rwlock_init_plain) use no reader slots: readers are counted, and share
 * a cache line. No memory is got for a thread, and another thread than took the lock may give it up, in any
 * mode, where the program orders the two. So no checked build lists plain locks, and to diagnosis they are no
 * locks any more once that has happened. In a child of fork other threads' readers hold on. docs/rwlock.md has
 * the price.
 *
 * Source: Brandenburg, Anderson, "Spin-based reader-writer synchronization for multiprocessor real-time
 * systems" (2010), with parking and hand-off.
 */
#ifndef INTERLOCK_RWLOCK_H
#define INTERLOCK_RWLOCK_H

#include <interlock/deadline.h>
#include <interlock/inline/atomic.h>
#include <interlock/inline/attributes.h>
#include <interlock/status.h>
#include <stdbool.h>
#include <stdint.h>

ILK_BEGIN_DECLARATIONS

/* Fields are private; inline/rwlock.h documents each bit. All zero bits are a free lock. */
typedef struct ilk_rwlock {
    ILK_ATOMIC(uint32_t) word;       /* state bits and reader count */
    ILK_ATOMIC(uint32_t) mode_state; /* counts that choose the mode; hints */
    struct ilk__rwlock_queue *queue; /* the waiters; guarded by a bit of the word */
} ilk_rwlock;

/* Initialises a free lock where it is defined. Its first call goes slow, to ask whether diagnosis is on. */
#define ILK_RWLOCK_INIT                                                                                      \
    { 0x10, UINT32_C(0xFFFFFFFF), ILK__NULL }

/* Initialises a free plain lock where it is defined. Its first call goes slow too. */
#define ILK_RWLOCK_INIT_PLAIN                                                                                \
    { 0x10, UINT32_C(0xFFFFFFFE), ILK__NULL }

/* Makes `lock` a free lock, as zero bits and ILK_RWLOCK_INIT are. Not thread-safe. */
void ilk_rwlock_init(ilk_rwlock *lock);

/* Makes `lock` a free plain lock, as ILK_RWLOCK_INIT_PLAIN is. Not thread-safe. */
void ilk_rwlock_init_plain(ilk_rwlock *lock);

/* Ends the use of `lock`, and drops its name. Not thread-safe; all other calls but init are. Misuse: it is
 * held or waited for. */
void ilk_rwlock_destroy(ilk_rwlock *lock);

/* Has diagnosis watch this lock alone: `what` are ILK_DIAGNOSE_ bits of <interlock/diagnostics.h>, 0 for none of its
 * own. Any thread. ILK_NOMEM: not watched. */
ilk_status ilk_rwlock_observe(ilk_rwlock *lock, uint32_t what);

/* Takes the lock for reading; waits as long as it takes. O(1).
 * Misuse: more than 65,535 readers at once that are not in slots. */
static inline void ilk_rwlock_read_lock(ilk_rwlock *lock);

/* Takes the lock for reading if that needs no waiting: true when taken. A queued writer is a reason to wait
 * (B); so is a thread's 2,048th further read in its slot. Never blocks (F, G). O(1). The waiting calls give a
 * thread its reader slots: one that has only ever tried is counted in the word, and does not scale. */
ILK_MUST_USE static inline bool ilk_rwlock_try_read_lock(ilk_rwlock *lock) ILK_NONBLOCKING;

/* Takes the lock for reading; waits until `deadline_ns` at most (D). ILK_OK: taken. ILK_TIMEDOUT: not taken. A
 * passed deadline still takes a lock that needs no waiting. */
ILK_MUST_USE ilk_status ilk_rwlock_read_lock_until(ilk_rwlock *lock, uint64_t deadline_ns);

/* Gives up a lock held for reading (F). */
static inline void ilk_rwlock_read_unlock(ilk_rwlock *lock);

/* Takes the lock for writing: alone; waits as long as it takes. O(1), but O(blocks of slots) where readers use
 * slots. */
static inline void ilk_rwlock_write_lock(ilk_rwlock *lock);

/* Takes the lock for writing if no thread holds it: true when taken. Never blocks (F, G). */
ILK_MUST_USE static inline bool ilk_rwlock_try_write_lock(ilk_rwlock *lock) ILK_NONBLOCKING;

/* Takes the lock for writing; waits until `deadline_ns` at most (D). ILK_OK: taken. ILK_TIMEDOUT: not taken. A
 * passed deadline still takes a lock that needs no waiting. */
ILK_MUST_USE ilk_status ilk_rwlock_write_lock_until(ilk_rwlock *lock, uint64_t deadline_ns);

/* Gives up a lock held for writing (F). */
static inline void ilk_rwlock_write_unlock(ilk_rwlock *lock);

/* Turns a write lock into a read lock. No writer comes in between; waiting readers come in too (F). Misuse:
 * no writer holds the lock. */
static inline void ilk_rwlock_downgrade(ilk_rwlock *lock);

/* Takes the lock for reading with the right to upgrade; waits as long as it takes. O(1). */
static inline void ilk_rwlock_upgradable_lock(ilk_rwlock *lock);

/* Takes the lock for reading with the right to upgrade; waits until `deadline_ns` at most (D). ILK_OK: taken.
 * ILK_TIMEDOUT: not taken. A passed deadline still takes a lock that needs no waiting. */
ILK_MUST_USE ilk_status ilk_rwlock_upgradable_lock_until(ilk_rwlock *lock, uint64_t deadline_ns);

/* Gives up a lock held upgradable (F); write_unlock gives up what it has upgraded. */
static inline void ilk_rwlock_upgradable_unlock(ilk_rwlock *lock);

/* Turns an upgradable lock into a write lock; no writer comes in between. Waits for the present readers, goes
 * before queued writers, holds back new readers. O(1), but O(blocks of slots) where readers use slots. Misuse: no
 * thread holds the lock upgradable. */
static inline void ilk_rwlock_upgrade(ilk_rwlock *lock);

/* Turns an upgradable lock into a write lock; waits for the present readers until `deadline_ns` at most. ILK_OK:
 * held for writing. ILK_TIMEDOUT: still held upgradable, without a gap; the readers that the upgrade held back come
 * in. Misuse: no thread holds the lock upgradable. */
ILK_MUST_USE ilk_status ilk_rwlock_upgrade_until(ilk_rwlock *lock, uint64_t deadline_ns);

ILK_END_DECLARATIONS

#include <interlock/inline/rwlock.h>

#endif
