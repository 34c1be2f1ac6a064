/* SPDX-License-Identifier: Apache-2.0
 *
 * The notes of checked builds: a short list in the thread's own state. See <interlock/inline/held.h>.
 */
#include "rwlock/held.h"

#include "threads/local.h"
#include <interlock/inline/held.h>

void ilk__held_more_slow(const void *lock) ILK_NONBLOCKING {
    struct ilk__thread_state *mine = ilk__thread_state();
    if (mine->held_count + (size_t)1 < sizeof mine->held / sizeof *mine->held) {
        mine->held[mine->held_count++] = lock;
    }
}

void ilk__held_less_slow(const void *lock) ILK_NONBLOCKING {
    struct ilk__thread_state *mine = ilk__thread_state();
    for (unsigned index = mine->held_count; index-- > 0;) {
        if (mine->held[index] == lock) {
            mine->held[index] = mine->held[--mine->held_count];
            return;
        }
    }
}

bool ilk__held_by_me(const void *lock) {
    const struct ilk__thread_state *mine = ilk__thread_state();
    for (unsigned index = 0; index < mine->held_count; index++) {
        if (mine->held[index] == lock) {
            return true;
        }
    }
    return false;
}
