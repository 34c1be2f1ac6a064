/* SPDX-License-Identifier: Apache-2.0
 *
 * Reading under an ilk_rwlock where lock and unlock stand side by side: the unlock is handed the lock's slot, which
 * saves a quarter of the instructions of a read that scales. For the Swift facade's sections; other callers take
 * ilk_rwlock_read_lock and ilk_rwlock_read_unlock. Same states, orders and labels. A section gives up its own share:
 * one within another is counted. What ilk_rwlock_try_read_lock takes within a section is given up there. What
 * ilk_rwlock_read_lock takes within one is given up behind it: there the unlock finds the section's slot, and frees
 * that.
 */
#ifndef INTERLOCK_INLINE_READ_SECTION_H
#define INTERLOCK_INLINE_READ_SECTION_H

#include <interlock/inline/rwlock.h>

ILK_BEGIN_DECLARATIONS

/* True when in; else ilk__read_section_begin_late. */
ILK_ALWAYS_INLINE bool ilk__read_section_try_begin(ilk_rwlock *lock, ilk__read_section *section)
    ILK_NONBLOCKING {
    if (!ilk__rwlock_try_read_fast(lock, section)) {
        return false;
    }
    ilk__held_more(lock);
    return true;
}

/* By value: a section whose address went to a function would stay in memory. */
static inline ilk_status ilk__read_section_begin_late(ilk_rwlock *lock, ilk__read_section *section,
                                                      uint64_t deadline_ns) {
    ilk__read_section late;
    ilk_status status = ilk__read_section_begin_slow(lock, &late, deadline_ns);
    *section = late;
    return status;
}

/* Takes the lock for reading; waits as long as it takes. */
ILK_ALWAYS_INLINE ilk__read_section ilk__read_section_begin(ilk_rwlock *lock) {
    ilk__read_section section;
    if (!ilk__read_section_try_begin(lock, &section)) {
        (void)ilk__read_section_begin_late(lock, &section, ILK_FOREVER);
    }
    return section;
}

/* Takes the lock for reading if that needs no waiting: true when taken. */
static inline bool ilk__read_section_try(ilk_rwlock *lock, ilk__read_section *section) ILK_NONBLOCKING {
    if (ilk__read_section_try_begin(lock, section)) {
        return true;
    }
    section->block = NULL;
    if (!ilk__rwlock_try_lock_slow(lock, ILK__READ)) {
        return false;
    }
    ilk__held_more(lock);
    return true;
}

/* What ilk_rwlock_downgrade leaves. */
static inline ilk__read_section ilk__read_section_downgraded(void) ILK_NONBLOCKING {
    const ilk__read_section counted = {NULL, 0};
    return counted;
}

ILK_ALWAYS_INLINE void ilk__read_section_end(ilk_rwlock *lock, ilk__read_section section) {
    ilk__held_less(lock, ILK__RWLOCK_READERS, "ilk_rwlock_read_unlock");
    if (section.block != NULL) {
        ilk__slot_free(section.block, section.number);
    } else {
        ilk__rwlock_uncount(lock);
    }
}

ILK_END_DECLARATIONS

#endif
