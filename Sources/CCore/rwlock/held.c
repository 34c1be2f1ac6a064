/* SPDX-License-Identifier: Apache-2.0
 *
 * Which locks a thread holds, in its own state: checked builds (<interlock/inline/held.h>).
 *
 * A signal handler may interrupt these functions; it leaves the list as it found it. So each makes room
 * before it writes, or moves an entry before it gives its place up. Plain locks are not listed: another thread may give
 * them up.
 */
#include "rwlock/held.h"

#include "diagnostics/misuse.h"
#include "platform/local.h"
#include "rwlock/mode.h"
#include <interlock/rwlock.h>

#ifdef ILK_CHECKED
static const void **listed(struct ilk__thread_state *mine) ILK_NONBLOCKING {
    return mine->held;
}
#else
/* An unchecked library counts the locks that a program compiled with checks takes, and lists none. */
static const void **listed(struct ilk__thread_state *mine) ILK_NONBLOCKING {
    (void)mine;
    return NULL;
}
#endif

void ilk__held_more_slow(const void *lock) ILK_NONBLOCKING {
    if (ilk__mode_is_plain(lock)) {
        return;
    }
    struct ilk__thread_state *mine = ilk__thread_state();
    if (mine->held_count + 1U > (unsigned)ILK__THREAD_HELD) {
        mine->held_unlisted++;
        return;
    }
    unsigned index = mine->held_count++;
    ilk_compiler_fence();
    listed(mine)[index] = lock;
}

void ilk__held_less_slow(const void *lock, uint32_t share, const char *call) ILK_NONBLOCKING {
    if (ilk__mode_is_plain(lock)) {
        return;
    }
    struct ilk__thread_state *mine = ilk__thread_state();
    for (unsigned index = mine->held_count; index-- > 0;) {
        if (listed(mine)[index] == lock) {
            listed(mine)[index] = listed(mine)[mine->held_count - 1];
            ilk_compiler_fence();
            mine->held_count--;
            return;
        }
    }
    if (mine->held_unlisted > 0) {
        mine->held_unlisted--;
        return;
    }
    /* A lock that no thread holds so is reported where it is given up, in every build. */
    if ((ilk__rwlock_probe(lock) & share) != 0) {
        ilk__misuse(call, lock, "the calling thread does not hold it, another thread does");
    }
}

bool ilk__held_by_me(const void *lock) {
    struct ilk__thread_state *mine = ilk__thread_state();
    for (unsigned index = 0; index < mine->held_count; index++) {
        if (listed(mine)[index] == lock) {
            return true;
        }
    }
    return false;
}

void ilk__held_forget(const void *lock) {
    struct ilk__thread_state *mine = ilk__thread_state();
    for (unsigned index = mine->held_count; index-- > 0;) {
        if (listed(mine)[index] == lock) {
            listed(mine)[index] = listed(mine)[mine->held_count - 1];
            ilk_compiler_fence();
            mine->held_count--;
        }
    }
}
