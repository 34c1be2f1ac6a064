/* SPDX-License-Identifier: Apache-2.0
 *
 * The process's table of reader slots: blocks for threads, and a writer's walk. <interlock/inline/slots.h>
 * has a block's layout.
 */
#ifndef INTERLOCK_RWLOCK_READER_SLOTS_H
#define INTERLOCK_RWLOCK_READER_SLOTS_H

#include <interlock/inline/rwlock.h>

/* The calling thread's block. NULL: no memory, the thread is ending, this copy's table is not in charge, or
 * it has none yet and `may_allocate` is false. */
struct ilk__slot_block *ilk__slots_mine(bool may_allocate);

/* Reports a lock that uses another copy's table (slot_table_copies.c); so do the next two. */
void ilk__slots_check_table(const ilk_rwlock *lock) ILK_NONBLOCKING;

bool ilk__slots_hold(const ilk_rwlock *lock);

/* Waits until no reader of `lock` is in a slot; ILK_TIMEDOUT: late. The caller has WRITER up, which keeps new
 * readers out, and has executed ilk__fence_heavy if the lock is fence-free, as it may then be no longer. */
ilk_status ilk__slots_wait_empty(ilk_rwlock *lock, uint64_t deadline_ns);

/* Uses of slots for `lock`, or for locks that share them, since the process began; wraps. A hint. */
uint32_t ilk__slots_uses(const ilk_rwlock *lock);

/* The uses of slots of one block. */
uint32_t ilk__slots_uses_of(const struct ilk__slot_block *block, const ilk_rwlock *lock);

/* Counts the use of the calling thread's slot of `lock` for which a visit to the slow path is due. The number of
 * such visits; 0 if none is due. */
uint32_t ilk__slots_visit(ilk_rwlock *lock) ILK_NONBLOCKING;

#endif
