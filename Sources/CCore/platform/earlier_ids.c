/* SPDX-License-Identifier: Apache-2.0
 *
 * The ids that the first thread of a forked process had in earlier processes, by which mutexes that it locked
 * there name it.
 *
 * An id that becomes another thread's (the parent has ended, or another namespace) leaves the list: what the
 * new thread owns is not taken for the first thread's, and what that still holds under it has no owner.
 */
#include "platform/identity.h"
#include "platform/local.h"
#include <interlock/inline/atomic.h>
#include <pthread.h>

/* Changes in a child while it has one thread; an entry goes back to 0 when its id becomes another
 * thread's. */
static ILK_ATOMIC(uint32_t) earlier[ILK__EARLIER_IDS];
static uint32_t first; /* of the thread that the fork left; 0: not forked */

bool ilk__thread_id_is_earlier(uint32_t id) ILK_NONBLOCKING {
    if (id == 0 || first == 0) {
        return false;
    }
    for (unsigned index = 0; index < ILK__EARLIER_IDS; index++) {
        /* ID1 relaxed: written before the process has a second thread, or by the thread that now has the id,
         * before it uses it. */
        if (ilk_atomic_load(&earlier[index], memory_order_relaxed) == id) {
            return true;
        }
    }
    return false;
}

bool ilk__thread_was(uint32_t id) ILK_NONBLOCKING {
    return ilk__thread_id_is_earlier(id) && ilk__thread_id() == first;
}

void ilk__thread_id_is_new(uint32_t id) ILK_NONBLOCKING {
    for (unsigned index = 0; first != 0 && index < ILK__EARLIER_IDS; index++) {
        if (ilk_atomic_load(&earlier[index], memory_order_relaxed) == id) { /* ID1 */
            ilk_atomic_store(&earlier[index], 0, memory_order_relaxed);     /* ID1 */
        }
    }
}

static void ids_before_fork(void) {
    ilk__thread_state()->id_before_fork = ilk__thread_id_before_fork();
}

static void ids_after_fork_in_child(void) {
    const uint32_t before = ilk__thread_state()->id_before_fork;
    const bool was_first = before == first;
    for (unsigned index = ILK__EARLIER_IDS - 1; index > 0; index--) {
        uint32_t older = ilk_atomic_load(&earlier[index - 1], memory_order_relaxed);    /* ID1 */
        ilk_atomic_store(&earlier[index], was_first ? older : 0, memory_order_relaxed); /* ID1 */
    }
    ilk_atomic_store(&earlier[0], before, memory_order_relaxed); /* ID1 */
    ilk__thread_id_forget();
    first = 0;
    first = ilk__thread_id_before_fork();
    ilk__thread_id_is_new(first); /* the same again, in another namespace */
}

/* Before the others: the child's handlers run in order of registration, and later ones ask for the id. */
__attribute__((constructor(101))) static void ids_watch_fork(void) {
    (void)pthread_atfork(ids_before_fork, NULL, ids_after_fork_in_child);
}
