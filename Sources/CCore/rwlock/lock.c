/* SPDX-License-Identifier: Apache-2.0
 *
 * Taking an ilk_rwlock where the fast paths do not: entering, waiting, timing out, taking the write side from readers
 * in slots. <interlock/inline/rwlock.h> draws the word; hand_over.c hands over; calls.c has the calls.
 */
#include "rwlock/lock.h"
#include "diagnostics/misuse.h"
#include "diagnostics/observe.h"
#include "platform/clock.h"
#include "platform/reaches.h"
#include "rwlock/awaited.h"
#include "rwlock/further_reads.h"
#include "rwlock/hand_over.h"
#include "rwlock/held.h"
#include "rwlock/mode.h"
#include "rwlock/queue.h"
#include "rwlock/reader_slots.h"
#include "rwlock/report.h"
#include "rwlock/slot_table_walk.h"
#include "wait/fence.h"
#include "wait/queue_lock.h"
#include "wait/spin.h"
#include <interlock/inline/read_section.h>
#include <interlock/rwlock.h>
#include <stddef.h>

_Static_assert(ILK__RWLOCK_QUEUE_LOCKED == ILK__QUEUE_LOCKED, "the queue lock's bits are fixed");
_Static_assert(ILK__RWLOCK_QUEUE_CONTENDED == ILK__QUEUE_CONTENDED, "the queue lock's bits are fixed");

/* Probes for readers about to leave again. */
enum { PROBES_OF_A_TRY = 8 };
/* Probes that find the other kind inside, before a thread queues. Each more doubles the median wait of a reader beside
 * a saturating writer, 1.5 us. Bench rwlock, waits. */
enum { PROBES_BEHIND_OTHERS = 2 };

static void leave_write(ilk_rwlock *lock, uint32_t change, const char *call) {
    ilk__rwlock_give_up(lock, ILK__RWLOCK_WRITER, change - ILK__RWLOCK_WRITER, call);
}

