/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_mutex (docs/rings.md). The word is the owner's thread id; bit 31 (the kernel's FUTEX_WAITERS): a waiter
 * sleeps; bit 30, SLOW: no fast path fits, for diagnosis watches, or threads wait under the mutex for a condition.
 *
 *   state                  moved by                     to
 *   0                      a locker                     its id; with bit 31 if it has slept
 *   id                     a locker about to sleep      id | MUTEX_SLEEPERS
 *   id                     the owner                    0
 *   id | MUTEX_SLEEPERS    the owner                    0, then wakes one
 * Bit 30 stays through all of these. The settings say why it is up: WATCHED, AWAITED. Set by ILK_MUTEX_INIT, by
 * ilk_mutex_init while all mutexes are watched, by ilk_mutex_observe, by an owner about to wait for a condition; taken
 * away by an owner that finds it without need as it unlocks. So it stays up for those that wait: AWAITED, too, is
 * changed by owners alone.
 *
 * With inheritance the kernel moves a word with bit 31 up. Bit 30 is its FUTEX_OWNER_DIED, for robust lists, which are
 * not used here: the kernel keeps the bit where a free mutex is taken, and drops it where it hands over; the next owner
 * sets it again. A wait that has timed out leaves bit 31, and the next unlock a word of 0: such a mutex is watched
 * again from its next contended call. Where threads wait for a condition that is too late: unlock_inherited.
 *
 * Fork. In the child the forking thread has another id, and owns the mutexes that name the old one (earlier_ids.c);
 * their bit may stand for sleepers that do not exist: a wake-up for none. For inheritance see mutex_inherit_linux.c.
 */
#include "diagnostics/misuse.h"
#include "diagnostics/observe.h"
#include "diagnostics/tables.h"
#include "platform/identity.h"
#include "platform/reaches.h"
#include "sync/mutex_awaited.h"
#include "sync/mutex_inherit.h"
#include "wait/spin.h"
#include <interlock/mutex.h>
#include <interlock/park.h>

static const uint32_t MUTEX_SLEEPERS = UINT32_C(0x80000000);
static const uint32_t MUTEX_SLOW = UINT32_C(0x40000000);
static const uint32_t MUTEX_OWNER = UINT32_C(0x3FFFFFFF);

/* Settings. */
static const uint32_t MUTEX_INHERITS = 1;
static const uint32_t MUTEX_WATCHED = 2; /* SLOW is to be up: diagnosis watches */
static const uint32_t MUTEX_AWAITED = 4; /* likewise: threads or tasks wait for a condition */
static const uint32_t MUTEX_FRESH = UINT32_C(0x80000000); /* made by ILK_MUTEX_INIT, and not used yet */

_Static_assert(ILK_MUTEX_FORKS == ILK__EARLIER_IDS, "what the header says is what is remembered");

static bool is_set(const ilk_mutex *mutex, uint32_t settings) ILK_NONBLOCKING {
    /* MX10 relaxed: each bit is a setting by itself. */
    return (ilk_atomic_load(&mutex->settings, memory_order_relaxed) & settings) != 0;
}

static bool inherits(const ilk_mutex *mutex) ILK_NONBLOCKING {
    return is_set(mutex, MUTEX_INHERITS);
}

/* ---- Diagnosis ---- */

/* The settings first: a call that sees SLOW asks them. */
static void mutex_watch(ilk_mutex *mutex) ILK_NONBLOCKING {
    ilk_atomic_fetch_or(&mutex->settings, MUTEX_WATCHED, memory_order_relaxed); /* MX10 */
    /* MX12 release, pairs with MX11: WATCHED is there before SLOW says so. */
    ilk_atomic_fetch_or(&mutex->word, MUTEX_SLOW, memory_order_release);
}

static bool mutex_is_fresh(const ilk_mutex *mutex) ILK_NONBLOCKING {
    /* MX14 acquire, pairs with MX15.
     * Carries: the end of the object that was at its address.
     * If weaker: what this thread has taken, or takes now, is held of that one. */
    return (ilk_atomic_load(&mutex->settings, memory_order_acquire) & MUTEX_FRESH) != 0;
}

