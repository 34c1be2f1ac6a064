/* SPDX-License-Identifier: Apache-2.0
 *
 * Thread-local state of the core, one block a fiber, zeroed at the start of each execution by
 * ex_local_reset(). Takes the place of threads/local_native.c.
 */
#include "../engine/state.h"
#include <string.h>
#include <threads/local.h>

static struct ilk__thread_state states[EX_THREADS];

struct ilk__thread_state *ilk__thread_state(void) ILK_NONBLOCKING {
    return &states[ex.current];
}

void ex_local_reset(void) {
    memset(states, 0, sizeof states);
}
