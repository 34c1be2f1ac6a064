/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of the slot table: three variables that a process must have once, however many copies of this
 * library are in it. slot_table_elf.S defines them as unique symbols, which GNU systems fold into one;
 * slot_table_plain.c as ordinary ones, shared only among objects that see each other's.
 *
 * If a link hides the symbols, or the C library has no unique ones (musl), a copy has a table of its own:
 * see docs/rwlock.md and slot_table_copies.c.
 */
#ifndef INTERLOCK_RWLOCK_SLOT_TABLE_H
#define INTERLOCK_RWLOCK_SLOT_TABLE_H

#include <interlock/inline/slots.h>
#include <interlock/rwlock.h>
#include <stdbool.h>

enum { ILK__CHUNK_BLOCKS = 32 };

struct ilk__slot_chunk {
    struct ilk__slot_block blocks[ILK__CHUNK_BLOCKS];
    ILK_ATOMIC(struct ilk__slot_chunk *) next; /* before a count that includes it; once */
};

/* All zero bits are an empty table. A change of this layout, of a block's, or of what a slot holds counts the number in
 * the three symbols' names up: copies of two versions must not share a table. */
struct ilk__slot_table {
    struct ilk__slot_chunk chunks;
    ILK_ATOMIC(uint32_t) role; /* enum ilk__table_role */
    ILK_ATOMIC(uint32_t) block_count;
    ILK_ATOMIC(uint32_t) watches_fork; /* 1: a copy does */
};

enum ilk__table_role {
    ILK__TABLE_UNDECIDED, /* until a copy's constructor runs */
    ILK__TABLE_CANDIDATE, /* while it searches for other tables */
    ILK__TABLE_IN_CHARGE, /* hands out its blocks */
    ILK__TABLE_IDLE       /* another is in charge: stays empty */
};

/* Whether this copy's table hands out blocks. If not, it stays empty and every reader is counted in the
 * lock's word, which all copies see. */
bool ilk__table_is_in_charge(void);

/* Reports a lock whose readers are in another copy's table, and aborts. */
ILK_COLD ILK_NORETURN void ilk__table_report_another(const ilk_rwlock *lock) ILK_NONBLOCKING;

/* The three symbols are declared in <interlock/inline/slots.h> and my_slots.h, for inline code and the
 * linker. */

#endif
