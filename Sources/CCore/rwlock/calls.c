/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls of ilk_rwlock that are not on a fast path. Here diagnosis learns of calls of locks that it watches: their
 * word has OBSERVED, so every call comes here.
 *
 * OBSERVED
 *   moved by                                                              to
 *   ILK_RWLOCK_INIT; ilk_rwlock_init while all locks are watched          up
 *   ilk_rwlock_observe                                                    up
 *   a call that finds it, when neither all nor it are watched             down
 *   a call that has noted what it took, and finds it down                 up
 * Must not happen: a lock that is not watched keeps it (every call that finds it asks); one that stays in the table
 * loses it, and what a thread gives up is held on there: so it goes down with the tables locked, as the table forgets
 * the lock.
 *
 * Try calls, and those that give up, allocate nothing and wait for nothing, not for the mutex of the tables either:
 * signal handlers make them. They leave it to the next call while the tables are locked; and a lock whose first call
 * is one of them is met by the next that may wait.
 */
#include "diagnostics/misuse.h"
#include "diagnostics/names.h"
#include "diagnostics/observe.h"
#include "diagnostics/tables.h"
#include "rwlock/further_reads.h"
#include "rwlock/held.h"
#include "rwlock/lock.h"
#include "rwlock/mode.h"
#include "rwlock/reader_slots.h"
#include "rwlock/report.h"
#include "wait/fence.h"
#include "wait/queue_lock.h"
#include <interlock/inline/read_section.h>
#include <interlock/rwlock.h>
#include <stddef.h>

static bool is_fresh(const ilk_rwlock *lock) ILK_NONBLOCKING {
    /* RW20 acquire, pairs with RW21.
     * Carries: the end of the object that was at its address.
     * If weaker: what this thread takes is held of that one. */
    return ilk_atomic_load(&lock->mode_state, memory_order_acquire) >= ILK__MODE_FRESH_PLAIN;
}

static void take_freshness(ilk_rwlock *lock) {
    if (is_fresh(lock)) {
        /* RW21 release, pairs with RW20. With the tables locked, or while there was never an object. */
        ilk_atomic_store(&lock->mode_state, ilk__mode_is_plain(lock) ? ILK__MODE_PLAIN : 0,
                         memory_order_release);
    }
}

/* The table forgets a lock that is not watched, and one that was at the address of a fresh lock. */
static void rwlock_settle(ilk_rwlock *lock, bool may_wait) {
    sigset_t before;
    if (!ilk__diagnoses_all() && ilk__object_unmark_first(lock, &lock->word, ILK__RWLOCK_OBSERVED)) {
        take_freshness(lock);
        return;
    }
    if (!ilk__tables_lock_if(&before, may_wait)) {
        return;
    }
    const bool is_watched = ilk__object_settle(lock, is_fresh(lock)) || ilk__diagnoses_all();
    take_freshness(lock);
    if (!is_watched) {
        /* RW22 relaxed: the mutex of the tables orders it with RW23, which follows a lock of them. */
        ilk_atomic_fetch_and(&lock->word, ~ILK__RWLOCK_OBSERVED, memory_order_relaxed);
    }
    ilk__tables_unlock(&before);
}

/* With OBSERVED. A call that `may_wait` makes the object that is not there yet; others allocate nothing and do not
 * block. While nothing is watched, no call waits for the tables, which a thread has as it forks. */
ILK_TRUSTED_NONBLOCKING_BEGIN
ILK_COLD static bool rwlock_decide_watching(ilk_rwlock *lock, bool may_wait) ILK_NONBLOCKING {
    /* RW29 acquire, pairs with RW23: since OBSERVED went down once, we do not see the object of before. */
    ilk_atomic_fence(memory_order_acquire);
    const bool all = ilk__diagnoses_all();
    if (is_fresh(lock) || (!all && !ilk__object_is_watched_at(lock))) {
        rwlock_settle(lock, may_wait && all);
    }
    struct ilk__object *object = is_fresh(lock) ? NULL : ilk__object_find(lock);
    if (object != NULL && ilk__mode_is_plain(lock)) {
        (void)ilk__object_add_traits(object, ILK__IS_ANYONES);
    }
    /* One that is not watched stays while the tables are locked: what is held of it is noted. */
    return object != NULL || (may_wait && all);
}
ILK_TRUSTED_NONBLOCKING_END