/* The table forgets a mutex that is not watched, and one that was at the address of a fresh mutex. */
static void mutex_settle(ilk_mutex *mutex, bool may_wait) {
    sigset_t before;
    if (!ilk__objects_were_there() && !ilk__diagnoses_all()) {
        ilk_atomic_fetch_and(&mutex->settings, ~MUTEX_FRESH, memory_order_relaxed); /* MX10 */
        return; /* WATCHED was never up, or is on its way */
    }
    if (!ilk__tables_lock_if(&before, may_wait)) {
        return;
    }
    const bool is_watched = ilk__object_settle(mutex, mutex_is_fresh(mutex)) || ilk__diagnoses_all();
    if (is_watched) {
        mutex_watch(mutex); /* first: a thread sees one of the marks */
    }
    /* MX15 release, pairs with MX14. Only with the tables locked: one that stays there would lose calls. */
    ilk_atomic_fetch_and(&mutex->settings, is_watched ? ~MUTEX_FRESH : ~(MUTEX_FRESH | MUTEX_WATCHED),
                         memory_order_release);
    ilk__tables_unlock(&before);
}

/* Marked. Without `may_wait` it allocates nothing and does not block. While nothing is watched, no call waits for the
 * tables, which a thread has as it forks. */
ILK_TRUSTED_NONBLOCKING_BEGIN
ILK_COLD static bool mutex_decide_watching(ilk_mutex *mutex, bool may_wait) ILK_NONBLOCKING {
    const bool all = ilk__diagnoses_all();
    if (mutex_is_fresh(mutex) || (!all && !ilk__object_is_watched_at(mutex))) {
        mutex_settle(mutex, may_wait && all);
    }
    /* One that is not watched stays while the tables are locked: what is held of it is noted. */
    return !mutex_is_fresh(mutex) && ((may_wait && all) || ilk__object_find(mutex) != NULL);
}
ILK_TRUSTED_NONBLOCKING_END

static bool mutex_is_watched(ilk_mutex *mutex, bool may_wait) ILK_NONBLOCKING {
    /* SLOW alone may be up for threads that wait for a condition. */
    return ILK_UNLIKELY(is_set(mutex, MUTEX_FRESH | MUTEX_WATCHED)) && mutex_decide_watching(mutex, may_wait);
}

static void take_needless_slow_down(ilk_mutex *mutex) {
    if (is_set(mutex, MUTEX_AWAITED | MUTEX_FRESH | MUTEX_WATCHED)) {
        return;
    }
    /* MX11 acquire, pairs with MX12.
     * Carries: that the mutex is watched.
     * If weaker: a call of ilk_mutex_observe beside this one is lost. */
    ilk_atomic_fetch_and(&mutex->word, ~MUTEX_SLOW, memory_order_acquire);
    if (is_set(mutex, MUTEX_WATCHED)) {
        /* MX13 relaxed: the mark is looked for in the settings. */
        ilk_atomic_fetch_or(&mutex->word, MUTEX_SLOW, memory_order_relaxed);
    }
}

ilk_status ilk_mutex_observe(ilk_mutex *mutex, uint32_t what) {
    if ((what & ILK_DIAGNOSE_ALL) == 0 && !ilk__diagnoses_all()) {
        ilk__object_forget(mutex);
        mutex_settle(mutex, true);
        return ILK_OK;
    }
    if (mutex_is_fresh(mutex)) {
        mutex_settle(mutex, true);
    }
    if (ilk__object_watch(mutex, ILK_OBJECT_MUTEX, what) == NULL) {
        return ILK_NOMEM;
    }
    mutex_watch(mutex);
    return ILK_OK;
}

void ilk_mutex_init(ilk_mutex *mutex, bool priority_inheritance) {
    /* MX1 relaxed: not shared yet. */
    ilk_atomic_store(&mutex->word, 0, memory_order_relaxed);
    const bool can = priority_inheritance && ilk__mutex_can_inherit();
    ilk_atomic_store(&mutex->settings, can ? MUTEX_INHERITS : 0, memory_order_relaxed); /* MX1 */
    ilk__object_forget(mutex);
    if (ilk__diagnoses_all()) {
        (void)ilk_mutex_observe(mutex, 0);
    }
}

