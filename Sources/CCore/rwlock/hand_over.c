/* SPDX-License-Identifier: Apache-2.0
 *
 * How ownership of an ilk_rwlock changes hands while threads wait. The lock word is drawn in
 * <interlock/inline/rwlock.h>, the queue lock in wait/queue_lock.h; queue.c decides which waiters are next.
 *
 * The protocol
 *   - While the queue is not empty HAS_WAITERS is up, so every unlock that could let a waiter in comes here.
 *     Fast paths then can only add readers, and not even that while a writer is queued (READERS_HELD).
 *   - give_up() settles where it can lock the queue. Where another thread has the queue, that thread settles,
 *     and learns from the word whether a write has ended.
 *   - settle() is the one place where ownership changes hands. It moves the word from "the leaver is inside"
 *     to "the admitted are inside" in one step, so that no third thread sees a free lock with waiters, and
 *     tells the admitted once it has released the queue.
 * Must not happen
 *   - A lost wake-up: a waiter queues while the last holder leaves on its fast path. The leaver's
 *     compare-and-swap either precedes the waiter's settle(), which then sees a free lock and admits it, or
 *     fails on HAS_WAITERS and comes here.
 *   - A lost hand-over: the thread that has the queue releases it without the last holder's share. Its
 *     release is a compare-and-swap from a word with the share.
 *   - A touch after the end (guarantee E). A settle() that admits no waiter and leaves none queued is one
 *     atomic step. One that admits touches the lock until it releases the queue; the admitted hold the lock
 *     meanwhile, and learn of it later. A leaver that leaves the rest to another thread touches nothing after
 *     its own step; that thread is in a call of its own, or its waiters are still queued or not yet told.
 */
#include "rwlock/hand_over.h"

#include "rwlock/queue.h"
#include "rwlock/report.h"
#include "wait/queue_lock.h"
#include <interlock/inline/rwlock.h>

void ilk__rwlock_settle(ilk_rwlock *lock, uint32_t seen, uint32_t change, struct ilk__waiter *self) {
    struct ilk__rwlock_list admitted = TAILQ_HEAD_INITIALIZER(admitted);
    bool was_written = false;
    for (;;) {
        /* A write that has ended since the queue was locked, in whichever thread, lets waiting readers in
         * first. None can have begun and ended in between: no writer comes in beside waiters. */
        was_written = was_written || (seen & ILK__RWLOCK_WRITER) != 0;
        const struct ilk__rwlock_plan plan = ilk__rwlock_plan(lock, seen + change, was_written);
        if (!plan.upgrade && !plan.all_readers && !plan.first_exclusive) {
            if (ilk__queue_unlock(&lock->word, &seen, plan.next)) {
                break;
            }
            continue;
        }
        const uint32_t next = plan.next | (seen & ILK__QUEUE_BITS);
        /* RW4 seq_cst, pairs with RW1, RW5 and RW11 (acquire, taking), RW2 and RW8 (release, giving up), and
         * with itself.
         * Carries: release, what the leaver wrote, to readers that come in on the fast path; acquire, what
         * earlier holders wrote, to the admitted, which get it from us (WT2).
         * If weaker: the admitted, or a reader beside them, read old data. Sequentially consistent because it
         * may raise WRITER, as RW1 does: see RW10. */
        if (ilk_atomic_compare_exchange_weak(&lock->word, &seen, next, memory_order_seq_cst,
                                             memory_order_relaxed)) {
            ilk__rwlock_take_out(lock, &plan, &admitted);
            seen = next;
            change = 0;
        }
    }
    /* From here on the lock belongs to the admitted. Each may be gone once granted. */
    struct ilk__waiter *waiter, *following;
    TAILQ_FOREACH_SAFE(waiter, &admitted, link, following) {
        if (waiter == self) {
            /* RW6 relaxed: only this thread reads it. */
            ilk_atomic_store(&waiter->granted, 1, memory_order_relaxed);
        } else {
            ilk__waiter_grant(waiter);
        }
    }
}

void ilk__rwlock_give_up(ilk_rwlock *lock, uint32_t held, uint32_t change, const char *call) {
    uint32_t word = ilk__rwlock_probe(lock);
    for (;;) {
        if ((word & held) == 0) {
            ilk__rwlock_no_holder(call, lock, word, held);
        }
        bool others_read =
            held == ILK__RWLOCK_READERS && (word & ILK__RWLOCK_READERS) != ILK__RWLOCK_ONE_READER;
        if ((word & ILK__RWLOCK_HAS_WAITERS) == 0 || (word & ILK__QUEUE_LOCKED) != 0 || others_read) {
            /* RW8 release, pairs with RW1, RW4 and RW5 (acquire) and with QL3. As RW2, where no waiter fits
             * yet, or where the thread that has the queue lets it in. */
            if (ilk_atomic_compare_exchange_weak(&lock->word, &word, word + change, memory_order_release,
                                                 memory_order_relaxed)) {
                return;
            }
        } else if (ilk__queue_try_lock(&lock->word, &word)) {
            /* Still inside: no waiter can have been let in, and the queued ones keep the lock alive. */
            ilk__rwlock_settle(lock, word, change, NULL);
            return;
        }
    }
}
