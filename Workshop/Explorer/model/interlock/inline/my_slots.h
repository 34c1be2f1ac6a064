/* SPDX-License-Identifier: Apache-2.0
 *
 * The calling thread's block of reader slots, in the model: one pointer per fiber, reset by ex_local_reset().
 */
#ifndef INTERLOCK_INLINE_MY_SLOTS_H
#define INTERLOCK_INLINE_MY_SLOTS_H

#include <interlock/inline/slots.h>

struct ilk__slot_block **ex_my_slots(void) ILK_NONBLOCKING;

static inline struct ilk__slot_block *ilk__my_slots(void) ILK_NONBLOCKING {
    return *ex_my_slots();
}

static inline void ilk__set_my_slots(struct ilk__slot_block *block) {
    *ex_my_slots() = block;
}

#endif
