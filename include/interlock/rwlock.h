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
 * Many readers or one writer hold the lock. Beside readers one *upgradable* holder reads too, and may become
 * the writer without giving the lock up. The lock never allocates: waiters queue on their own stacks.
 *
 * Concurrency matrix: who may hold the lock at the same time
 *                 read    upgradable   write
 *   read          yes     yes          no
 *   upgradable    yes     no           no
 *   write         no      no           no
 *
 * Guarantees
 *   A  Phase-fair. A queued reader is let in after at most one write. A queued writer waits for the holders
 *      present when it queued, for the writers and upgradables queued before it, and for at most one group of
 *      readers after each of those. Writers and upgradables are served first come, first served. No queued
 *      thread starves. Before it queues, a caller spins briefly and may overtake. A queued thread is
 *      overtaken only by an upgrade, whose thread is inside already, by the readers that A lets in together,
 *      and, if it wants the lock upgradable, by readers.
 *   B  A queued writer, and a queued upgrade, holds back the readers that come after it.
 *   C  What a thread wrote before it gave up the lock in any mode is visible to every thread that takes it in
 *      a conflicting mode afterwards.
 *   D  A wait that timed out leaves nothing behind: the waiters that it held back are let in at once. It ends
 *      at its limit, or at the end of its spin (H) if that is later, with two exceptions. A queued thread
 *      leaves the queue, or learns that it has been let in, behind any thread that is changing the queue or
 *      handing the lock over: tens of instructions, and the time that the system keeps that thread off its
 *      core. Where the process has entered a sandbox that refuses membarrier(2), a wait adds some ten
 *      milliseconds, once each for the process, for a lock whose readers had left the fence out, and for a
 *      thread that a writer waits for.
 *   E  A thread that was given the lock, and has given it up, may destroy or free it: no earlier unlock
 *      touches the memory after another thread can have taken the lock.
 *   F  try_ calls, unlocks and downgrade wait for nothing, not even for a thread that is preempted while it
 *      changes the queue: that thread hands on what they give up meanwhile. They never allocate. They make no
 *      system call but to wake sleepers; try_write_lock also makes one membarrier(2) on a lock whose readers
 *      leave the fence out, as they do after many thousands of reads with hardly a write. (With the pthread
 *      park backend a wake-up takes a mutex that is held for some instructions.)
 *   G  A try_ call never fails on a lock that is free and that no other call is at work on. Of two that meet
 *      on a free lock both may fail. One exception: where membarrier(2) is refused late, try_write_lock fails
 *      on a lock whose readers had left the fence out, until a waiting call has taken it for writing.
 *   H  A wait sleeps after a spin of about a hundred microseconds at most: with real-time priorities, no wait
 *      keeps the thread that it waits for off the core. The lock does not lend priorities; ilk_mutex can.
 *
 * A lock is given up by the thread that took it, in every mode. An unlock on another thread is misuse: it may
 * take the share of a reader that still reads. Every build reports it where nobody holds the lock in that
 * mode. A checked build (ILK_CHECKED; CMake's -DINTERLOCK_CHECKED=ON) also reports it where another thread
 * does: it lists the first sixteen locks that each thread holds at once, for some nanoseconds a call.
 *
 * Recursion: none in any mode. Reading again what one reads is tolerated while nobody waits; once a writer
 * has queued between the two it is a deadlock (guarantee B), as is taking for writing what one holds in any
 * mode. Every build reports a wait without limit for oneself, before it begins, where the thread wants to
 * write and its reader slot shows the lock. A checked build reports it for every lock that it lists, but for
 * an upgrade beside a counted read of the same thread.
 *
 * Signal handlers: a handler may call the try_ calls, and unlock what they took, whatever it interrupted. It
 * may call the waiting calls only if it cannot have interrupted another call on the same lock, or a thread
 * that holds it. (With the pthread park backend it calls none of them: a wake-up takes a mutex there.) No
 * wait is a cancellation point.
 *
 * Fork: what the forking thread holds its copy holds in the child. Readers of other threads that are in slots
 * are gone there. What other threads held otherwise, waited for or were in a call on is no more than memory
 * that ilk_rwlock_init makes a lock of. See docs/fork.md.
 *
 * "Does not allocate" below has one exception. A copy of the library that is opened when the process has made
 * 32 pthread keys allocates once a thread, in glibc's pthread_setspecific, where the thread gets its reader
 * slots: in read_lock, write_lock and their forms with a deadline, never in a try call. A reader without that
 * memory is counted in the word.
 *
 * Source of the fairness rule: Brandenburg, Anderson, "Spin-based reader-writer synchronization for
 * multiprocessor real-time systems" (2010), here with parking and hand-off.
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

/* Fields are private. The layout is public so that a lock can be embedded and its fast paths inlined. All
 * zero bits are a free lock. inline/rwlock.h documents each bit. */
typedef struct ilk_rwlock {
    ILK_ATOMIC(uint32_t) word;       /* state bits and reader count */
    ILK_ATOMIC(uint32_t) mode_state; /* counts that choose the mode; hints */
    struct ilk__rwlock_queue *queue; /* the waiters; guarded by a bit of the word */
} ilk_rwlock;

/* A free lock, for initialisation where it is defined. */
#define ILK_RWLOCK_INIT                                                                                      \
    { 0, 0, 0 }

/* Makes `lock` a free lock. Not thread-safe: no other thread may use it meanwhile. Does not allocate. A lock
 * that is zeroed or = ILK_RWLOCK_INIT needs no call. */
void ilk_rwlock_init(ilk_rwlock *lock);

/* Ends the use of `lock`, and drops its name if it has one. Not thread-safe.
 * Misuse: a lock that is held or waited for. */
void ilk_rwlock_destroy(ilk_rwlock *lock);

/* Takes the lock for reading; waits as long as it takes. Thread-safe; blocks; does not allocate. O(1).
 * Misuse: more than 131,071 readers at once that are not in slots. */
static inline void ilk_rwlock_read_lock(ilk_rwlock *lock);

/* Takes the lock for reading if that needs no waiting: true when taken. A queued writer is a reason to wait
 * (guarantee B). Never blocks (guarantees F, G). O(1). A thread gets its reader slots in the calls that may
 * wait: one that has only ever tried is counted in the word, and does not scale. */
ILK_MUST_USE static inline bool ilk_rwlock_try_read_lock(ilk_rwlock *lock) ILK_NONBLOCKING;

/* Takes the lock for reading, waiting until `deadline_ns` at most (guarantee D). ILK_OK: taken. ILK_TIMEDOUT:
 * not taken. A deadline that has passed still takes a lock that needs no waiting. */
ILK_MUST_USE ilk_status ilk_rwlock_read_lock_until(ilk_rwlock *lock, uint64_t deadline_ns);

/* Gives up a lock that this thread holds for reading. Thread-safe; does not block (guarantee F).
 * Misuse: no reader holds the lock; the calling thread does not. */
static inline void ilk_rwlock_read_unlock(ilk_rwlock *lock);

/* Takes the lock for writing: alone. Otherwise as ilk_rwlock_read_lock; O(1), and O(blocks of reader slots)
 * where readers use slots. */
static inline void ilk_rwlock_write_lock(ilk_rwlock *lock);

/* Takes the lock for writing if no thread holds it: true when taken. Never blocks (guarantees F, G). */
ILK_MUST_USE static inline bool ilk_rwlock_try_write_lock(ilk_rwlock *lock) ILK_NONBLOCKING;

/* Takes the lock for writing, waiting until `deadline_ns` at most. As ilk_rwlock_read_lock_until. */
ILK_MUST_USE ilk_status ilk_rwlock_write_lock_until(ilk_rwlock *lock, uint64_t deadline_ns);

/* Gives up a lock that this thread holds for writing. Thread-safe; does not block (guarantee F).
 * Misuse: no writer holds the lock; the calling thread does not. */
static inline void ilk_rwlock_write_unlock(ilk_rwlock *lock);

/* Turns a lock held for writing into one held for reading. No writer comes in between; waiting readers come
 * in too. Does not block (guarantee F). Misuse: no writer holds the lock. */
static inline void ilk_rwlock_downgrade(ilk_rwlock *lock);

/* Takes the lock for reading with the right to upgrade: admits readers, excludes writers and other
 * upgradables. Otherwise as ilk_rwlock_write_lock. */
static inline void ilk_rwlock_upgradable_lock(ilk_rwlock *lock);

/* Takes the lock upgradable, waiting until `deadline_ns` at most. As ilk_rwlock_write_lock_until. */
ILK_MUST_USE ilk_status ilk_rwlock_upgradable_lock_until(ilk_rwlock *lock, uint64_t deadline_ns);

/* Gives up a lock that this thread holds upgradable; what it has upgraded is given up by write_unlock. Does
 * not block (guarantee F). Misuse: nobody holds the lock upgradable; the calling thread does not. */
static inline void ilk_rwlock_upgradable_unlock(ilk_rwlock *lock);

/* Turns a lock held upgradable into one held for writing. No writer comes in between. Waits for the present
 * readers, goes before queued writers, holds back new readers. Misuse: nobody holds the lock upgradable. */
static inline void ilk_rwlock_upgrade(ilk_rwlock *lock);

/* As ilk_rwlock_upgrade, waiting until `deadline_ns` at most. ILK_OK: held for writing. ILK_TIMEDOUT: still
 * held upgradable, without a gap; the readers that the upgrade held back come in. */
ILK_MUST_USE ilk_status ilk_rwlock_upgrade_until(ilk_rwlock *lock, uint64_t deadline_ns);

ILK_END_DECLARATIONS

#include <interlock/inline/rwlock.h>

#endif