static bool rwlock_is_watched(ilk_rwlock *lock, bool may_wait) ILK_NONBLOCKING {
    return ILK_UNLIKELY((ilk__rwlock_probe(lock) & ILK__RWLOCK_OBSERVED) != 0) &&
           rwlock_decide_watching(lock, may_wait);
}

static void rwlock_watch(ilk_rwlock *lock) ILK_NONBLOCKING {
    /* RW23 release, pairs with OB14, OB15 and RW29: what is watched, or was noted, before OBSERVED says so. */
    ilk_atomic_fetch_or(&lock->word, ILK__RWLOCK_OBSERVED, memory_order_release);
}

ilk_status ilk_rwlock_observe(ilk_rwlock *lock, uint32_t what) {
    if ((what & ILK_DIAGNOSE_ALL) == 0 && !ilk__diagnoses_all()) {
        ilk__object_forget(lock);
        rwlock_settle(lock, true);
        return ILK_OK;
    }
    if (is_fresh(lock)) {
        rwlock_settle(lock, true);
    }
    if (ilk__object_watch(lock, ILK_OBJECT_RWLOCK, what) == NULL) {
        return ILK_NOMEM;
    }
    rwlock_watch(lock);
    return ILK_OK;
}

static enum ilk__share share_for(enum ilk__rwlock_kind kind) {
    switch (kind) {
    case ILK__READ:
    case ILK__READ_FURTHER:
        return ILK__SHARE_READ;
    case ILK__UPGRADABLE:
        return ILK__SHARE_UPGRADABLE;
    case ILK__UPGRADE:
        return ILK__SHARE_UPGRADE;
    case ILK__WRITE:
        break;
    }
    return ILK__SHARE_WRITE;
}

/* ---- Beginning and end ---- */

static void rwlock_init(ilk_rwlock *lock, uint32_t mode_state) {
    /* RW7 relaxed: not shared yet. */
    ilk_atomic_store(&lock->word, 0, memory_order_relaxed);
    ilk_atomic_store(&lock->mode_state, mode_state, memory_order_relaxed); /* RW7 */
    lock->queue = NULL;
    if (ilk__slot_is_mine(lock)) { /* in a child, what its thread read when it forked */
        ilk_atomic_store(&ilk__my_slots()->slots[ilk__rwlock_slot_number(lock)], 0,
                         memory_order_relaxed); /* RW7 */
    }
    ilk__held_forget(lock);
    ilk__object_forget(lock);
    if (ilk__diagnoses_all()) {
        (void)ilk_rwlock_observe(lock, 0);
    }
}

void ilk_rwlock_init(ilk_rwlock *lock) {
    rwlock_init(lock, 0);
}

void ilk_rwlock_init_plain(ilk_rwlock *lock) {
    rwlock_init(lock, ILK__MODE_PLAIN);
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
        ilk__rwlock_misuse("ilk_rwlock_destroy", lock, word, "destroyed while in use");
    }
    ilk__object_forget(lock);
    ilk__name_forget(lock);
}

/* ---- Taking ---- */

/* `section` is for READ alone, and may be NULL. `watch`: NULL, or of the acquisition. */
static ilk_status take_plainly(ilk_rwlock *lock, enum ilk__rwlock_kind kind, ilk__read_section *section,
                               uint64_t deadline_ns, const char *call, struct ilk__watch *watch) {
    return section != NULL ? ilk__rwlock_read_until(lock, section, deadline_ns, call, watch)
                           : ilk__rwlock_take_until(lock, kind, deadline_ns, call, watch);
}

ILK_COLD static ilk_status take_watched(ilk_rwlock *lock, enum ilk__rwlock_kind kind,
                                        ilk__read_section *section, uint64_t deadline_ns, const char *call,
                                        const void *site) {
    struct ilk__watch watch;
    ilk__watch_begin(&watch, lock, ILK_OBJECT_RWLOCK, share_for(kind), ilk__mode_is_plain(lock), deadline_ns,
                     site);
    const ilk_status status = take_plainly(lock, kind, section, deadline_ns, call, &watch);
    ilk__watch_end(&watch, status == ILK_OK);
    if (status == ILK_OK) {
        rwlock_watch(lock); /* it may have been forgotten, and met again, since the call began */
    }
    return status;
}