/* ---- Locking ---- */

/* Whether the word names the calling thread, of id `self`. */
static bool names_me(uint32_t word, uint32_t self) ILK_NONBLOCKING {
    return (word & MUTEX_OWNER) == self || ilk__thread_was(word & MUTEX_OWNER);
}

/* Takes a free mutex: 0, or what the word held. */
static uint32_t take_free(ilk_mutex *mutex, uint32_t word) ILK_NONBLOCKING {
    uint32_t seen = 0;
    /* MX2 acquire, pairs with MX3 (unlocking).
     * Carries: what the last owner wrote.
     * If weaker: we read guarded data as it was before. */
    (void)ilk_atomic_compare_exchange(&mutex->word, &seen, word, memory_order_acquire, memory_order_relaxed);
    return seen;
}

/* Takes a free mutex that held `*seen` and may be observed: true, or `*seen` is what it holds. */
static bool take_if_free(ilk_mutex *mutex, uint32_t *seen, uint32_t word) ILK_NONBLOCKING {
    const uint32_t kept = *seen & MUTEX_SLOW;
    *seen = kept;
    return ilk_atomic_compare_exchange(&mutex->word, seen, word | kept, memory_order_acquire,
                                       memory_order_relaxed); /* MX2 */
}

static ilk_status wait_in_kernel(ilk_mutex *mutex, uint64_t deadline_ns, const char *call) {
    const ilk_status status = ilk__mutex_inherit_lock(&mutex->word, deadline_ns, call);
    if (status == ILK_OK && is_set(mutex, MUTEX_AWAITED)) {
        ilk_atomic_fetch_or(&mutex->word, MUTEX_SLOW, memory_order_relaxed); /* MX13 */
    }
    return status;
}

static ilk_status wait_for_free(ilk_mutex *mutex, uint32_t self, uint32_t seen, uint64_t deadline_ns) {
    uint32_t take_with = self;
    for (;;) {
        if (take_if_free(mutex, &seen, take_with)) {
            return ILK_OK;
        }
        if ((seen & MUTEX_OWNER) == 0) {
            continue; /* free, and observed since, or no longer */
        }
        ILK__REACHES(MUTEX_SLEEPS, true);
        /* MX4 relaxed: publishes only the wake request; MX3 reads it, both being read-modify-writes. */
        if ((seen & MUTEX_SLEEPERS) == 0 &&
            !ilk_atomic_compare_exchange(&mutex->word, &seen, seen | MUTEX_SLEEPERS, memory_order_relaxed,
                                         memory_order_relaxed)) {
            continue;
        }
        ilk_status status = ilk_park_wait(&mutex->word, seen | MUTEX_SLEEPERS, deadline_ns);
        take_with = self | MUTEX_SLEEPERS;
        ILK__REACHES(MUTEX_LATE, status == ILK_TIMEDOUT);
        if (status == ILK_TIMEDOUT) {
            return take_if_free(mutex, &seen, take_with) ? ILK_OK : ILK_TIMEDOUT;
        }
    }
}

/* `seen`: what it held when it was not free. */
static ilk_status wait_for_owner(ilk_mutex *mutex, uint32_t self, uint32_t seen, uint64_t deadline_ns,
                                 const char *call) {
    for (int probe = 0;; probe++) {
        if (take_if_free(mutex, &seen, self)) {
            return ILK_OK;
        }
        if (names_me(seen, self)) {
            ilk__misuse(call, mutex, "locked again by its owner, thread %u", (unsigned)self);
        }
        if (probe == ILK__SPIN_MUTEX.probes || (seen & MUTEX_SLEEPERS) != 0) {
            return inherits(mutex) ? wait_in_kernel(mutex, deadline_ns, call)
                                   : wait_for_free(mutex, self, seen, deadline_ns);
        }
        ilk__spin_pause(ILK__SPIN_MUTEX, probe);
    }
}

