/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of the slot table: three variables that a process must have once, however many copies of this
 * library are in it. slot_table_elf.S defines them as unique symbols, which the dynamic linker of GNU systems
 * folds into one; slot_table_plain.c as ordinary ones, shared only among objects that see each other's
 * symbols.
 *
 * Folding fails where a link hides the symbols: a program that links the static library without exporting
 * them (interlock.pc and the CMake target export them), --exclude-libs, a version script, or a C library
 * without unique symbols (musl). Such a copy has a table of its own: see slot_table_copies.c.
 */
#ifndef INTERLOCK_RWLOCK_SLOT_TABLE_H
#define INTERLOCK_RWLOCK_SLOT_TABLE_H

#include <interlock/inline/slots.h>
#include <interlock/rwlock.h>
#include <stdbool.h>

enum { ILK__CHUNK_BLOCKS = 32 };

struct ilk__slot_chunk {
    struct ilk__slot_block blocks[ILK__CHUNK_BLOCKS];
    ILK_ATOMIC(struct ilk__slot_chunk *) next; /* written once, before a count that includes it */
};

/* All zero bits are an empty table. A change of this layout, or of a block's, changes the names of the three
 * symbols: copies of two versions must not share a table. */
struct ilk__slot_table {
    struct ilk__slot_chunk chunks;
    ILK_ATOMIC(uint32_t) role; /* enum ilk__table_role; see slot_table_copies.c */
    ILK_ATOMIC(uint32_t) block_count;
    ILK_ATOMIC(uint32_t) watches_fork; /* 1: a copy of the library does */
};

enum ilk__table_role {
    ILK__TABLE_UNDECIDED, /* until the constructor of the first copy that uses it has run */
    ILK__TABLE_CANDIDATE, /* while that constructor searches for other tables */
    ILK__TABLE_IN_CHARGE, /* its blocks are handed out */
    ILK__TABLE_IDLE       /* another is in charge: stays empty */
};

/* Whether the table of this copy hands out blocks. Where it does not, the table stays empty and every reader
 * is counted in the lock's word, which all copies see. */
bool ilk__table_is_in_charge(void);

/* Reports a lock that uses slots, of which this copy has none, and aborts: its readers are in another copy's
 * table. */
ILK_COLD ILK_NORETURN void ilk__table_report_another(const ilk_rwlock *lock) ILK_NONBLOCKING;

/* ilk__slot_table, ilk__no_slots and ilk__my_slots_pointer are declared in <interlock/inline/slots.h> and
 * my_slots.h, where inline code and the linker see them. */

#endif
