/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls of ilk_semaphore off their fast paths, and what diagnosis sees of them; sync/semaphore_queue.c has the
 * permits and the queue.
 */
#include "diagnostics/misuse.h"
#include "diagnostics/names.h"
#include "diagnostics/observe.h"
#include "diagnostics/tables.h"
#include "sync/semaphore_queue.h"
#include <interlock/semaphore.h>
#include <stddef.h>

static void semaphore_begin(ilk_semaphore *semaphore, uint32_t permits, uint32_t queue, const char *call) {
    if (permits > ILK_SEMAPHORE_MAX) {
        ilk__misuse(call, semaphore, "%u permits; a semaphore holds at most %u", (unsigned)permits,
                    (unsigned)ILK_SEMAPHORE_MAX);
    }
    /* SE5 relaxed: not shared yet. */
    ilk_atomic_store(&semaphore->word, permits * ILK__SEMAPHORE_ONE_PERMIT, memory_order_relaxed);
    ilk_atomic_store(&semaphore->queue, queue, memory_order_relaxed); /* SE5 */
    TAILQ_INIT(&semaphore->waiters);
    ilk__object_forget(semaphore);
    if (ilk__diagnoses_all() && ilk_semaphore_observe(semaphore, 0) == ILK_OK && permits != 1) {
        struct ilk__watch watch;
        ilk__watch_find(&watch, semaphore);
        ilk__watch_permits(&watch); /* what serves as a lock begins with one */
    }
}

void ilk_semaphore_init(ilk_semaphore *semaphore, uint32_t permits) {
    semaphore_begin(semaphore, permits, 0, "ilk_semaphore_init");
}

void ilk_semaphore_init_barging(ilk_semaphore *semaphore, uint32_t permits) {
    semaphore_begin(semaphore, permits, ILK__SEMAPHORE_BARGES, "ilk_semaphore_init_barging");
}

void ilk_semaphore_destroy(ilk_semaphore *semaphore) {
    uint32_t word = ilk_atomic_load(&semaphore->word, memory_order_relaxed); /* SE1 */
    if ((word & ILK__SEMAPHORE_HAS_WAITERS) != 0) {
        ilk__misuse("ilk_semaphore_destroy", semaphore, "destroyed while %u threads wait for a permit",
                    (unsigned)ilk__semaphore_waiters(semaphore));
    }
    ilk__object_forget(semaphore);
    ilk__name_forget(semaphore);
}

/* ---- Diagnosis ---- */

/* The table forgets a semaphore that is not watched. */
static void semaphore_settle(ilk_semaphore *semaphore, bool may_wait) {
    sigset_t before;
    if (!ilk__diagnoses_all() &&
        ilk__object_unmark_first(semaphore, &semaphore->word, ILK__SEMAPHORE_OBSERVED)) {
        return;
    }
    if (!ilk__tables_lock_if(&before, may_wait)) {
        return;
    }
    if (!ilk__object_settle(semaphore, false) && !ilk__diagnoses_all()) {
        /* SE9 relaxed: the mutex of the tables orders it with SE10, which follows a lock of them. Only with the tables
         * locked: a semaphore that stays there would lose calls. */
        ilk_atomic_fetch_and(&semaphore->word, ~ILK__SEMAPHORE_OBSERVED, memory_order_relaxed);
    }
    ilk__tables_unlock(&before);
}

/* With OBSERVED, which ILK_SEMAPHORE_INIT sets too. A call that `may_wait` makes the object that is not there yet;
 * others allocate nothing and do not block. While nothing is watched, no call waits for the tables, which a thread has
 * as it forks. */
ILK_TRUSTED_NONBLOCKING_BEGIN
ILK_COLD static bool semaphore_decide_watching(ilk_semaphore *semaphore, bool may_wait) ILK_NONBLOCKING {
    /* SE11 acquire, pairs with SE10: since OBSERVED went down once, we do not see the object of before. */
    ilk_atomic_fence(memory_order_acquire);
    const bool all = ilk__diagnoses_all();
    if (!all && !ilk__object_is_watched_at(semaphore)) {
        semaphore_settle(semaphore, false);
    }
    /* One that is not watched stays while the tables are locked: what is held of it is noted. */
    return (may_wait && all) || ilk__object_find(semaphore) != NULL;
}
ILK_TRUSTED_NONBLOCKING_END

static bool semaphore_is_watched(ilk_semaphore *semaphore, bool may_wait) ILK_NONBLOCKING {
    uint32_t word = ilk_atomic_load(&semaphore->word, memory_order_relaxed); /* SE1 */
    return ILK_UNLIKELY((word & ILK__SEMAPHORE_OBSERVED) != 0) &&
           semaphore_decide_watching(semaphore, may_wait);
}

static void semaphore_watch(ilk_semaphore *semaphore) ILK_NONBLOCKING {
    /* SE10 release, pairs with OB14, OB15 and SE11: what is watched, or was noted, before OBSERVED says so. */
    ilk_atomic_fetch_or(&semaphore->word, ILK__SEMAPHORE_OBSERVED, memory_order_release);
}

