/* SPDX-License-Identifier: Apache-2.0
 *
 * The calls of ilk_semaphore off their fast paths, and what diagnosis sees of them; sync/semaphore_queue.c has the
 * permits and the queue.
 */
#include "diagnostics/misuse.h"
#include "diagnostics/names.h"
#include "diagnostics/observe.h"
#include "sync/semaphore_queue.h"
#include <interlock/semaphore.h>
#include <stddef.h>

static void semaphore_begin(ilk_semaphore *semaphore, uint32_t permits, uint32_t queue, const char *call) {
    if (permits > ILK_SEMAPHORE_MAX) {
        ilk__misuse(call, semaphore, "%u permits; a semaphore holds at most %u", (unsigned)permits,
                    (unsigned)ILK_SEMAPHORE_MAX);
    }
    ilk__object_forget(semaphore);
    const bool watched = ilk__diagnoses_all() && ilk__object_begin(semaphore, ILK_OBJECT_SEMAPHORE, 0,
                                                                   permits == 1 ? ILK__IS_PERMIT : 0) != NULL;
    const uint32_t word = permits * ILK__SEMAPHORE_ONE_PERMIT + (watched ? ILK__SEMAPHORE_OBSERVED : 0);
    /* SE5 relaxed: not shared yet. */
    ilk_atomic_store(&semaphore->word, word, memory_order_relaxed);
    ilk_atomic_store(&semaphore->queue, queue, memory_order_relaxed); /* SE5 */
    TAILQ_INIT(&semaphore->waiters);
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

static void semaphore_stop_watching(ilk_semaphore *semaphore, bool may_wait) {
    /* SE9 acquire, pairs with SE10.
     * Carries: that the semaphore is watched alone.
     * If weaker: a call of ilk_semaphore_observe beside this one is lost. */
    ilk_atomic_fetch_and(&semaphore->word, ~ILK__SEMAPHORE_OBSERVED, memory_order_acquire);
    if (!ilk__object_forget_unwatched(semaphore, may_wait)) {
        /* SE11 relaxed: once more what SE10 has published. */
        ilk_atomic_fetch_or(&semaphore->word, ILK__SEMAPHORE_OBSERVED, memory_order_relaxed);
    }
}

/* With OBSERVED, which goes once the semaphore is not to be watched, or not any more. ILK_SEMAPHORE_INIT sets it: the
 * first call asks. */
ILK_COLD static bool semaphore_decide_watching(ilk_semaphore *semaphore) {
    const struct ilk__object *object = ilk__object_find(semaphore);
    if (object == NULL && ilk__diagnoses_all()) {
        uint32_t word = ilk_atomic_load(&semaphore->word, memory_order_relaxed); /* SE1 */
        object = ilk__object_begin_once(semaphore, ILK_OBJECT_SEMAPHORE,
                                        ilk__semaphore_permits(word) == 1 ? ILK__IS_PERMIT : 0);
    }
    if (object != NULL && ilk__object_watches(object) != 0) {
        return true;
    }
    semaphore_stop_watching(semaphore, true);
    return false;
}

static bool semaphore_is_watched(ilk_semaphore *semaphore) {
    uint32_t word = ilk_atomic_load(&semaphore->word, memory_order_relaxed); /* SE1 */
    return ILK_UNLIKELY((word & ILK__SEMAPHORE_OBSERVED) != 0) && semaphore_decide_watching(semaphore);
}

/* Likewise, for calls that a signal handler makes: allocates nothing and does not block. A semaphore whose first call
 * one is is met by the next that may wait. */
ILK_TRUSTED_NONBLOCKING_BEGIN
ILK_COLD static bool semaphore_is_known(ilk_semaphore *semaphore) ILK_NONBLOCKING {
    const struct ilk__object *object = ilk__object_find(semaphore);
    const bool is_watched = object != NULL && ilk__object_watches(object) != 0;
    if (!is_watched && !ilk__diagnoses_all()) {
        semaphore_stop_watching(semaphore, false);
    }
    return is_watched;
}
ILK_TRUSTED_NONBLOCKING_END

static bool semaphore_is_watched_already(ilk_semaphore *semaphore) ILK_NONBLOCKING {
    uint32_t word = ilk_atomic_load(&semaphore->word, memory_order_relaxed); /* SE1 */
    return ILK_UNLIKELY((word & ILK__SEMAPHORE_OBSERVED) != 0) && semaphore_is_known(semaphore);
}

ilk_status ilk_semaphore_observe(ilk_semaphore *semaphore, uint32_t what) {
    uint32_t word = ilk_atomic_load(&semaphore->word, memory_order_relaxed); /* SE1 */
    const uint32_t traits = ilk__semaphore_permits(word) == 1 ? ILK__IS_PERMIT : 0;
    if (ilk__object_watch(semaphore, ILK_OBJECT_SEMAPHORE, what, traits) == NULL) {
        return ILK_NOMEM;
    }
    /* SE10 release, pairs with SE9: the semaphore is watched alone before OBSERVED says so. */
    ilk_atomic_fetch_or(&semaphore->word, ILK__SEMAPHORE_OBSERVED, memory_order_release);
    (void)semaphore_decide_watching(semaphore);
    return ILK_OK;
}

ILK_NOINLINE bool ilk__semaphore_ask_slow(ilk_semaphore *semaphore) {
    if (!semaphore_is_watched(semaphore)) {
        return ilk__semaphore_take(semaphore);
    }
    struct ilk__watch watch;
    ilk__watch_begin(&watch, semaphore, ILK_OBJECT_SEMAPHORE, ILK__SHARE_WRITE, false, ILK_FOREVER,
                     ILK__CALLER);
    const bool is_taken = ilk__semaphore_take(semaphore);
    ilk__watch_end(&watch, is_taken, false);
    return is_taken;
}

static ilk_status semaphore_wait_watched(ilk_semaphore *semaphore, uint64_t deadline_ns, const void *site) {
    struct ilk__watch watch;
    ilk__watch_begin(&watch, semaphore, ILK_OBJECT_SEMAPHORE, ILK__SHARE_WRITE, false, deadline_ns, site);
    if (ilk__semaphore_take(semaphore)) {
        ilk__watch_end(&watch, true, false);
        return ILK_OK;
    }
    ilk__watch_contends(&watch);
    const ilk_status status = ilk__semaphore_wait_until(semaphore, deadline_ns);
    ilk__watch_end(&watch, status == ILK_OK, false);
    return status;
}

/* ---- The calls ---- */

ILK_NOINLINE void ilk__semaphore_wait_slow(ilk_semaphore *semaphore) {
    (void)(semaphore_is_watched(semaphore) ? semaphore_wait_watched(semaphore, ILK_FOREVER, ILK__CALLER)
                                           : ilk__semaphore_wait_until(semaphore, ILK_FOREVER));
}

ILK_NOINLINE bool ilk__semaphore_try_wait_slow(ilk_semaphore *semaphore) ILK_NONBLOCKING {
    const bool watched = semaphore_is_watched_already(semaphore);
    const bool is_taken = ilk__semaphore_take(semaphore);
    if (is_taken && watched) {
        ilk__watch_taken(semaphore, ILK__SHARE_WRITE, ILK__CALLER);
    }
    return is_taken;
}

ILK_NOINLINE ilk_status ilk_semaphore_wait_until(ilk_semaphore *semaphore, uint64_t deadline_ns) {
    if (semaphore_is_watched(semaphore)) {
        return semaphore_wait_watched(semaphore, deadline_ns, ILK__CALLER);
    }
    return ilk_semaphore_try_wait(semaphore) ? ILK_OK : ilk__semaphore_wait_until(semaphore, deadline_ns);
}

ILK_NOINLINE void ilk__semaphore_signal_slow(ilk_semaphore *semaphore, uint32_t permits) {
    if (permits == 0) {
        return;
    }
    if (semaphore_is_watched_already(semaphore)) {
        ilk__watch_release(semaphore, ILK__SHARE_WRITE, true, ILK__CALLER);
    }
    ilk__semaphore_give(semaphore, permits, NULL);
}

ILK_NOINLINE bool ilk_semaphore_try_signal(ilk_semaphore *semaphore, uint32_t permits) {
    if (permits == 0) {
        return true;
    }
    bool fits = true;
    struct ilk__watch watch;
    const bool watched = semaphore_is_watched_already(semaphore);
    if (watched) {
        ilk__watch_release_begin(&watch, semaphore);
    }
    ilk__semaphore_give(semaphore, permits, &fits); /* the semaphore may be gone (D) */
    if (watched && fits) {
        ilk__watch_release_end(&watch, ILK__SHARE_WRITE, true, ILK__CALLER);
    }
    return fits;
}
