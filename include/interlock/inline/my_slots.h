/* SPDX-License-Identifier: Apache-2.0
 *
 * The one port to the calling thread's block of reader slots: one load at an offset from the thread pointer,
 * inlined into every reader.
 */
#ifndef INTERLOCK_INLINE_MY_SLOTS_H
#define INTERLOCK_INLINE_MY_SLOTS_H

#include <interlock/inline/slots.h>

ILK_BEGIN_DECLARATIONS

extern __thread struct ilk__slot_block *ilk__my_slots_pointer_2 __attribute__((tls_model("initial-exec")));

/* Initial-exec: no allocation on first use. */
ILK_TRUSTED_NONBLOCKING_BEGIN
/* Never NULL: ilk__no_slots_2 until the thread has a block. */
static inline struct ilk__slot_block *ilk__my_slots(void) ILK_NONBLOCKING {
    return ilk__my_slots_pointer_2;
}
ILK_TRUSTED_NONBLOCKING_END

static inline void ilk__set_my_slots(struct ilk__slot_block *block) {
    ilk__my_slots_pointer_2 = block;
}

ILK_END_DECLARATIONS

#endif
