/* SPDX-License-Identifier: Apache-2.0
 *
 * The ids that the first thread of a forked process had in earlier processes. A mutex that it locked there
 * names it by one of them.
 *
 * An id may become another thread's: when the parent has ended, or in another namespace. Then it leaves the
 * list, so that what the new thread owns is not taken for the first thread's. What the first thread still
 * holds under it from before the fork has no owner from then on.
 */
#include "platform/identity.h"
#include "platform/local.h"
#include <interlock/inline/atomic.h>
#include <pthread.h>

/* Changes in a child while it has one thread; an entry goes back to 0 when its id becomes another
 * thread's. */
static ILK_ATOMIC(uint32_t) former[ILK__FORMER_IDS];
static uint32_t first; /* the id of the thread that the fork left; 0: this process was not forked */

bool ilk__thread_id_is_former(uint32_t id) ILK_NONBLOCKING {
    if (id == 0 || first == 0) {
        return false;
    }
    for (unsigned index = 0; index < ILK__FORMER_IDS; index++) {
        /* ID1 relaxed: written before the process has a second thread, or by the thread that now has the id,
         * before it uses the id. */
        if (ilk_atomic_load(&former[index], memory_order_relaxed) == id) {
            return true;
        }
    }
    return false;
}

bool ilk__thread_was(uint32_t id) ILK_NONBLOCKING {
    return ilk__thread_id_is_former(id) && ilk__thread_id() == first;
}

void ilk__thread_id_is_new(uint32_t id) ILK_NONBLOCKING {
    for (unsigned index = 0; first != 0 && index < ILK__FORMER_IDS; index++) {
        if (ilk_atomic_load(&former[index], memory_order_relaxed) == id) { /* ID1 */
            ilk_atomic_store(&former[index], 0, memory_order_relaxed);     /* ID1 */
        }
    }
}

static void ids_before_fork(void) {
    ilk__thread_state()->id_before_fork = ilk__thread_id_before_fork();
}

static void ids_after_fork_in_child(void) {
    const uint32_t before = ilk__thread_state()->id_before_fork;
    const bool was_first = before == first;
    for (unsigned index = ILK__FORMER_IDS - 1; index > 0; index--) {
        uint32_t older = ilk_atomic_load(&former[index - 1], memory_order_relaxed);    /* ID1 */
        ilk_atomic_store(&former[index], was_first ? older : 0, memory_order_relaxed); /* ID1 */
    }
    ilk_atomic_store(&former[0], before, memory_order_relaxed); /* ID1 */
    ilk__thread_id_forget();
    first = 0;
    first = ilk__thread_id_before_fork();
    ilk__thread_id_is_new(first); /* the same again, in another namespace */
}

__attribute__((constructor)) static void ids_watch_fork(void) {
    (void)pthread_atfork(ids_before_fork, NULL, ids_after_fork_in_child);
}