ilk_status ilk_semaphore_observe(ilk_semaphore *semaphore, uint32_t what) {
    if ((what & ILK_DIAGNOSE_ALL) == 0 && !ilk__diagnoses_all()) {
        ilk__object_forget(semaphore);
        semaphore_settle(semaphore, true);
        return ILK_OK;
    }
    if (ilk__object_watch(semaphore, ILK_OBJECT_SEMAPHORE, what) == NULL) {
        return ILK_NOMEM;
    }
    semaphore_watch(semaphore);
    return ILK_OK;
}

/* While a thread holds the permit of a semaphore that serves as a lock, there is no other. */
static bool has_permits(ilk_semaphore *semaphore) ILK_NONBLOCKING {
    uint32_t word = ilk_atomic_load(&semaphore->word, memory_order_relaxed); /* SE1 */
    return ilk__semaphore_permits(word) != 0;
}

/* It may have been forgotten, and met again, since the call began. */
static void see_taken(ilk_semaphore *semaphore, const struct ilk__watch *watch) ILK_NONBLOCKING {
    if (has_permits(semaphore)) {
        ilk__watch_permits(watch);
    }
    semaphore_watch(semaphore);
}

/* `is_lock`: the permits given, and those there before, are those of a lock. */
static void end_giving(const struct ilk__watch *watch, bool is_lock, const void *site) ILK_NONBLOCKING {
    if (!is_lock) {
        ilk__watch_permits(watch);
    }
    ilk__watch_release_end(watch, ILK__SHARE_WRITE, site);
}

static void semaphore_end_wait(ilk_semaphore *semaphore, struct ilk__watch *watch, bool is_taken) {
    ilk__watch_end(watch, is_taken);
    if (is_taken) {
        see_taken(semaphore, watch);
    }
}

ILK_NOINLINE bool ilk__semaphore_ask_slow(ilk_semaphore *semaphore) {
    if (!semaphore_is_watched(semaphore, true)) {
        return ilk__semaphore_take(semaphore);
    }
    struct ilk__watch watch;
    ilk__watch_begin(&watch, semaphore, ILK_OBJECT_SEMAPHORE, ILK__SHARE_WRITE, false, ILK_FOREVER,
                     ILK__CALLER);
    const bool is_taken = ilk__semaphore_take(semaphore);
    semaphore_end_wait(semaphore, &watch, is_taken);
    return is_taken;
}

static ilk_status semaphore_wait_watched(ilk_semaphore *semaphore, uint64_t deadline_ns, const void *site) {
    struct ilk__watch watch;
    ilk__watch_begin(&watch, semaphore, ILK_OBJECT_SEMAPHORE, ILK__SHARE_WRITE, false, deadline_ns, site);
    if (ilk__semaphore_take(semaphore)) {
        semaphore_end_wait(semaphore, &watch, true);
        return ILK_OK;
    }
    ilk__watch_contends(&watch, false);
    const ilk_status status = ilk__semaphore_wait_until(semaphore, deadline_ns);
    semaphore_end_wait(semaphore, &watch, status == ILK_OK);
    return status;
}

/* ---- The calls ---- */

ILK_NOINLINE void ilk__semaphore_wait_slow(ilk_semaphore *semaphore) {
    (void)(semaphore_is_watched(semaphore, true) ? semaphore_wait_watched(semaphore, ILK_FOREVER, ILK__CALLER)
                                                 : ilk__semaphore_wait_until(semaphore, ILK_FOREVER));
}

ILK_NOINLINE bool ilk__semaphore_try_wait_slow(ilk_semaphore *semaphore) ILK_NONBLOCKING {
    const bool watched = semaphore_is_watched(semaphore, false);
    const bool is_taken = ilk__semaphore_take(semaphore);
    if (is_taken && watched) {
        struct ilk__watch watch;
        ilk__watch_taken(semaphore, ILK__SHARE_WRITE, ILK__CALLER);
        ilk__watch_find(&watch, semaphore);
        see_taken(semaphore, &watch);
    }
    return is_taken;
}

ILK_NOINLINE ilk_status ilk_semaphore_wait_until(ilk_semaphore *semaphore, uint64_t deadline_ns) {
    if (semaphore_is_watched(semaphore, true)) {
        return semaphore_wait_watched(semaphore, deadline_ns, ILK__CALLER);
    }
    return ilk_semaphore_try_wait(semaphore) ? ILK_OK : ilk__semaphore_wait_until(semaphore, deadline_ns);
}

ILK_NOINLINE void ilk__semaphore_signal_slow(ilk_semaphore *semaphore, uint32_t permits) {
    if (permits == 0) {
        return;
    }
    if (semaphore_is_watched(semaphore, false)) {
        struct ilk__watch watch;
        ilk__watch_find(&watch, semaphore);
        end_giving(&watch, permits == 1 && !has_permits(semaphore), ILK__CALLER);
    }
    ilk__semaphore_give(semaphore, permits, NULL);
}

ILK_NOINLINE bool ilk_semaphore_try_signal(ilk_semaphore *semaphore, uint32_t permits) {
    if (permits == 0) {
        return true;
    }
    bool fits = true;
    struct ilk__watch watch;
    const bool watched = semaphore_is_watched(semaphore, false);
    if (watched) {
        ilk__watch_find(&watch, semaphore);
    }
    const bool is_lock = permits == 1 && !has_permits(semaphore);
    ilk__semaphore_give(semaphore, permits, &fits); /* the semaphore may be gone (D) */
    if (watched && fits) {
        end_giving(&watch, is_lock, ILK__CALLER);
    }
    return fits;
}
