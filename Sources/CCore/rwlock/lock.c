/* SPDX-License-Identifier: Apache-2.0
 *
 * The slow paths of ilk_rwlock: waiting, handing over, timing out, and saying what was misused. The
 * lock word is drawn in <interlock/inline/rwlock.h>; who is next is decided in queue.c.
 *
 * The protocol
 *   - A thread that joins or leaves the queue for itself takes the queue lock, two bits of the word
 *     (wait/queue_lock.h), and may have to wait for it.
 *   - While the queue is not empty HAS_WAITERS is up, so every unlock that could let a waiter in comes here.
 *     Fast paths then can only add readers, and not even that while a writer waits (READERS_HELD).
 *   - leave() gives a share up and waits for nothing. Where the queue is free it takes it and settles. Where
 *     another thread has the queue, it gives the share up in the word alone; that thread's release of the
 *     queue then fails, and it admits the next waiters. It learns from the word whether a write has ended.
 *   - settle() is the one place where ownership changes hands: it moves the word from "the leaver is
 *     inside" to "the admitted are inside" in one step, so that no third thread ever sees a free lock
 *     with waiters, and tells the admitted once it has released the queue.
 * Must not happen
 *   - A lost wake-up: a waiter queues while the last holder leaves on its fast path. The leaver's
 *     compare-and-swap either precedes the waiter's settle(), which then sees a free lock and admits
 *     it, or fails on HAS_WAITERS and comes here.
 *   - A lost hand-over: the last holder leaves the rest to the thread that has the queue, and that thread
 *     releases the queue without it. Its release is a compare-and-swap from a word with the share.
 *   - A touch after the end: see guarantee E. settle() that admits nobody and leaves nobody in line
 *     is one atomic step. One that admits touches the lock until it releases the queue, and the
 *     admitted, who hold the lock meanwhile, learn of it later. A leaver that leaves the rest to another
 *     thread touches nothing after its own step; that other thread is in a call of its own, or its waiters
 *     are still in line or admitted and not yet told.
 */
#include "diagnostics/misuse.h"
#include "diagnostics/names.h"
#include "platform/clock.h"
#include "platform/yield.h"
#include "rwlock/held.h"
#include "rwlock/mode.h"
#include "rwlock/queue.h"
#include "rwlock/reader_slots.h"
#include "rwlock/slot_table_walk.h"
#include "wait/fence.h"
#include "wait/queue_lock.h"
#include <interlock/inline/read_section.h>
#include <interlock/rwlock.h>
#include <stddef.h>
#include <stdio.h>

_Static_assert(ILK__RWLOCK_QUEUE_LOCKED == ILK__QUEUE_LOCKED, "the queue lock's bits are fixed");
_Static_assert(ILK__RWLOCK_QUEUE_CONTENDED == ILK__QUEUE_CONTENDED, "the queue lock's bits are fixed");

/* Looks at the word before queueing, the pause between them doubling up to the longest: some tens of
 * microseconds in all, so that a thread that is running gets its turn without a system call on either
 * side. The longer the pause, the longer the others' undisturbed run. Chosen by bench rwlock, 2 threads. */
enum { SPIN_LIMIT = 80 };
enum { PROBES_OF_A_TRY = 8 };
enum { PAUSES = 48, LONGEST_PAUSE = 64 }; /* the turns after the pauses give the core away */

static void pause_before_probe(int probe) {
    if (probe >= PAUSES) {
        ilk__thread_yield();
        return;
    }
    int relaxes = probe < 6 ? 1 << probe : LONGEST_PAUSE;
    for (int count = 0; count < relaxes; count++) {
        ilk_cpu_relax();
    }
}

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

/* With the queue lock held, and `seen` what the word held then or since: applies `change` to the word (what
 * the caller gives up, as a difference), lets in what is next, releases the queue lock, and wakes. `self`, if
 * not NULL, is the caller's own waiter, which needs no wake-up. Other threads may give up their shares
 * meanwhile (leave), so that more waiters fit: the queue is released only by a step that admits nobody. */
