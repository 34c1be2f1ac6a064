/* SPDX-License-Identifier: Apache-2.0
 *
 * How ownership of an ilk_rwlock changes hands while threads wait (docs/rwlock.md). settle() alone changes
 * it, in one step from "the leaver is inside" to "the admitted are inside", and tells the admitted once it
 * has released the queue. give_up() settles where it can lock the queue; else the thread that has it settles,
 * and learns from the word whether a write has ended. queue.c decides which waiters are next.
 *
 * Must not happen
 *   - A lost wake-up: a waiter queues while the last holder leaves on its fast path. The leaver's
 *     compare-and-swap precedes the waiter's settle(), which then sees a free lock, or fails on HAS_WAITERS
 *     and comes here.
 *   - A lost hand-over: the queue is released without the last holder's share. The release is a
 *     compare-and-swap from a word with the share.
 *   - A touch after the end (guarantee E). A settle() that admits no waiter and leaves none queued is one
 *     step. One that admits touches the lock until it releases the queue; the admitted, not yet woken, hold it
 *     meanwhile. A leaver that leaves the rest to another thread touches nothing after its step; that thread
 *     is in a call of its own, or its waiters are queued or not yet woken.
 */
#include "rwlock/hand_over.h"

#include "platform/reaches.h"
#include "rwlock/queue.h"
#include "rwlock/report.h"
#include "wait/queue_lock.h"
#include <interlock/inline/rwlock.h>

void ilk__rwlock_settle(ilk_rwlock *lock, uint32_t seen, uint32_t change, struct ilk__waiter *self) {
    struct ilk__rwlock_list admitted = TAILQ_HEAD_INITIALIZER(admitted);
    bool was_written = false;
    for (;;) {
        /* A write that has ended since the queue was locked, in any thread, lets waiting readers in first.
         * None can begin and end in between: no writer comes in beside waiters. */
        was_written = was_written || (seen & ILK__RWLOCK_WRITER) != 0;
        const struct ilk__rwlock_plan plan = ilk__rwlock_plan(lock, seen + change, was_written);
        if (!plan.upgrade && !plan.all_readers && !plan.first_exclusive) {
            if (ilk__queue_unlock(&lock->word, &seen, plan.next)) {
                break;
            }
            continue;
        }
        const uint32_t next = plan.next | (seen & ILK__QUEUE_BITS);
        /* RW4 seq_cst, pairs with RW1, RW5 and RW11 (taking), RW2 and RW8 (giving up), and with itself.
         * Carries: what the leaver wrote, to readers on the fast path; what earlier holders wrote, to the
         * admitted, through us (WT2).
         * If weaker: the admitted, or a reader beside them, read old data. Sequentially consistent for RW10:
         * it may raise WRITER. */
        if (ilk_atomic_compare_exchange_weak(&lock->word, &seen, next, memory_order_seq_cst,
                                             memory_order_relaxed)) {
            ILK__REACHES(LOCK_TO_READERS, change != 0 && plan.all_readers);
            ILK__REACHES(LOCK_TO_EXCLUSIVE, change != 0 && plan.first_exclusive);
            ILK__REACHES(LOCK_TO_UPGRADE, change != 0 && plan.upgrade);
            ilk__rwlock_take_out(lock, &plan, &admitted);
            seen = next;
            change = 0;
        }
    }
    ILK__REACHES(LOCK_READER_WAITS, self != NULL && self->queued && self->kind == ILK__READ);
    ILK__REACHES(LOCK_WRITER_WAITS, self != NULL && self->queued && self->kind == ILK__WRITE);
    ILK__REACHES(LOCK_UPGRADABLE_WAITS, self != NULL && self->queued && self->kind == ILK__UPGRADABLE);
    ILK__REACHES(LOCK_UPGRADE_WAITS, self != NULL && self->queued && self->kind == ILK__UPGRADE);
    /* The lock now belongs to the admitted. Each may be gone once granted. */
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
            /* RW8 release, pairs with RW1, RW4 and RW5 and with QL3. It carries what RW2 does, where no waiter
             * fits yet, or the thread that has the queue lets it in. */
            if (ilk_atomic_compare_exchange_weak(&lock->word, &word, word + change, memory_order_release,
                                                 memory_order_relaxed)) {
                ILK__REACHES(LOCK_READER_LEAVES_OTHERS, others_read && (word & ILK__RWLOCK_HAS_WAITERS) != 0);
                ILK__REACHES(LOCK_LEFT_TO_QUEUE_HOLDER, !others_read && (word & ILK__QUEUE_LOCKED) != 0);
                return;
            }
        } else if (ilk__queue_try_lock(&lock->word, &word)) {
            ILK__REACHES(LOCK_DOWNGRADE_BESIDE_WAITERS,
                         change == ILK__RWLOCK_ONE_READER - ILK__RWLOCK_WRITER);
            /* Still inside: no waiter was let in, and the queued keep the lock alive. */
            ilk__rwlock_settle(lock, word, change, NULL);
            return;
        }
    }
}
