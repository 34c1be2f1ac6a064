/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls of ilk_rwlock that are not on a fast path. Here diagnosis learns of calls of locks that it watches: their
 * word has OBSERVED, so every call comes here.
 *
 * OBSERVED
 *   moved by                                                              to
 *   ILK_RWLOCK_INIT; ilk_rwlock_init while all locks are watched          up
 *   ilk_rwlock_observe                                                    up
 *   a call that may wait, when neither all nor it are watched             down
 *   any other call, when also the table does not know it                  down
 * Must not happen: a lock that is not watched keeps it. Every call that finds it asks.
 *
 * Try calls, and those that give up, allocate nothing and wait for nothing, not for the mutex of the tables either:
 * signal handlers make them. A lock whose first call one is is met by the next that may wait.
 */
#include "diagnostics/misuse.h"
#include "diagnostics/names.h"
#include "diagnostics/observe.h"
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

static bool is_fresh(const ilk_rwlock *lock, uint32_t *state) ILK_NONBLOCKING {
    *state = ilk_atomic_load(&lock->mode_state, memory_order_relaxed); /* RW20 */
    return *state >= ILK__MODE_FRESH_PLAIN;
}

static bool take_freshness(ilk_rwlock *lock) ILK_NONBLOCKING {
    uint32_t state;
    /* RW20 relaxed: decides which thread is the first; the count that follows is a hint. */
    return is_fresh(lock, &state) &&
           ilk_atomic_compare_exchange(&lock->mode_state, &state,
                                       state == ILK__MODE_FRESH ? 0 : ILK__MODE_PLAIN, memory_order_relaxed,
                                       memory_order_relaxed);
}

static void rwlock_stop_watching(ilk_rwlock *lock, bool may_wait) {
    /* RW21 acquire, pairs with RW22.
     * Carries: that the lock is watched alone.
     * If weaker: a call of ilk_rwlock_observe beside this one is lost. */
    ilk_atomic_fetch_and(&lock->word, ~ILK__RWLOCK_OBSERVED, memory_order_acquire);
    if (!ilk__object_forget_unwatched(lock, may_wait)) {
        /* RW23 relaxed: once more what RW22 has published. */
        ilk_atomic_fetch_or(&lock->word, ILK__RWLOCK_OBSERVED, memory_order_relaxed);
    }
}

/* With OBSERVED. */
ILK_COLD static bool rwlock_decide_watching(ilk_rwlock *lock) {
    const bool was_fresh = take_freshness(lock);
    const bool is_wanted = ilk__diagnoses_all() || ilk__object_is_watched_at(lock);
    if (!is_wanted ||
        (was_fresh && ilk__object_begin(lock, ILK_OBJECT_RWLOCK, ILK__WATCHES_KEPT, 0) == NULL)) {
        rwlock_stop_watching(lock, true);
        return false;
    }
    return true;
}

static bool rwlock_is_watched(ilk_rwlock *lock) {
    return ILK_UNLIKELY((ilk__rwlock_probe(lock) & ILK__RWLOCK_OBSERVED) != 0) &&
           rwlock_decide_watching(lock);
}

/* Likewise, but allocates nothing and does not block. */
ILK_TRUSTED_NONBLOCKING_BEGIN
ILK_COLD static bool rwlock_is_known(ilk_rwlock *lock) ILK_NONBLOCKING {
    uint32_t state;
    const struct ilk__object *object = is_fresh(lock, &state) ? NULL : ilk__object_find(lock);
    const bool is_watched = object != NULL && ilk__object_watches(object) != 0;
    if (!is_watched && !ilk__diagnoses_all()) {
        (void)take_freshness(lock);
        rwlock_stop_watching(lock, false);
    }
    return is_watched;
}
ILK_TRUSTED_NONBLOCKING_END

static bool rwlock_is_watched_already(ilk_rwlock *lock) ILK_NONBLOCKING {
    return ILK_UNLIKELY((ilk__rwlock_probe(lock) & ILK__RWLOCK_OBSERVED) != 0) && rwlock_is_known(lock);
}

ilk_status ilk_rwlock_observe(ilk_rwlock *lock, uint32_t what) {
    (void)take_freshness(lock);
    if ((what & ILK_DIAGNOSE_ALL) == 0 && !ilk__diagnoses_all()) {
        ilk__object_forget(lock);
        rwlock_stop_watching(lock, true);
        return ILK_OK;
    }
    if (ilk__object_watch(lock, ILK_OBJECT_RWLOCK, what, 0) == NULL) {
        return ILK_NOMEM;
    }
    /* RW22 release, pairs with RW21: the lock is watched alone before OBSERVED says so. */
    ilk_atomic_fetch_or(&lock->word, ILK__RWLOCK_OBSERVED, memory_order_release);
    return ILK_OK;
}

static enum ilk__share share_for(enum ilk__rwlock_kind kind) {
    return kind == ILK__READ || kind == ILK__READ_FURTHER ? ILK__SHARE_READ
           : kind == ILK__UPGRADABLE                      ? ILK__SHARE_UPGRADABLE
                                                          : ILK__SHARE_WRITE;
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

/* `section` is for READ alone, and may be NULL. */
static ilk_status take_plainly(ilk_rwlock *lock, enum ilk__rwlock_kind kind, ilk__read_section *section,
                               uint64_t deadline_ns, const char *call) {
    return section != NULL ? ilk__rwlock_read_until(lock, section, deadline_ns, call)
                           : ilk__rwlock_take_until(lock, kind, deadline_ns, call);
}

ILK_COLD static ilk_status take_watched(ilk_rwlock *lock, enum ilk__rwlock_kind kind,
                                        ilk__read_section *section, uint64_t deadline_ns, const char *call,
                                        const void *site) {
    const bool upgrades = kind == ILK__UPGRADE;
    struct ilk__watch watch;
    ilk__watch_begin(&watch, lock, ILK_OBJECT_RWLOCK, share_for(kind), upgrades, deadline_ns, site);
    if (!ilk__rwlock_admits_now(lock, kind)) {
        ilk__watch_contends(&watch);
    }
    const ilk_status status = take_plainly(lock, kind, section, deadline_ns, call);
    ilk__watch_end(&watch, status == ILK_OK, upgrades);
    return status;
}

static ilk_status take_until(ilk_rwlock *lock, enum ilk__rwlock_kind kind, ilk__read_section *section,
                             uint64_t deadline_ns, const char *call, const void *site) {
    return rwlock_is_watched(lock) ? take_watched(lock, kind, section, deadline_ns, call, site)
                                   : take_plainly(lock, kind, section, deadline_ns, call);
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
    const bool watched = rwlock_is_watched_already(lock);
    const bool is_taken = ilk__rwlock_try_take(lock, kind);
    if (is_taken && watched) {
        ilk__watch_taken(lock, share_for(kind), ILK__CALLER);
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
    if (rwlock_is_watched_already(lock)) {
        ilk__watch_release(lock, share_for(kind), ilk__mode_is_plain(lock), ILK__CALLER);
    }
    ilk__rwlock_leave_as(lock, kind);
}

void ilk__rwlock_downgrade_slow(ilk_rwlock *lock) {
    if (rwlock_is_watched_already(lock)) {
        ilk__watch_downgrade(lock);
    }
    ilk__rwlock_leave_write_for_read(lock);
}
