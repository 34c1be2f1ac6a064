/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_rwlock: a phase-fair reader–writer lock in 16 bytes that parks its waiters.
 *
 * Many readers or one writer. Beside them one *upgradable* holder, who reads, and may become the
 * writer without letting go. The lock never allocates: waiters queue on their own stacks.
 *
 * Concurrency matrix: who may hold the lock at the same time
 *                 read    upgradable   write
 *   read          yes     yes          no
 *   upgradable    yes     no           no
 *   write         no      no           no
 *
 * Guarantees
 *   A  Phase-fair. A reader that waits is let in after at most one write. A writer waits for the
 *      readers present when it queued, for the writers queued before it, and for at most one
 *      group of readers after each of those. Writers and upgradables are served first come,
 *      first served. Nobody starves. Before queueing, a caller spins briefly and may overtake;
 *      nobody overtakes a thread that has queued, but for the readers A lets in together.
 *   B  A waiting writer, and a waiting upgrade, holds back readers that come after it.
 *   C  What a thread wrote before it gave up the lock in any mode is visible to every thread that
 *      takes it in a conflicting mode afterwards.
 *   D  A wait that timed out leaves nothing behind: whoever it held back is let in at once.
 *   E  A thread that has just been given the lock, and has given it up, may destroy or free it:
 *      no earlier unlock touches the memory after another thread can have taken the lock.
 *   F  try_ calls never block or allocate, and never fail on a lock that is free and that no other call
 *      is at work on; of two that meet on a free lock both may fail. They make no system call but
 *      to wake sleepers; try_write_lock also makes one membarrier(2) on a lock that has seen many
 *      thousands of reads since its last write.
 *
 * Recursion: none in any mode. Reading again under a lock that one reads is let be while nobody waits; once a
 * writer has come between the two it would be a deadlock (guarantee B), as is taking for writing what
 * one already holds in any mode. A wait without limit for oneself is reported where it would begin: in
 * every build if a reader's slot shows it, in all cases in a checked build (ILK_CHECKED; CMake's
 * -DINTERLOCK_CHECKED=ON), which notes what each thread holds and costs some nanoseconds a call.
 * Waiting in these calls is not a cancellation point.
 *
 * Fork: what the forking thread holds its copy holds in the child. Readers of other threads that are in slots are
 * gone there; what other threads held otherwise, waited for or were in a call on is no more than the memory that
 * ilk_rwlock_init makes a lock of. docs/fork.md.
 *
 * "Does not allocate" below has one exception: a copy of the library that is opened when the process has made 32
 * pthread keys allocates once a thread, in glibc's pthread_setspecific, where the thread gets its slots
 * (read_lock, write_lock and their forms with a deadline, never a try call). Without that memory it is counted.
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

/* Fields are private; the layout is public so that a lock can be embedded and its fast paths
 * inlined. All zero bits are a free lock. inline/rwlock.h tells what each bit means. */
typedef struct ilk_rwlock {
    ILK_ATOMIC(uint32_t) word;        /* state bits and reader count */
    ILK_ATOMIC(uint32_t) regime_note; /* counts that choose the regime; hints */
    struct ilk__rwlock_queue *queue;  /* the waiters; guarded by a bit of the word */
} ilk_rwlock;

/* A free lock, for initialisation where it is defined. */
#define ILK_RWLOCK_INIT                                                                                      \
    { 0, 0, 0 }

/* Makes `lock` a free lock. Not thread-safe: nobody else may use it meanwhile. Does not allocate;
 * a lock that is zeroed or = ILK_RWLOCK_INIT needs no call. */
void ilk_rwlock_init(ilk_rwlock *lock);

/* Ends the use of `lock`, and drops its name if it has one. Not thread-safe.
 * Misuse: a lock that is held or waited for. */
void ilk_rwlock_destroy(ilk_rwlock *lock);

/* Takes the lock for reading; waits as long as it takes. Thread-safe; blocks; does not allocate;
 * not safe in a signal handler that may have interrupted a holder of the same lock.
 * Misuse: more than 131,071 readers at once that are not in slots. O(1). */
static inline void ilk_rwlock_read_lock(ilk_rwlock *lock);

/* Takes the lock for reading if that needs no waiting: true when taken. A queued writer counts as
 * a reason to wait (guarantee B). Never blocks (guarantee F). A thread gets its slots in
 * ilk_rwlock_read_lock: one that has only ever tried is counted in the word, and does not scale. */
ILK_MUST_USE static inline bool ilk_rwlock_try_read_lock(ilk_rwlock *lock) ILK_NONBLOCKING;

/* Takes the lock for reading, waiting until `deadline_ns` at most. ILK_OK: taken. ILK_TIMEDOUT: not
 * taken; a deadline that has already passed still takes a lock that needs no waiting. */
ILK_MUST_USE ilk_status ilk_rwlock_read_lock_until(ilk_rwlock *lock, uint64_t deadline_ns);

/* Gives up a lock held for reading. Thread-safe; does not block.
 * Misuse: no reader holds the lock. */
static inline void ilk_rwlock_read_unlock(ilk_rwlock *lock);

/* Takes the lock for writing: alone. Otherwise as ilk_rwlock_read_lock. */
static inline void ilk_rwlock_write_lock(ilk_rwlock *lock);

/* Takes the lock for writing if nobody holds it: true when taken. Never blocks (guarantee F). */
ILK_MUST_USE static inline bool ilk_rwlock_try_write_lock(ilk_rwlock *lock) ILK_NONBLOCKING;

/* Takes the lock for writing, waiting until `deadline_ns` at most. As ilk_rwlock_read_lock_until. */
ILK_MUST_USE ilk_status ilk_rwlock_write_lock_until(ilk_rwlock *lock, uint64_t deadline_ns);

/* Gives up a lock held for writing. Thread-safe; does not block.
 * Misuse: no writer holds the lock. */
static inline void ilk_rwlock_write_unlock(ilk_rwlock *lock);

/* Turns a lock held for writing into one held for reading, with no gap in which another writer
 * could come between; waiting readers come in too. Does not block.
 * Misuse: no writer holds the lock. */
static inline void ilk_rwlock_downgrade(ilk_rwlock *lock);

/* Takes the lock for reading with the right to upgrade: admits readers, excludes writers and other
 * upgradables. Otherwise as ilk_rwlock_write_lock. */
static inline void ilk_rwlock_upgradable_lock(ilk_rwlock *lock);

/* Takes the lock upgradable, waiting until `deadline_ns` at most. As ilk_rwlock_write_lock_until. */
ILK_MUST_USE ilk_status ilk_rwlock_upgradable_lock_until(ilk_rwlock *lock, uint64_t deadline_ns);

/* Gives up a lock held upgradable (and not upgraded: that is a write lock). Does not block.
 * Misuse: nobody holds the lock upgradable. */
static inline void ilk_rwlock_upgradable_unlock(ilk_rwlock *lock);

/* Turns a lock held upgradable into one held for writing, with no gap: waits the present readers
 * out, goes before queued writers, holds back new readers. Give it up with write_unlock.
 * Misuse: nobody holds the lock upgradable. */
static inline void ilk_rwlock_upgrade(ilk_rwlock *lock);

ILK_END_DECLARATIONS

#include <interlock/inline/rwlock.h>

#endif
