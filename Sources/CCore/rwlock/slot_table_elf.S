/* SPDX-License-Identifier: Apache-2.0
 *
 * The slot table on Linux, and the note by which copies of this library find each other
 * (slot_table_copies.c). In assembly for two reasons. C cannot name a unique symbol (STB_GNU_UNIQUE). And
 * link-time optimisation does not know the symbols of assembly inside a C file: no static archive would link.
 * The directives are the same for every 64-bit processor; slot_table_copies.c compares the sizes with C's.
 */
#include "platform/port.h"

#if ILK__PORT_ELF

#if defined(__CET__) && defined(__has_include)
#if __has_include(<cet.h>)
#include <cet.h> /* marks this file as fit for control-flow protection, as the compiler marks its own */
#endif
#endif

/* Eight occupied slots, the rest zero. */
        .section .data.ilk__no_slots_2, "aw", %progbits
        .balign 128
        .globl ilk__no_slots_2
        .type ilk__no_slots_2, %gnu_unique_object
        .size ilk__no_slots_2, 256
ilk__no_slots_2:
        .quad -1, -1, -1, -1, -1, -1, -1, -1
        .zero 192

/* All zero bits: an empty table. */
        .section .bss.ilk__slot_table_2, "aw", %nobits
        .balign 128
        .globl ilk__slot_table_2
        .type ilk__slot_table_2, %gnu_unique_object
        .size ilk__slot_table_2, 8320
ilk__slot_table_2:
        .zero 8320

/* A thread starts without a block. */
        .section .tdata.ilk__my_slots_pointer_2, "awT", %progbits
        .balign 8
        .globl ilk__my_slots_pointer_2
        .type ilk__my_slots_pointer_2, %gnu_unique_object
        .size ilk__my_slots_pointer_2, 8
ilk__my_slots_pointer_2:
        .quad ilk__no_slots_2

/* The address of the role of this copy's table. The dynamic linker fills it in, so it shows whether the symbol
 * was folded. */
        .section .data.rel.ro.ilk__role_here, "aw", %progbits
        .balign 8
        .globl ilk__role_here
        .hidden ilk__role_here
        .type ilk__role_here, %object
        .size ilk__role_here, 8
ilk__role_here:
        .quad ilk__slot_table_2 + ILK__TABLE_ROLE_OFFSET

/* The note: how far from its last word ilk__role_here lies. Linkers keep notes, strip keeps loaded ones, and
 * no export list or visibility applies to them. */
        .section .note.interlock, "a", %note
        .balign 4
        .long 10                /* the name's length */
        .long 8                 /* the content's */
        .long ILK__TABLE_NOTE_TYPE
        .asciz "Interlock"
        .balign 4
1:      .quad ilk__role_here - 1b

#if defined(__aarch64__) && defined(__ARM_FEATURE_BTI_DEFAULT)
/* No code here that a branch could miss: fit for branch target identification. */
        .section .note.gnu.property, "a", %note
        .balign 8
        .long 4, 16, 5
        .asciz "GNU"
        .long 0xc0000000, 4, 1, 0
#endif

        .section .note.GNU-stack, "", %progbits

#endif