static ilk_status take_until(ilk_rwlock *lock, enum ilk__rwlock_kind kind, ilk__read_section *section,
                             uint64_t deadline_ns, const char *call, const void *site) {
    return rwlock_is_watched(lock, true) ? take_watched(lock, kind, section, deadline_ns, call, site)
                                         : take_plainly(lock, kind, section, deadline_ns, call, NULL);
}

static ilk_status lock_until(ilk_rwlock *lock, enum ilk__rwlock_kind kind, uint64_t deadline_ns,
                             const char *call, const void *site) {
    if (take_until(lock, kind, NULL, deadline_ns, call, site) != ILK_OK) {
        return ILK_TIMEDOUT;
    }
    ilk__held_more(lock);
    return ILK_OK;
}

void ilk__rwlock_lock_at(ilk_rwlock *lock, enum ilk__rwlock_kind kind, const void *site) {
    static const char *const calls[] = {"ilk_rwlock_read_lock", "ilk_rwlock_write_lock",
                                        "ilk_rwlock_upgradable_lock", "ilk_rwlock_upgrade"};
    (void)take_until(lock, kind, NULL, ILK_FOREVER, calls[kind], site);
}

ilk_status ilk__read_section_begin_at(ilk_rwlock *lock, ilk__read_section *section, uint64_t deadline_ns,
                                      const void *site) {
    if (take_until(lock, ILK__READ, section, deadline_ns, "ilk_rwlock_read_lock", site) != ILK_OK) {
        return ILK_TIMEDOUT;
    }
    ilk__held_more(lock);
    return ILK_OK;
}

ILK_NOINLINE void ilk__rwlock_lock_slow(ilk_rwlock *lock, enum ilk__rwlock_kind kind) {
    ilk__rwlock_lock_at(lock, kind, ILK__CALLER);
}

ILK_NOINLINE ilk_status ilk__read_section_begin_slow(ilk_rwlock *lock, ilk__read_section *section,
                                                     uint64_t deadline_ns) {
    return ilk__read_section_begin_at(lock, section, deadline_ns, ILK__CALLER);
}

ILK_NOINLINE bool ilk__rwlock_try_lock_slow(ilk_rwlock *lock, enum ilk__rwlock_kind kind) ILK_NONBLOCKING {
    const bool watched = rwlock_is_watched(lock, false);
    const bool is_taken = ilk__rwlock_try_take(lock, kind);
    if (is_taken && watched) {
        ilk__watch_taken(lock, share_for(kind), ILK__CALLER);
        rwlock_watch(lock); /* as in take_watched */
    }
    return is_taken;
}

ILK_NOINLINE ilk_status ilk_rwlock_read_lock_until(ilk_rwlock *lock, uint64_t deadline_ns) {
    ilk__read_section section;
    if (ilk__rwlock_try_read_fast(lock, &section)) {
        ilk__held_more(lock);
        return ILK_OK;
    }
    return lock_until(lock, ILK__READ, deadline_ns, "ilk_rwlock_read_lock_until", ILK__CALLER);
}

ILK_NOINLINE ilk_status ilk_rwlock_write_lock_until(ilk_rwlock *lock, uint64_t deadline_ns) {
    return lock_until(lock, ILK__WRITE, deadline_ns, "ilk_rwlock_write_lock_until", ILK__CALLER);
}

ILK_NOINLINE ilk_status ilk_rwlock_upgradable_lock_until(ilk_rwlock *lock, uint64_t deadline_ns) {
    return lock_until(lock, ILK__UPGRADABLE, deadline_ns, "ilk_rwlock_upgradable_lock_until", ILK__CALLER);
}

ILK_NOINLINE ilk_status ilk_rwlock_upgrade_until(ilk_rwlock *lock, uint64_t deadline_ns) {
    return take_until(lock, ILK__UPGRADE, NULL, deadline_ns, "ilk_rwlock_upgrade_until", ILK__CALLER);
}

/* ---- Leaving ---- */

ILK_NOINLINE void ilk__rwlock_unlock_slow(ilk_rwlock *lock, enum ilk__rwlock_kind kind) {
    if (rwlock_is_watched(lock, false)) {
        ilk__watch_release(lock, share_for(kind), ILK__CALLER);
    }
    ilk__rwlock_leave_as(lock, kind);
}

void ilk__rwlock_downgrade_slow(ilk_rwlock *lock) {
    if (rwlock_is_watched(lock, false)) {
        ilk__watch_downgrade(lock);
    }
    ilk__rwlock_leave_write_for_read(lock);
}
