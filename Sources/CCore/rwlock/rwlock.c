/* SPDX-License-Identifier: Apache-2.0
 *
 * The slow paths of ilk_rwlock: waiting, handing over, timing out, and saying what was misused. The
 * lock word is drawn in <interlock/inline/rwlock.h>; who is next is decided in queue.c.
 *
 * The protocol
 *   - Whoever changes the queue holds the queue lock, two bits of the word (park/queue_lock.h).
 *   - While the queue is not empty HAS_WAITERS is up, so every unlock that could let someone in comes
 *     here and takes the queue lock; fast paths then can only add readers, and not even that while a
 *     writer waits (READERS_HELD).
 *   - settle() is the one place where ownership changes hands: it moves the word from "the leaver is
 *     inside" to "the admitted are inside" in one step, so that no third thread ever sees a free lock
 *     with waiters, and only then tells the admitted.
 * Must not happen
 *   - A lost wake-up: a waiter queues while the last holder leaves on its fast path. The leaver's
 *     compare-and-swap either precedes the waiter's settle(), which then sees a free lock and admits
 *     it, or fails on HAS_WAITERS and comes here.
 *   - A touch after the end: see guarantee E. settle() that admits nobody and leaves nobody in line
 *     is one atomic step. One that admits touches the lock until it releases the queue, and the
 *     admitted, who hold the lock meanwhile, learn of it later.
 */
#include "diagnostics/misuse.h"
#include "diagnostics/names.h"
#include "park/queue_lock.h"
#include "rwlock/queue.h"
#include <interlock/rwlock.h>
#include <stddef.h>
#include <stdio.h>

_Static_assert(ILK__RWLOCK_QUEUE_LOCKED == ILK__QUEUE_LOCKED, "the queue lock's bits are fixed");
_Static_assert(ILK__RWLOCK_QUEUE_CONTENDED == ILK__QUEUE_CONTENDED, "the queue lock's bits are fixed");

/* Turns of the spin loop before queueing: a critical section of about a microsecond ends meanwhile. */
enum { SPIN_LIMIT = 64 };

/* ---- Misuse ---- */

enum { STATE_TEXT_SIZE = 128 };

static const char *state_text(uint32_t word, char text[STATE_TEXT_SIZE]) {
    unsigned readers = (unsigned)((word & ILK__RWLOCK_READERS) / ILK__RWLOCK_ONE_READER);
    if ((word & ILK__RWLOCK_WRITER) != 0) {
        snprintf(text, STATE_TEXT_SIZE, "is held for writing");
    } else if ((word & ILK__RWLOCK_UPGRADABLE) != 0) {
        snprintf(text, STATE_TEXT_SIZE, "is held upgradable and by %u readers", readers);
    } else if (readers > 0) {
        snprintf(text, STATE_TEXT_SIZE, "is held by %u readers", readers);
    } else if ((word & ILK__RWLOCK_HAS_WAITERS) != 0) {
        snprintf(text, STATE_TEXT_SIZE, "is waited for");
    } else {
        snprintf(text, STATE_TEXT_SIZE, "is free");
    }
    return text;
}

ILK_COLD ILK_NORETURN static void misuse(const char *call, const ilk_rwlock *lock, uint32_t word,
                                         const char *what) {
    char text[STATE_TEXT_SIZE];
    ilk__misuse(call, lock, "%s; the lock %s", what, state_text(word, text));
}

/* ---- Handing over ---- */

/* With the queue lock held: applies `change` to the word (what the caller gives up, as a difference),
 * lets in whoever is next, releases the queue lock, and wakes. `self`, if not NULL, is the caller's
 * own waiter, which needs no wake-up. */
static void settle(ilk_rwlock *lock, uint32_t change, bool readers_first, struct ilk__waiter *self) {
    uint32_t seen = ilk__queue_look(&lock->word);
    struct ilk__rwlock_plan plan;
    for (;;) {
        plan = ilk__rwlock_plan(lock, seen + change, readers_first);
        if (!plan.upgrade && !plan.all_readers && !plan.first_exclusive) {
            if (ilk__queue_unlock(&lock->word, &seen, plan.next)) {
                return;
            }
            continue;
        }
        /* RW4 acq_rel, pairs with RW1 (acquire, taking) and RW2 (release, giving up), and with itself.
         * Release carries what the leaver wrote, to readers who come in on the fast path; acquire what
         * earlier holders wrote, for the admitted, who get it from us (WT2).
         * If weaker: the admitted, or a reader beside them, read old data. */
        if (ilk_atomic_compare_exchange_weak(&lock->word, &seen, plan.next | (seen & ILK__QUEUE_BITS),
                                             memory_order_acq_rel, memory_order_relaxed)) {
            break;
        }
    }
    struct ilk__rwlock_list admitted;
    ilk__rwlock_take_out(lock, &plan, &admitted);
    seen = ilk__queue_look(&lock->word);
    while (!ilk__queue_unlock(&lock->word, &seen, seen & ~ILK__QUEUE_BITS)) {
    }
    /* From here on the lock belongs to the admitted. Each may be gone as soon as it is granted. */
    struct ilk__waiter *waiter, *next;
    TAILQ_FOREACH_SAFE(waiter, &admitted, link, next) {
        if (waiter == self) {
            /* RW6 relaxed: only this thread reads it. */
            ilk_atomic_store(&waiter->granted, 1, memory_order_relaxed);
        } else {
            ilk__waiter_grant(waiter);
        }
    }
}