ILK_COLD static ilk_status lock_watched(ilk_mutex *mutex, uint32_t self, uint32_t seen, uint64_t deadline_ns,
                                        const char *call, const void *site) {
    struct ilk__watch watch;
    ilk__watch_begin(&watch, mutex, ILK_OBJECT_MUTEX, ILK__SHARE_WRITE, false, deadline_ns, site);
    bool is_taken = take_if_free(mutex, &seen, self);
    if (!is_taken) {
        ilk__watch_contends(&watch, false);
        is_taken = wait_for_owner(mutex, self, seen, deadline_ns, call) == ILK_OK;
    }
    ilk__watch_end(&watch, is_taken);
    if (is_taken) {
        mutex_watch(mutex); /* it may have been forgotten, and met again; or the kernel has dropped SLOW */
    }
    return is_taken ? ILK_OK : ILK_TIMEDOUT;
}

/* A free mutex under which threads wait for a condition, and which diagnosis does not watch. */
static bool take_if_awaited(ilk_mutex *mutex, uint32_t self, uint32_t seen) ILK_NONBLOCKING {
    const uint32_t settings = ilk_atomic_load(&mutex->settings, memory_order_relaxed); /* MX10 */
    return seen == MUTEX_SLOW &&
           (settings & (MUTEX_AWAITED | MUTEX_FRESH | MUTEX_WATCHED)) == MUTEX_AWAITED &&
           take_if_free(mutex, &seen, self);
}

/* `seen`: what it held when it was not free. */
static ILK_NOINLINE ilk_status lock_taken(ilk_mutex *mutex, uint32_t self, uint32_t seen,
                                          uint64_t deadline_ns, const char *call, const void *site) {
    if (take_if_awaited(mutex, self, seen)) {
        return ILK_OK;
    }
    const bool is_own = names_me(seen, self); /* reported as misuse, which tells more */
    return !is_own && mutex_is_watched(mutex, true) ? lock_watched(mutex, self, seen, deadline_ns, call, site)
                                                    : wait_for_owner(mutex, self, seen, deadline_ns, call);
}

static inline ilk_status lock_by(ilk_mutex *mutex, uint32_t self, uint64_t deadline_ns, const char *call,
                                 const void *site) {
    uint32_t seen = take_free(mutex, self);
    /* A call of its own: a free mutex is taken without saving registers. */
    return seen == 0 ? ILK_OK : lock_taken(mutex, self, seen, deadline_ns, call, site);
}

ILK_NOINLINE void ilk_mutex_lock(ilk_mutex *mutex) {
    (void)lock_by(mutex, ilk__thread_id(), ILK_FOREVER, "ilk_mutex_lock", ILK__CALLER);
}

ilk_status ilk__mutex_lock_as(ilk_mutex *mutex, uint32_t self, uint64_t deadline_ns, const char *call,
                              const void *site) {
    return lock_by(mutex, self, deadline_ns, call, site);
}

ILK_COLD static bool try_lock_taken(ilk_mutex *mutex, uint32_t seen, const void *site) ILK_NONBLOCKING {
    if (seen != MUTEX_SLOW) {
        return false;
    }
    const bool watched = mutex_is_watched(mutex, false);
    const uint32_t self = ilk__thread_id();
    while (!take_if_free(mutex, &seen, self)) {
        if ((seen & ~MUTEX_SLOW) != 0) {
            return false;
        } /* else it is observed since, or no longer */
    }
    if (watched) {
        ilk__watch_taken(mutex, ILK__SHARE_WRITE, site);
        mutex_watch(mutex); /* likewise */
    }
    return true;
}

ILK_NOINLINE bool ilk_mutex_try_lock(ilk_mutex *mutex) ILK_NONBLOCKING {
    const uint32_t seen = take_free(mutex, ilk__thread_id());
    /* A call of its own: a free mutex is taken without saving registers. */
    return ILK_LIKELY(seen == 0) ? true : try_lock_taken(mutex, seen, ILK__CALLER);
}

ILK_NOINLINE ilk_status ilk_mutex_lock_until(ilk_mutex *mutex, uint64_t deadline_ns) {
    return lock_by(mutex, ilk__thread_id(), deadline_ns, "ilk_mutex_lock_until", ILK__CALLER);
}

static void require_owner(const ilk_mutex *mutex, uint32_t self, uint32_t seen, const char *call) {
    if (!names_me(seen, self)) {
        ilk__misuse(call, mutex, "thread %u does not own it; thread %u does (0: none)", (unsigned)self,
                    (unsigned)(seen & MUTEX_OWNER));
    }
}