static void rwlock_settle(ilk_rwlock *lock, uint32_t seen, uint32_t change, struct ilk__waiter *self) {
    struct ilk__rwlock_list admitted = TAILQ_HEAD_INITIALIZER(admitted);
    bool was_written = false;
    for (;;) {
        /* A write that has ended since the queue was locked lets waiting readers in first, by whomever it was
         * given up. None can have begun and ended in between: no writer comes in beside waiters. */
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
         * with itself. Release carries what the leaver wrote, to readers who come in on the fast path;
         * acquire what earlier holders wrote, for the admitted, who get it from us (WT2). If weaker: the
         * admitted, or a reader beside them, read old data. Sequentially consistent because it may raise
         * WRITER, as RW1 does: see RW10. */
        if (ilk_atomic_compare_exchange_weak(&lock->word, &seen, next, memory_order_seq_cst,
                                             memory_order_relaxed)) {
            ilk__rwlock_take_out(lock, &plan, &admitted);
            seen = next;
            change = 0;
        }
    }
    /* From here on the lock belongs to the admitted. Each may be gone as soon as it is granted. */
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

/* Gives up a share of the word, which must have one of the bits of `held`, by adding `change`. Waits for
 * nothing. */
static void leave(ilk_rwlock *lock, uint32_t held, uint32_t change, const char *call, const char *none) {
    uint32_t word = ilk__rwlock_probe(lock);
    for (;;) {
        if ((word & held) == 0) {
            misuse(call, lock, word, none);
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
            /* Still inside: no waiter can have been let in, and those in line keep the lock alive. */
            rwlock_settle(lock, word, change, NULL);
            return;
        }
    }
}

static void leave_write(ilk_rwlock *lock, uint32_t change, const char *call) {
    leave(lock, ILK__RWLOCK_WRITER, change - ILK__RWLOCK_WRITER, call, "no writer holds the lock");
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

/* The word with `kind` inside. A read that found the read samples full, and may not think about it, starts
 * it anew. */
static uint32_t with(uint32_t word, enum ilk__rwlock_kind kind) {
    bool is_full = (word & (ILK__RWLOCK_READ_SAMPLES | ILK__RWLOCK_SLOTS)) == ILK__RWLOCK_READ_SAMPLES;
    return (kind == ILK__READ && is_full ? word & ~ILK__RWLOCK_READ_SAMPLES : word) + share_of(kind);
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
    uint32_t word = ilk__rwlock_probe(lock);
    while (admits(word, kind)) {
        if (kind == ILK__READ && (word & ILK__RWLOCK_READERS) == ILK__RWLOCK_READERS) {
            misuse(call, lock, word, "one reader more than the lock can count");
        }
        /* RW5 seq_cst, pairs with RW2, RW4 and RW8 (release), and with RW10. As RW1, from a state with
         * waiters or diagnosis. */
        if (ilk_atomic_compare_exchange_weak(&lock->word, &word, with(word, kind), memory_order_seq_cst,
                                             memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

/* Whether the slot of this lock in the calling thread's block says that it reads under it. */
static bool is_in_my_slot(const ilk_rwlock *lock) {
    return ilk__slot_names(ilk__slot_load(ilk__my_slots(), ilk__rwlock_slot_number(lock)), lock);
}

/* Before a wait without end: it would be one for the calling thread itself. What is held for reading may be
 * read again as long as nobody waits, so a checked build reports that here, too, and not where it is taken.
 * An upgrade holds the lock once by rights. */
static void report_wait_for_self(const ilk_rwlock *lock, enum ilk__rwlock_kind kind, uint64_t deadline_ns,
                                 const char *call) {
    bool reads = kind != ILK__READ && is_in_my_slot(lock);
    if (deadline_ns == ILK_FOREVER && (reads || (kind != ILK__UPGRADE && ilk__held_by_me(lock)))) {
        ilk__misuse(call, lock, "the calling thread would wait for itself: it %s the lock already",
                    reads ? "reads under" : "holds");
    }
}

static ilk_status lock_slow(ilk_rwlock *lock, enum ilk__rwlock_kind kind, uint64_t deadline_ns,
                            const char *call) {
    for (int probe = 0; probe < SPIN_LIMIT; probe++) {
        if (enter_if_admitted(lock, kind, call)) {
            return ILK_OK;
        }
        pause_before_probe(probe);
    }
    report_wait_for_self(lock, kind, deadline_ns, call);
    struct ilk__rwlock_waiter self = {.waiter = {.kind = (uint8_t)kind}};
    uint32_t seen;
    if (ilk__queue_lock_until(&lock->word, deadline_ns, &seen) != ILK_OK) {
        return ILK_TIMEDOUT;
    }
    ilk__rwlock_enqueue(lock, &self);
    rwlock_settle(lock, seen, 0, &self.waiter);
    if (ilk__waiter_sleep(&self.waiter, deadline_ns) == ILK_OK) {
        return ILK_OK;
    }
    ilk__queue_lock(&lock->word, &seen);
    if (!self.waiter.queued) {
        /* Late, but let in by a thread that will say so in a moment: taken is taken. */
        rwlock_settle(lock, seen, 0, NULL);
        return ilk__waiter_sleep(&self.waiter, ILK_FOREVER);
    }
    ilk__rwlock_dequeue(lock, &self.waiter);
    rwlock_settle(lock, seen, 0, NULL); /* the waiters that this one held back */
    return ILK_TIMEDOUT;
}

/* ---- Slots and modes ---- */

/* With WRITER up: waits for the readers in slots and thinks about the mode. ILK_TIMEDOUT: WRITER has
 * been given up again, for `instead`. */
static ilk_status drain_until(ilk_rwlock *lock, uint32_t word, bool probes, uint32_t instead,
                              uint64_t deadline_ns, const char *call) {
    report_wait_for_self(lock, ILK__UPGRADE, deadline_ns, call);
    uint32_t paid = 0;
    if ((word & ILK__RWLOCK_FENCE_FREE) != 0) {
        uint64_t start = ilk__clock_ticks();
        ilk__fence_heavy();
        paid = (uint32_t)(ilk__clock_ticks() - start) | 1;
    }
    uint64_t start = probes ? ilk__clock_ticks() : 0;
    if (ilk__slots_wait_empty(lock, deadline_ns) != ILK_OK) {
        leave_write(lock, instead, call);
        return ILK_TIMEDOUT;
    }
    if (probes) {
        uint32_t leave = ilk__mode_to_leave(lock, word, paid, (uint32_t)(ilk__clock_ticks() - start));
        /* RW16 relaxed: only bits that nobody else changes while WRITER is up; RW2 publishes them. */
        ilk_atomic_fetch_and(&lock->word, ~leave, memory_order_relaxed);
    }
    return ILK_OK;
}

ILK_NOINLINE static void drain(ilk_rwlock *lock, uint32_t word, bool probes) {
    (void)drain_until(lock, word, probes, 0, ILK_FOREVER, "ilk_rwlock_write_lock");
}

void ilk__rwlock_drain(ilk_rwlock *lock, uint32_t word) {
    bool probes = ilk__mode_count_write(lock, word);
    if (ILK_UNLIKELY(probes) || (word & ILK__RWLOCK_FENCE_FREE) != 0 ||
        ILK_UNLIKELY(ilk__slots_may_hold(lock))) {
        drain(lock, word, probes);
    }
}

/* The second half of taking the write side, once WRITER is up. ILK_TIMEDOUT: given up for `instead`. */
static ilk_status finish_write(ilk_rwlock *lock, uint32_t instead, uint64_t deadline_ns, const char *call) {
    uint32_t word = ilk__rwlock_probe(lock);
    return (word & ILK__RWLOCK_SLOTS) != 0
               ? drain_until(lock, word, ilk__mode_count_write(lock, word), instead, deadline_ns, call)
               : ILK_OK;
}

/* RW17 relaxed: opens slots to readers, or lets them leave the fence out; they look at the word again
 * (RW11) once they are in. Lost to a change of the word: another reader will try. */
static void change_mode(ilk_rwlock *lock, uint32_t from, uint32_t to) ILK_NONBLOCKING {
    (void)ilk_atomic_compare_exchange(&lock->word, &from, to, memory_order_relaxed,
                                      memory_order_relaxed); /* RW17 */
}

/* Uses of a slot between two thoughts about the fence, in times that it was full. */
enum { FULL_SLOTS_PER_DECISION = 64 };

/* If the calling thread's slot is free but full: it can be used again. How often that has been done, 0 if it
 * was not full. */
static uint32_t empty_full_slot(ilk_rwlock *lock) ILK_NONBLOCKING {
    struct ilk__slot_block *block = ilk__my_slots();
    size_t number = ilk__rwlock_slot_number(lock);
    uint64_t seen = ilk__slot_load(block, number);
    if (seen < ILK__SLOT_FULL || !ilk__slot_is_free(seen)) {
        return 0;
    }
    /* RW18 relaxed: our own count, a hint to writers. */
    uint32_t wraps = ilk_atomic_load(&block->wraps[number], memory_order_relaxed) + 1;
    ilk_atomic_store(&block->wraps[number], wraps, memory_order_relaxed); /* RW18 */
    ilk__slot_free(block, number, 0);
    return wraps;
}

/* A reader that may wait, off the fast path: gets slots if it has none, moves a lock that is read a lot to
 * them, and lets one that is hardly written leave out the fence. The last measures a membarrier once in a
 * while. */
static void decide_mode(ilk_rwlock *lock) {
    uint32_t word = ilk__rwlock_probe(lock);
    if ((word & ILK__RWLOCK_KEEPS_READERS_OUT) != 0) {
        return;
    }
    if (ilk__slots_mine(true) == NULL) {
        ilk__slots_check_table(lock);
        return;
    }
    uint32_t wraps = empty_full_slot(lock);
    if (wraps != 0 && wraps % FULL_SLOTS_PER_DECISION == 0 &&
        (word & ILK__RWLOCK_READ_PATH) == ILK__RWLOCK_SLOTS &&
        ilk__mode_wants_fence_free(lock, ilk__my_slots())) {
        change_mode(lock, word, word | ILK__RWLOCK_FENCE_FREE);
    }
    /* Where it does not, the read that follows starts the read samples anew. */
    if ((word & ILK__RWLOCK_SLOTS) == 0 && (word & ILK__RWLOCK_READ_SAMPLES) == ILK__RWLOCK_READ_SAMPLES &&
        ilk__mode_wants_slots(lock)) {
        change_mode(lock, word, (word & ~ILK__RWLOCK_READ_SAMPLES) | ILK__RWLOCK_SLOTS);
    }
}

/* A system call where the lock is fence-free, or where a writer or reader already sleeps for it. */
ILK_TRUSTED_NONBLOCKING_BEGIN
static bool try_write(ilk_rwlock *lock) ILK_NONBLOCKING {
    if (!enter_if_admitted(lock, ILK__WRITE, "ilk_rwlock_try_write_lock")) {
        return false;
    }
    uint32_t word = ilk__rwlock_probe(lock);
    if ((word & ILK__RWLOCK_SLOTS) == 0) {
        return true;
    }
    if ((word & ILK__RWLOCK_FENCE_FREE) != 0 && !ilk__fence_everywhere_at_once()) {
        /* Refused after it was granted: only a call that may wait can lead the lock out of this mode. */
        leave_write(lock, 0, "ilk_rwlock_try_write_lock");
        return false;
    }
    /* A reader that notes itself at this moment sees WRITER and leaves again at once: look a few times. */
    for (int probe = 0; probe < PROBES_OF_A_TRY; probe++) {
        if (!ilk__slots_hold(lock)) {
            (void)ilk__mode_count_write(lock, word); /* leaves the thinking to those who may be late */
            return true;
        }
        ilk_cpu_relax();
    }
    leave_write(lock, 0, "ilk_rwlock_try_write_lock");
    return false;
}

ILK_TRUSTED_NONBLOCKING_END

/* ---- The calls ---- */

void ilk_rwlock_init(ilk_rwlock *lock) {
    /* RW7 relaxed: nobody else uses the lock yet. */
    ilk_atomic_store(&lock->word, 0, memory_order_relaxed);
    ilk_atomic_store(&lock->mode_state, 0, memory_order_relaxed); /* RW7 */
    lock->queue = NULL;
    ilk__held_forget(lock);
}

void ilk_rwlock_destroy(ilk_rwlock *lock) {
    const uint32_t harmless =
        ILK__RWLOCK_OBSERVED | ILK__QUEUE_BITS | ILK__RWLOCK_MODE | ILK__RWLOCK_READ_SAMPLES;
    uint32_t word = ilk__rwlock_probe(lock);
    if ((word & ILK__RWLOCK_FENCE_FREE) != 0) {
        ilk__fence_heavy();
    }
    if ((word & ILK__RWLOCK_SLOTS) != 0 && ilk__slots_hold(lock)) {
        ilk__misuse("ilk_rwlock_destroy", lock, "destroyed while in use; the lock is held by a reader");
    }
    if ((word & ~harmless) != 0) {
        misuse("ilk_rwlock_destroy", lock, word, "destroyed while in use");
    }
    ilk__name_forget(lock);
}

/* Off the fast path, which does not come in. */
static ilk_status read_lock_slow(ilk_rwlock *lock, ilk__read_section *section, uint64_t deadline_ns,
                                 const char *call) {
    decide_mode(lock);
    if (ilk__rwlock_try_read_fast(lock, section)) {
        return ILK_OK;
    }
    section->block = NULL;
    section->number = 0;
    section->empty = 0;
    return lock_slow(lock, ILK__READ, deadline_ns, call);
}

void ilk__rwlock_read_lock_slow(ilk_rwlock *lock) {
    ilk__read_section section;
    (void)read_lock_slow(lock, &section, ILK_FOREVER, "ilk_rwlock_read_lock");
}

ilk_status ilk__read_section_begin_slow(ilk_rwlock *lock, ilk__read_section *section, uint64_t deadline_ns) {
    if (read_lock_slow(lock, section, deadline_ns, "ilk_rwlock_read_lock") != ILK_OK) {
        return ILK_TIMEDOUT;
    }
    ilk__held_more(lock);
    return ILK_OK;
}

bool ilk__rwlock_try_read_lock_slow(ilk_rwlock *lock) ILK_NONBLOCKING {
    (void)empty_full_slot(lock);
    return enter_if_admitted(lock, ILK__READ, "ilk_rwlock_try_read_lock");
}

ilk_status ilk_rwlock_read_lock_until(ilk_rwlock *lock, uint64_t deadline_ns) {
    ilk__read_section section;
    if (ilk__rwlock_try_read_fast(lock, &section)) {
        ilk__held_more(lock);
        return ILK_OK;
    }
    return ilk__read_section_begin_slow(lock, &section, deadline_ns);
}

void ilk__rwlock_read_unlock_slow(ilk_rwlock *lock) {
    leave(lock, ILK__RWLOCK_READERS, 0U - ILK__RWLOCK_ONE_READER, "ilk_rwlock_read_unlock",
          "no reader holds the lock");
}

void ilk__rwlock_write_lock_slow(ilk_rwlock *lock) {
    (void)lock_slow(lock, ILK__WRITE, ILK_FOREVER, "ilk_rwlock_write_lock");
    (void)finish_write(lock, 0, ILK_FOREVER, "ilk_rwlock_write_lock");
}

bool ilk__rwlock_try_write_lock_slow(ilk_rwlock *lock) ILK_NONBLOCKING {
    return try_write(lock);
}

ilk_status ilk_rwlock_write_lock_until(ilk_rwlock *lock, uint64_t deadline_ns) {
    if (enter_if_admitted(lock, ILK__WRITE, "ilk_rwlock_write_lock_until") ||
        lock_slow(lock, ILK__WRITE, deadline_ns, "ilk_rwlock_write_lock_until") == ILK_OK) {
        if (finish_write(lock, 0, deadline_ns, "ilk_rwlock_write_lock_until") == ILK_OK) {
            ilk__held_more(lock);
            return ILK_OK;
        }
    }
    return ILK_TIMEDOUT;
}

void ilk__rwlock_write_unlock_slow(ilk_rwlock *lock) {
    leave_write(lock, 0, "ilk_rwlock_write_unlock");
}

void ilk__rwlock_downgrade_slow(ilk_rwlock *lock) {
    leave_write(lock, ILK__RWLOCK_ONE_READER, "ilk_rwlock_downgrade");
}

void ilk__rwlock_upgradable_lock_slow(ilk_rwlock *lock) {
    (void)lock_slow(lock, ILK__UPGRADABLE, ILK_FOREVER, "ilk_rwlock_upgradable_lock");
}

ilk_status ilk_rwlock_upgradable_lock_until(ilk_rwlock *lock, uint64_t deadline_ns) {
    if (enter_if_admitted(lock, ILK__UPGRADABLE, "ilk_rwlock_upgradable_lock_until") ||
        lock_slow(lock, ILK__UPGRADABLE, deadline_ns, "ilk_rwlock_upgradable_lock_until") == ILK_OK) {
        ilk__held_more(lock);
        return ILK_OK;
    }
    return ILK_TIMEDOUT;
}

void ilk__rwlock_upgradable_unlock_slow(ilk_rwlock *lock) {
    leave(lock, ILK__RWLOCK_UPGRADABLE, 0U - ILK__RWLOCK_UPGRADABLE, "ilk_rwlock_upgradable_unlock",
          "nobody holds the lock upgradable");
}

static ilk_status upgrade_until(ilk_rwlock *lock, uint64_t deadline_ns, const char *call) {
    uint32_t word = ilk__rwlock_probe(lock);
    if ((word & ILK__RWLOCK_UPGRADABLE) == 0) {
        misuse(call, lock, word, "nobody holds the lock upgradable");
    }
    return lock_slow(lock, ILK__UPGRADE, deadline_ns, call) == ILK_OK
               ? finish_write(lock, ILK__RWLOCK_UPGRADABLE, deadline_ns, call)
               : ILK_TIMEDOUT;
}

void ilk__rwlock_upgrade_slow(ilk_rwlock *lock) {
    (void)upgrade_until(lock, ILK_FOREVER, "ilk_rwlock_upgrade");
}

ilk_status ilk_rwlock_upgrade_until(ilk_rwlock *lock, uint64_t deadline_ns) {
    return upgrade_until(lock, deadline_ns, "ilk_rwlock_upgrade_until");
}
