/* SPDX-License-Identifier: Apache-2.0
 *
 * The memory of the slot table: three variables of which a process must have one copy, however many
 * copies of this library are in it. table_gnu.c defines them as unique symbols, which the dynamic linker
 * of GNU systems folds into one whatever the scope of each copy; table_plain.c as ordinary ones, which
 * are shared only among objects that see each other's symbols.
 */
#ifndef INTERLOCK_RWLOCK_TABLE_H
#define INTERLOCK_RWLOCK_TABLE_H

#include <interlock/inline/slots.h>

enum { ILK__CHUNK_BLOCKS = 32 };

struct ilk__slot_chunk {
    struct ilk__slot_block blocks[ILK__CHUNK_BLOCKS];
    ILK_ATOMIC(struct ilk__slot_chunk *) next; /* written once, before the count says there is one */
};

/* All zero bits are an empty table. */
struct ilk__slot_table {
    struct ilk__slot_chunk chunks;
    ILK_ATOMIC(uint32_t) block_count;
    ILK_ATOMIC(uint32_t) watches_fork; /* 1: one of the copies of the library does */
};

/* ilk__slot_table, ilk__no_slots and ilk__my_slots_pointer are declared in <interlock/inline/slots.h> and
 * my_slots.h: inline code, and the linker, must see them. */

#endif