/* What a holder in each mode adds to the word. */
static uint32_t share_of(enum ilk__rwlock_kind kind) {
    switch (kind) {
    case ILK__READ:
        return ILK__RWLOCK_ONE_READER;
    case ILK__UPGRADABLE:
        return ILK__RWLOCK_UPGRADABLE;
    case ILK__WRITE:
        return ILK__RWLOCK_WRITER;
    case ILK__UPGRADE:
        return ILK__RWLOCK_WRITER - ILK__RWLOCK_UPGRADABLE;
    }
    return 0;
}

/* May `kind` come into a lock in this state without queueing, that is without passing a waiter? */
static bool admits(uint32_t word, enum ilk__rwlock_kind kind) {
    const uint32_t holders = ILK__RWLOCK_WRITER | ILK__RWLOCK_UPGRADABLE | ILK__RWLOCK_READERS;
    switch (kind) {
    case ILK__READ:
        return (word & (ILK__RWLOCK_WRITER | ILK__RWLOCK_READERS_HELD)) == 0;
    case ILK__UPGRADABLE:
        return (word & (ILK__RWLOCK_WRITER | ILK__RWLOCK_UPGRADABLE | ILK__RWLOCK_HAS_WAITERS)) == 0;
    case ILK__WRITE:
        return (word & (holders | ILK__RWLOCK_HAS_WAITERS)) == 0;
    case ILK__UPGRADE:
        return (word & ILK__RWLOCK_READERS) == 0;
    }
    return false;
}

