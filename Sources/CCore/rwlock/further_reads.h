/* SPDX-License-Identifier: Apache-2.0
 *
 * Further reads of a thread whose slot names the lock already. See further_reads.c.
 */
#ifndef INTERLOCK_RWLOCK_FURTHER_READS_H
#define INTERLOCK_RWLOCK_FURTHER_READS_H

#include <interlock/inline/rwlock.h>

/* Whether the calling thread's slot names `lock`. */
static inline bool ilk__slot_is_mine(const ilk_rwlock *lock) ILK_NONBLOCKING {
    return ilk__slot_names(ilk__slot_load(ilk__my_slots(), ilk__rwlock_slot_number(lock)), lock);
}

/* One more read beside the one that the slot names. False: not taken. */
bool ilk__slot_try_further(ilk_rwlock *lock) ILK_NONBLOCKING;

/* Gives one of them up. */
void ilk__slot_leave_further(ilk_rwlock *lock) ILK_NONBLOCKING;

#endif
