/* SPDX-License-Identifier: Apache-2.0
 *
 * The slot table as unique symbols (STB_GNU_UNIQUE). See table.h. In assembly because C has no word for
 * them; the directives are the same for every 64-bit processor. Sizes are checked against C's below.
 */
#include "rwlock/table.h"
#include "threads/port.h"

#if ILK__PORT_UNIQUE_SYMBOLS

#include <stddef.h>

_Static_assert(sizeof(struct ilk__slot_block) == 256, "as in the assembly");
_Static_assert(sizeof(struct ilk__slot_table) <= 8320, "as in the assembly");
_Static_assert(sizeof(uintptr_t) == 8, "as in the assembly");

/* Eight occupied slots, the rest zero. */
__asm__(".pushsection .data.ilk__no_slots, \"aw\", %progbits\n"
        ".balign 128\n"
        ".globl ilk__no_slots\n"
        ".type ilk__no_slots, %gnu_unique_object\n"
        ".size ilk__no_slots, 256\n"
        "ilk__no_slots:\n"
        ".quad -1, -1, -1, -1, -1, -1, -1, -1\n"
        ".zero 192\n"
        ".popsection\n");

/* All zero bits: an empty table. */
__asm__(".pushsection .bss.ilk__slot_table, \"aw\", %nobits\n"
        ".balign 128\n"
        ".globl ilk__slot_table\n"
        ".type ilk__slot_table, %gnu_unique_object\n"
        ".size ilk__slot_table, 8320\n"
        "ilk__slot_table:\n"
        ".zero 8320\n"
        ".popsection\n");

/* A thread starts without a block. */
__asm__(".pushsection .tdata.ilk__my_slots_pointer, \"awT\", %progbits\n"
        ".balign 8\n"
        ".globl ilk__my_slots_pointer\n"
        ".type ilk__my_slots_pointer, %gnu_unique_object\n"
        ".size ilk__my_slots_pointer, 8\n"
        "ilk__my_slots_pointer:\n"
        ".quad ilk__no_slots\n"
        ".popsection\n");

#endif
