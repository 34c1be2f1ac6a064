/* SPDX-License-Identifier: Apache-2.0
 *
 * Thread-local state of the core, one block per fiber; ex_local_reset() zeroes it before each execution.
 * Replaces platform/local_native.c.
 */
#include "../engine/state.h"
#include <interlock/inline/slots.h>
#include <platform/local.h>
#include <string.h>

/* The classics are linked without the core. */
extern struct ilk__slot_block ilk__no_slots_2 __attribute__((weak));

static struct ilk__thread_state states[EX_THREADS];
static struct ilk__slot_block *slots[EX_THREADS];

struct ilk__thread_state *ilk__thread_state(void) ILK_NONBLOCKING {
    return &states[ex.current];
}

struct ilk__slot_block **ex_my_slots(void) ILK_NONBLOCKING {
    return &slots[ex.current];
}

void ex_local_reset(void) {
    memset(states, 0, sizeof states);
    for (size_t thread = 0; thread < EX_THREADS; thread++) {
        slots[thread] = &ilk__no_slots_2;
    }
}