/* Comes in if that needs no waiting. Tries again only when the word changed under it. */
static bool enter_if_admitted(ilk_rwlock *lock, enum ilk__rwlock_kind kind, const char *call) {
    uint32_t word = ilk__rwlock_look(lock);
    while (admits(word, kind)) {
        if (kind == ILK__READ && (word & ILK__RWLOCK_READERS) == ILK__RWLOCK_READERS) {
            misuse(call, lock, word, "one reader more than the lock can count");
        }
        /* RW5 acquire, pairs with RW2 and RW4 (release). As RW1, from a state with waiters or diagnosis. */
        if (ilk_atomic_compare_exchange_weak(&lock->word, &word, word + share_of(kind), memory_order_acquire,
                                             memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

static ilk_status lock_slow(ilk_rwlock *lock, enum ilk__rwlock_kind kind, uint64_t deadline_ns,
                            const char *call) {
    for (int turn = 0; turn < SPIN_LIMIT; turn++) {
        if (enter_if_admitted(lock, kind, call)) {
            return ILK_OK;
        }
        ilk_cpu_relax();
    }
    struct ilk__rwlock_waiter self = {.waiter = {.kind = (uint8_t)kind}};
    ilk__queue_lock(&lock->word);
    ilk__rwlock_enqueue(lock, &self);
    settle(lock, 0, false, &self.waiter);
    if (ilk__waiter_sleep(&self.waiter, deadline_ns) == ILK_OK) {
        return ILK_OK;
    }
    ilk__queue_lock(&lock->word);
    if (!self.waiter.queued) {
        /* Late, but let in by someone who will say so in a moment: taken is taken. */
        settle(lock, 0, false, NULL);
        return ilk__waiter_sleep(&self.waiter, ILK_FOREVER);
    }
    ilk__rwlock_dequeue(lock, &self.waiter);
    settle(lock, 0, false, NULL); /* whoever we held back */
    return ILK_TIMEDOUT;
}

/* ---- The calls ---- */

void ilk_rwlock_init(ilk_rwlock *lock) {
    /* RW7 relaxed: nobody else uses the lock yet. */
    ilk_atomic_store(&lock->word, 0, memory_order_relaxed);
    lock->reserved = 0;
    lock->queue = NULL;
}

void ilk_rwlock_destroy(ilk_rwlock *lock) {
    const uint32_t in_use = ~(ILK__RWLOCK_OBSERVED | ILK__QUEUE_BITS);
    uint32_t word = ilk__rwlock_look(lock);
    if ((word & in_use) != 0) {
        misuse("ilk_rwlock_destroy", lock, word, "destroyed while in use");
    }
    ilk__name_forget(lock);
}

void ilk__rwlock_read_lock_slow(ilk_rwlock *lock) {
    (void)lock_slow(lock, ILK__READ, ILK_FOREVER, "ilk_rwlock_read_lock");
}

bool ilk__rwlock_try_read_lock_slow(ilk_rwlock *lock) ILK_NONBLOCKING {
    return enter_if_admitted(lock, ILK__READ, "ilk_rwlock_try_read_lock");
}

ilk_status ilk_rwlock_read_lock_until(ilk_rwlock *lock, uint64_t deadline_ns) {
    if (ilk_rwlock_try_read_lock(lock)) {
        return ILK_OK;
    }
    return lock_slow(lock, ILK__READ, deadline_ns, "ilk_rwlock_read_lock_until");
}

void ilk__rwlock_read_unlock_slow(ilk_rwlock *lock) {
    uint32_t word = ilk__rwlock_look(lock);
    for (;;) {
        if ((word & ILK__RWLOCK_READERS) == 0) {
            misuse("ilk_rwlock_read_unlock", lock, word, "no reader holds the lock");
        }
        bool is_last = (word & ILK__RWLOCK_READERS) == ILK__RWLOCK_ONE_READER;
        if (is_last && (word & ILK__RWLOCK_HAS_WAITERS) != 0) {
            break;
        }
        /* RW8 release, pairs with RW1, RW4 and RW5 (acquire). As RW2, from a state with diagnosis or
         * with waiters for whom we are not the last. */
        if (ilk_atomic_compare_exchange_weak(&lock->word, &word, word - ILK__RWLOCK_ONE_READER,
                                             memory_order_release, memory_order_relaxed)) {
            return;
        }
    }
    /* Still inside: the waiters cannot have been let in, and those that remain keep the lock alive. */
    ilk__queue_lock(&lock->word);
    settle(lock, 0U - ILK__RWLOCK_ONE_READER, false, NULL);
}

void ilk__rwlock_write_lock_slow(ilk_rwlock *lock) {
    (void)lock_slow(lock, ILK__WRITE, ILK_FOREVER, "ilk_rwlock_write_lock");
}

bool ilk__rwlock_try_write_lock_slow(ilk_rwlock *lock) ILK_NONBLOCKING {
    return enter_if_admitted(lock, ILK__WRITE, "ilk_rwlock_try_write_lock");
}

ilk_status ilk_rwlock_write_lock_until(ilk_rwlock *lock, uint64_t deadline_ns) {
    if (ilk_rwlock_try_write_lock(lock)) {
        return ILK_OK;
    }
    return lock_slow(lock, ILK__WRITE, deadline_ns, "ilk_rwlock_write_lock_until");
}

/* Leaves the write side, for good or for a reader's share. */
static void leave_write(ilk_rwlock *lock, uint32_t change, const char *call) {
    uint32_t word = ilk__rwlock_look(lock);
    if ((word & ILK__RWLOCK_WRITER) == 0) {
        misuse(call, lock, word, "no writer holds the lock");
    }
    ilk__queue_lock(&lock->word);
    settle(lock, change, true, NULL);
}

void ilk__rwlock_write_unlock_slow(ilk_rwlock *lock) {
    leave_write(lock, 0U - ILK__RWLOCK_WRITER, "ilk_rwlock_write_unlock");
}

void ilk__rwlock_downgrade_slow(ilk_rwlock *lock) {
    leave_write(lock, ILK__RWLOCK_ONE_READER - ILK__RWLOCK_WRITER, "ilk_rwlock_downgrade");
}

void ilk__rwlock_upgradable_lock_slow(ilk_rwlock *lock) {
    (void)lock_slow(lock, ILK__UPGRADABLE, ILK_FOREVER, "ilk_rwlock_upgradable_lock");
}

void ilk__rwlock_upgradable_unlock_slow(ilk_rwlock *lock) {
    uint32_t word = ilk__rwlock_look(lock);
    if ((word & ILK__RWLOCK_UPGRADABLE) == 0) {
        misuse("ilk_rwlock_upgradable_unlock", lock, word, "nobody holds the lock upgradable");
    }
    ilk__queue_lock(&lock->word);
    settle(lock, 0U - ILK__RWLOCK_UPGRADABLE, false, NULL);
}

void ilk__rwlock_upgrade_slow(ilk_rwlock *lock) {
    uint32_t word = ilk__rwlock_look(lock);
    if ((word & ILK__RWLOCK_UPGRADABLE) == 0) {
        misuse("ilk_rwlock_upgrade", lock, word, "nobody holds the lock upgradable");
    }
    (void)lock_slow(lock, ILK__UPGRADE, ILK_FOREVER, "ilk_rwlock_upgrade");
}