bool ilk__mutex_is_of(const ilk_mutex *mutex, uint32_t self) ILK_NONBLOCKING {
    const uint32_t word = ilk_atomic_load(&mutex->word, memory_order_relaxed); /* MX4 */
    return (word & MUTEX_OWNER) != 0 && names_me(word, self);
}

void ilk__mutex_require_owner(const ilk_mutex *mutex, const char *call) {
    require_owner(mutex, ilk__thread_id(), ilk_atomic_load(&mutex->word, memory_order_relaxed),
                  call); /* MX4 */
}

static struct ilk__conditions conditions_of(ilk_mutex *mutex) {
    return (struct ilk__conditions){mutex, &mutex->settings, MUTEX_AWAITED};
}

struct ilk__conditions ilk__mutex_conditions(ilk_mutex *mutex) {
    ilk_atomic_fetch_or(&mutex->word, MUTEX_SLOW, memory_order_relaxed); /* MX13 */
    return conditions_of(mutex);
}

static struct ilk__condition_waiter *choose_woken(ilk_mutex *mutex) {
    return is_set(mutex, MUTEX_AWAITED)
               ? ilk__conditions_choose(ilk__mutex_conditions(mutex), "ilk_mutex_unlock")
               : NULL;
}

/* The kernel hands a mutex over without SLOW, which the next owner raises; or leaves it free without SLOW, where a wait
 * for it has timed out. There an owner may come and go on the fast paths, and judges no condition: so the mutex is
 * taken once more, if that is possible without waiting; if not, its owner finds SLOW. */
static void unlock_inherited(ilk_mutex *mutex, uint32_t self) {
    for (;;) {
        const struct ilk__conditions conditions = conditions_of(mutex); /* the mutex may be gone later */
        const bool is_awaited = is_set(mutex, MUTEX_AWAITED);
        struct ilk__condition_waiter *chosen = choose_woken(mutex);
        uint32_t held = self | MUTEX_SLOW;
        const bool by_kernel = !ilk_atomic_compare_exchange(
            &mutex->word, &held, MUTEX_SLOW, memory_order_release, memory_order_relaxed); /* MX3 */
        if (by_kernel) {
            ilk__mutex_inherit_unlock(&mutex->word);
        }
        const bool again =
            by_kernel && is_awaited && ilk__conditions_retake(conditions, &mutex->word, MUTEX_SLOW, self);
        ilk__conditions_wake(chosen);
        if (!again) {
            return;
        }
    }
}

/* `seen`: what it holds beside the caller's id. */
static ILK_NOINLINE void unlock_marked(ilk_mutex *mutex, uint32_t self, uint32_t seen, const void *site) {
    require_owner(mutex, self, seen, "ilk_mutex_unlock");
    if (mutex_is_watched(mutex, false)) {
        ilk__watch_release(mutex, ILK__SHARE_WRITE, site);
    }
    take_needless_slow_down(mutex);
    const bool inherited = inherits(mutex);
    if (inherited && (seen & MUTEX_OWNER) == self) {
        unlock_inherited(mutex, self);
        return;
    }
    struct ilk__condition_waiter *chosen = choose_woken(mutex);
    const uint32_t before = ilk_atomic_fetch_and(&mutex->word, MUTEX_SLOW, memory_order_release); /* MX3 */
    if (inherited) {
        ilk__mutex_inherit_earlier_owner_gone();
    } else if ((before & MUTEX_SLEEPERS) != 0) {
        ILK__REACHES(MUTEX_WAKES, true);
        ilk_park_wake(&mutex->word, 1);
    }
    ilk__conditions_wake(chosen);
}

ILK_NOINLINE void ilk_mutex_unlock(ilk_mutex *mutex) {
    uint32_t self = ilk__thread_id();
    uint32_t seen = self;
    /* MX3 release, pairs with MX2 and CN4. The last touch. */
    if (!ilk_atomic_compare_exchange(&mutex->word, &seen, 0, memory_order_release, memory_order_relaxed)) {
        unlock_marked(mutex, self, seen, ILK__CALLER);
    }
}
