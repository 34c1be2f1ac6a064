/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading under an ilk_rwlock by a caller whose lock and unlock stand side by side: what the one has found
 * out (the slot it took) the other need not find out again. It saves a quarter of the instructions of a read
 * that scales. Only for sections of the Swift facade, which are written once; anybody else takes
 * ilk_rwlock_read_lock and ilk_rwlock_read_unlock, of which this is a shorter way through the same states.
 *
 * Decides no memory order of its own: its accesses are those of <interlock/inline/rwlock.h>, under the same
 * labels.
 */
#ifndef INTERLOCK_INLINE_READ_SECTION_H
#define INTERLOCK_INLINE_READ_SECTION_H

#include <interlock/inline/rwlock.h>

ILK_BEGIN_DECLARATIONS

/* How a section holds its lock: in the slot of that number of that block, or, without a block, in whatever
 * way the lock chose. */
typedef struct ilk__read_section {
    struct ilk__slot_block *block;
    size_t number;
} ilk__read_section;

/* In without waiting, in a slot and without a fence, if the lock is in that regime: true when in. */
static inline bool ilk__read_section_try_begin(ilk_rwlock *lock, ilk__read_section *section) ILK_NONBLOCKING {
    uint32_t word = ilk__rwlock_look(lock);
    /* The regime as a constant, so that enter_slot has one way left. */
    if (ILK_LIKELY((word & (ILK__RWLOCK_REGIME | ILK__RWLOCK_KEEPS_READERS_OUT)) == ILK__RWLOCK_REGIME) &&
        ILK_LIKELY(ilk__rwlock_enter_slot(lock, ILK__RWLOCK_REGIME))) {
        section->block = ilk__my_slots();
        section->number = ilk__rwlock_slot_number(lock);
        return true;
    }
    section->block = NULL;
    section->number = 0;
    return ilk__rwlock_try_read_fast(lock);
}

/* The thread, which holds the lock by the section, gives it up. */
static inline void ilk__read_section_end(ilk_rwlock *lock, ilk__read_section section) {
    if (ILK_LIKELY(section.block != NULL)) {
        ilk__slot_free(section.block, section.number, 0); /* noted without fence, and so without count */
    } else {
        ilk_rwlock_read_unlock(lock);
    }
}

ILK_END_DECLARATIONS

#endif