/* What a holder adds to the word. */
static uint32_t share_of(enum ilk__rwlock_kind kind) {
    switch (kind) {
    case ILK__READ:
    case ILK__READ_FURTHER:
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

/* The word with `kind` inside. A read that found the read samples full, and may not decide about the mode,
 * starts them anew. */
static uint32_t with(uint32_t word, enum ilk__rwlock_kind kind) {
    bool is_full = (word & (ILK__RWLOCK_READ_SAMPLES | ILK__RWLOCK_SLOTS)) == ILK__RWLOCK_READ_SAMPLES;
    return (kind == ILK__READ && is_full ? word & ~ILK__RWLOCK_READ_SAMPLES : word) + share_of(kind);
}

/* May `kind` come in without overtaking a waiter? */
static bool admits(uint32_t word, enum ilk__rwlock_kind kind) {
    const uint32_t holders = ILK__RWLOCK_WRITER | ILK__RWLOCK_UPGRADABLE | ILK__RWLOCK_READERS;
    switch (kind) {
    case ILK__READ:
    case ILK__READ_FURTHER:
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

/* Without waiting. Retries only when the word has changed. */
static bool enter_if_admitted(ilk_rwlock *lock, enum ilk__rwlock_kind kind, const char *call) {
    uint32_t word = ilk__rwlock_probe(lock);
    while (admits(word, kind)) {
        if (kind == ILK__READ && (word & ILK__RWLOCK_READERS) == ILK__RWLOCK_READERS) {
            ilk__rwlock_misuse(call, lock, word, "one reader more than the lock can count");
        }
        /* RW5 seq_cst, pairs with RW2, RW4 and RW8, and with RW10 and RW19. It carries what RW1 does, from a state
         * with waiters or observed. */
        if (ilk_atomic_compare_exchange_weak(&lock->word, &word, with(word, kind), memory_order_seq_cst,
                                             memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

/* A wait without limit for the calling thread itself. A held read lock may be taken again while no thread
 * waits, so a checked build reports that here, not where it is taken. An upgrade holds the lock once by
 * rights; an upgradable lock under one's own read lock waits for oneself where a writer waits in between. */
static void report_wait_for_self(const ilk_rwlock *lock, enum ilk__rwlock_kind kind, uint64_t deadline_ns,
                                 const char *call) {
    if (deadline_ns == ILK_FOREVER) {
        ilk__conditions_report_wait(lock, call);
    }
    const bool waits_for_readers =
        kind == ILK__WRITE || kind == ILK__UPGRADE ||
        (kind == ILK__UPGRADABLE &&
         (ilk__rwlock_probe(lock) & (ILK__RWLOCK_WRITER | ILK__RWLOCK_READERS_HELD)) != 0);
    bool reads = waits_for_readers && ilk__slot_is_mine(lock);
    if (deadline_ns == ILK_FOREVER && (reads || (kind != ILK__UPGRADE && ilk__held_by_me(lock)))) {
        ilk__misuse(call, lock, "the calling thread would wait for itself: it %s the lock already",
                    reads ? "reads under" : "holds");
    }
}

/* The thread will wait. A reader is held back by a writer alone. */
ILK_COLD static void tell_watch(struct ilk__watch *watch, const ilk_rwlock *lock,
                                enum ilk__rwlock_kind kind) {
    const bool reads = kind == ILK__READ || kind == ILK__READ_FURTHER || kind == ILK__UPGRADABLE;
    ilk__watch_contends(watch, reads && !admits(ilk__rwlock_probe(lock), ILK__READ));
}

static bool is_behind_the_other_kind(uint32_t word, enum ilk__rwlock_kind kind) {
    return (kind == ILK__READ && (word & ILK__RWLOCK_WRITER) != 0) ||
           (kind == ILK__WRITE && (word & ILK__RWLOCK_READERS) != 0);
}

static ilk_status wait_until(ilk_rwlock *lock, enum ilk__rwlock_kind kind, uint64_t deadline_ns,
                             const char *call, struct ilk__watch *watch) {
    if (watch != NULL) {
        if (enter_if_admitted(lock, kind, call)) {
            return ILK_OK;
        }
        tell_watch(watch, lock, kind);
    }
    /* A side that comes and goes leaves gaps too short for a spin: queued, a thread holds it back. */
    int behind = 0;
    for (int probe = 0; probe < ILK__SPIN_RWLOCK.probes && behind < PROBES_BEHIND_OTHERS; probe++) {
        if (enter_if_admitted(lock, kind, call)) {
            return ILK_OK;
        }
        behind += is_behind_the_other_kind(ilk__rwlock_probe(lock), kind);
        ilk__spin_pause(ILK__SPIN_RWLOCK, probe);
    }
    report_wait_for_self(lock, kind, deadline_ns, call);
    struct ilk__rwlock_waiter self = {.waiter = {.kind = (uint8_t)kind}};
    uint32_t seen;
    if (ilk__queue_lock_until(&lock->word, deadline_ns, &seen) != ILK_OK) {
        return ILK_TIMEDOUT;
    }
    ilk__rwlock_enqueue(lock, &self);
    ilk__rwlock_settle(lock, seen, 0, &self.waiter);
    if (ilk__waiter_await(&self.waiter, ILK__SPIN_QUEUED, deadline_ns) == ILK_OK) {
        return ILK_OK;
    }
    ilk__queue_lock(&lock->word, &seen);
    if (!self.waiter.queued) {
        ILK__REACHES(LOCK_LATE_AND_LET_IN, true);
        /* Late, but let in: the grant is on its way. */
        ilk__rwlock_settle(lock, seen, 0, NULL);
        return ilk__waiter_sleep(&self.waiter, ILK_FOREVER);
    }
    ILK__REACHES(LOCK_LATE_IN_QUEUE, true);
    ilk__rwlock_dequeue(lock, &self.waiter);
    ilk__rwlock_settle(lock, seen, 0, NULL); /* the waiters that this one held back */
    return ILK_TIMEDOUT;
}

/* ---- Slots and modes ---- */

/* With WRITER up: waits for the readers in slots and decides the mode. ILK_TIMEDOUT: WRITER is given up
 * again, for `instead`. */
static ilk_status drain_until(ilk_rwlock *lock, uint32_t word, bool probes, uint32_t instead,
                              uint64_t deadline_ns, const char *call, struct ilk__watch *watch) {
    report_wait_for_self(lock, ILK__UPGRADE, deadline_ns, call);
    uint32_t paid = 0;
    if ((word & ILK__RWLOCK_FENCE_FREE) != 0) {
        uint64_t start = ilk__clock_ticks();
        ilk__fence_heavy();
        paid = (uint32_t)(ilk__clock_ticks() - start) | 1;
    }
    if (watch != NULL && ilk__slots_hold(lock)) {
        tell_watch(watch, lock, ILK__WRITE);
    }
    uint64_t start = probes ? ilk__clock_ticks() : 0;
    if (ilk__slots_wait_empty(lock, deadline_ns) != ILK_OK) {
        leave_write(lock, instead, call);
        return ILK_TIMEDOUT;
    }
    if (probes) {
        uint32_t leave = ilk__mode_to_leave(lock, word, paid, (uint32_t)(ilk__clock_ticks() - start));
        /* RW16 relaxed: only bits that no other thread changes while WRITER is up; RW2 publishes them. */
        ilk_atomic_fetch_and(&lock->word, ~leave, memory_order_relaxed);
    }
    return ILK_OK;
}

ILK_NOINLINE static void drain(ilk_rwlock *lock, uint32_t word, bool probes) {
    (void)drain_until(lock, word, probes, 0, ILK_FOREVER, "ilk_rwlock_write_lock", NULL);
}

void ilk__rwlock_drain(ilk_rwlock *lock, uint32_t word) {
    bool probes = ilk__mode_count_write(lock, word);
    if (ILK_UNLIKELY(probes) || (word & ILK__RWLOCK_FENCE_FREE) != 0 ||
        ILK_UNLIKELY(ilk__slots_may_hold(lock))) {
        drain(lock, word, probes);
    }
}

/* The second half of taking the write side; as drain_until. */
static ilk_status finish_write(ilk_rwlock *lock, uint32_t instead, uint64_t deadline_ns, const char *call,
                               struct ilk__watch *watch) {
    uint32_t word = ilk__rwlock_probe(lock);
    return (word & ILK__RWLOCK_SLOTS) != 0
               ? drain_until(lock, word, ilk__mode_count_write(lock, word), instead, deadline_ns, call, watch)
               : ILK_OK;
}

/* A system call if the lock is fence-free, or a waiter already sleeps for it. */
ILK_TRUSTED_NONBLOCKING_BEGIN
static bool try_write(ilk_rwlock *lock) ILK_NONBLOCKING {
    if (!enter_if_admitted(lock, ILK__WRITE, "ilk_rwlock_try_write_lock")) {
        return false;
    }
    uint32_t word = ilk__rwlock_probe(lock);
    if ((word & ILK__RWLOCK_SLOTS) == 0) {
        return true;
    }
    if ((word & ILK__RWLOCK_FENCE_FREE) != 0 && !ilk__fence_heavy_try()) {
        /* Refused after it was granted: only a call that waits can leave this mode. */
        leave_write(lock, 0, "ilk_rwlock_try_write_lock");
        return false;
    }
    /* A reader that announces the lock now sees WRITER and leaves again at once. */
    for (int probe = 0; probe < PROBES_OF_A_TRY; probe++) {
        if (!ilk__slots_hold(lock)) {
            (void)ilk__mode_count_write(lock, word); /* calls that may be late decide the mode */
            return true;
        }
        ilk_cpu_relax();
    }
    leave_write(lock, 0, "ilk_rwlock_try_write_lock");
    return false;
}

ILK_TRUSTED_NONBLOCKING_END

/* ---- For calls.c ---- */

static void require_share(const ilk_rwlock *lock, uint32_t held, const char *call) {
    uint32_t word = ilk__rwlock_probe(lock);
    if ((word & held) == 0) {
        ilk__rwlock_no_holder(call, lock, word, held);
    }
}

void ilk__rwlock_require_writer(const ilk_rwlock *lock, const char *call) {
    require_share(lock, ILK__RWLOCK_WRITER, call);
}

ilk_status ilk__rwlock_read_until(ilk_rwlock *lock, ilk__read_section *section, uint64_t deadline_ns,
                                  const char *call, struct ilk__watch *watch) {
    ilk__mode_decide(lock);
    /* One that is watched is counted: the unlock that counts it off sees OBSERVED, which may be down just now. */
    if (watch == NULL && ilk__rwlock_try_read_fast(lock, section)) {
        return ILK_OK;
    }
    const ilk__read_section counted = {NULL, 0};
    *section = counted;
    return wait_until(lock, ILK__READ, deadline_ns, call, watch);
}

ilk_status ilk__rwlock_take_until(ilk_rwlock *lock, enum ilk__rwlock_kind kind, uint64_t deadline_ns,
                                  const char *call, struct ilk__watch *watch) {
    ilk__read_section section;
    switch (kind) {
    case ILK__READ:
    case ILK__READ_FURTHER:
        return ilk__rwlock_read_until(lock, &section, deadline_ns, call, watch);
    case ILK__UPGRADABLE:
        return wait_until(lock, kind, deadline_ns, call, watch);
    case ILK__UPGRADE:
        require_share(lock, ILK__RWLOCK_UPGRADABLE, call);
        break;
    case ILK__WRITE:
        break;
    }
    if (wait_until(lock, kind, deadline_ns, call, watch) != ILK_OK) {
        return ILK_TIMEDOUT;
    }
    return finish_write(lock, kind == ILK__UPGRADE ? ILK__RWLOCK_UPGRADABLE : 0, deadline_ns, call, watch);
}

bool ilk__rwlock_try_take(ilk_rwlock *lock, enum ilk__rwlock_kind kind) ILK_NONBLOCKING {
    if (kind == ILK__WRITE) {
        return try_write(lock);
    }
    if (kind == ILK__READ_FURTHER && ilk__slot_is_mine(lock)) {
        return ilk__slot_try_further(lock);
    }
    (void)ilk__slots_visit(lock);
    return enter_if_admitted(lock, ILK__READ, "ilk_rwlock_try_read_lock");
}

/* What the lock guards may have changed: wakes those whose condition holds now. */
static void leave_written(ilk_rwlock *lock, uint32_t change, const char *call) {
    const uint32_t judged = ILK__RWLOCK_AWAITED | ILK__RWLOCK_WRITER;
    struct ilk__condition_waiter *chosen = (ilk__rwlock_probe(lock) & judged) == judged
                                               ? ilk__conditions_choose(ilk__rwlock_conditions(lock), call)
                                               : NULL;
    leave_write(lock, change, call);
    ilk__conditions_wake(chosen);
}

void ilk__rwlock_leave_as(ilk_rwlock *lock, enum ilk__rwlock_kind kind) {
    switch (kind) {
    case ILK__READ:
        ilk__rwlock_give_up(lock, ILK__RWLOCK_READERS, 0U - ILK__RWLOCK_ONE_READER, "ilk_rwlock_read_unlock");
        return;
    case ILK__READ_FURTHER:
        ilk__slot_leave_further(lock);
        return;
    case ILK__UPGRADABLE:
        ilk__rwlock_give_up(lock, ILK__RWLOCK_UPGRADABLE, 0U - ILK__RWLOCK_UPGRADABLE,
                            "ilk_rwlock_upgradable_unlock");
        return;
    case ILK__WRITE:
    case ILK__UPGRADE:
        leave_written(lock, 0, "ilk_rwlock_write_unlock");
    }
}

void ilk__rwlock_leave_write_for_read(ilk_rwlock *lock) {
    leave_written(lock, ILK__RWLOCK_ONE_READER, "ilk_rwlock_downgrade");
}
