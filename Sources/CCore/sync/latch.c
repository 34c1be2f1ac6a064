/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_latch (docs/rings.md). One word: twice the count, and a bit that says a waiter sleeps on the word.
 *
 *   moves                       by
 *   2n   -> 2n + 1              a waiter, before it sleeps
 *   2n+b -> 2(n-1)+b            count_down; the one that arrives at 0 or 1 has opened the latch
 * The opener's subtraction is its last touch; it wakes by address, and only if the bit was up. A waiter parks
 * on the exact value: after any count_down the word differs. Wait sets: sync/latch_watch.h.
 */
#include "diagnostics/misuse.h"
#include "diagnostics/observe.h"
#include "platform/reaches.h"
#include "sync/latch_watch.h"
#include "wait/watchers.h"
#include <interlock/park.h>

static const uint32_t LATCH_SLEEPERS = 1;
static const uint32_t ONE_COUNT = 2;

static ILK_ATOMIC(uint32_t) watched_latches; /* members of wait sets that latches are */

void ilk_latch_init(ilk_latch *latch, uint32_t count) {
    if (count > ILK_LATCH_MAX) {
        ilk__misuse("ilk_latch_init", latch, "a count of %u; a latch counts at most %u", (unsigned)count,
                    (unsigned)ILK_LATCH_MAX);
    }
    /* LT1 relaxed: not shared yet. */
    ilk_atomic_store(&latch->word, count * ONE_COUNT, memory_order_relaxed);
}

void ilk_latch_count_down(ilk_latch *latch) ILK_NONBLOCKING {
    /* LT2 acq_rel, pairs with LT3 (waiting), with LT5 (a wait set), and with itself.
     * Carries: each counter's work, along the chain of subtractions, to the waiters.
     * If weaker: a waiter misses the work of a thread that counted down, or the opener misses a wait set. */
    uint32_t before = ilk_atomic_fetch_sub(&latch->word, ONE_COUNT, memory_order_acq_rel);
    if (ILK_UNLIKELY(before < ONE_COUNT)) {
        ilk__misuse("ilk_latch_count_down", latch, "counted down more often than it was made for");
    }
    if (before == (ONE_COUNT | LATCH_SLEEPERS)) {
        ILK__REACHES(LATCH_WAKES, true);
        ilk_park_wake(&latch->word, ILK_PARK_ALL);
        /* LT6 relaxed: LT5 has counted before it raised the mark that LT2 read. */
        if (ilk_atomic_load(&watched_latches, memory_order_relaxed) != 0) {
            ilk__watchers_notify(latch);
        }
    }
}

void ilk__latch_watch_begin(ilk_latch *latch, struct ilk__watcher *watcher) {
    ilk_atomic_fetch_add(&watched_latches, 1, memory_order_relaxed); /* LT6 */
    ilk__watchers_join(latch, watcher);
}

void ilk__latch_watch_end(ilk_latch *latch, struct ilk__watcher *watcher) {
    ilk__watchers_leave(latch, watcher);
    ilk_atomic_fetch_sub(&watched_latches, 1, memory_order_relaxed); /* LT6 */
}

void ilk__latch_watch(ilk_latch *latch) {
    /* LT5 release, pairs with LT2: the watcher is counted, has joined, and its mark is down. */
    ilk_atomic_fetch_or(&latch->word, LATCH_SLEEPERS, memory_order_release);
}

static ilk_status latch_wait(ilk_latch *latch, uint64_t deadline_ns) {
    for (;;) {
        /* LT3 acquire, pairs with LT2: we see the work of every thread that counted down. */
        uint32_t word = ilk_atomic_load(&latch->word, memory_order_acquire);
        if (word < ONE_COUNT) {
            return ILK_OK;
        }
        ILK__REACHES(LATCH_SLEEPS, true);
        /* LT4 relaxed: publishes only the wake request; LT2 reads it, both being read-modify-writes of one
         * word. */
        if ((word & LATCH_SLEEPERS) == 0 &&
            !ilk_atomic_compare_exchange(&latch->word, &word, word | LATCH_SLEEPERS, memory_order_relaxed,
                                         memory_order_relaxed)) {
            continue;
        }
        if (ilk_park_wait(&latch->word, word | LATCH_SLEEPERS, deadline_ns) == ILK_TIMEDOUT) {
            return ilk_latch_try_wait(latch) ? ILK_OK : ILK_TIMEDOUT;
        }
    }
}

ILK_NOINLINE ilk_status ilk_latch_wait_until(ilk_latch *latch, uint64_t deadline_ns) {
    if (!ilk__watches_idle() || ilk_latch_try_wait(latch)) {
        return latch_wait(latch, deadline_ns);
    }
    struct ilk__idle_watch watch;
    ilk__watch_idle_begin(&watch, latch, ILK_OBJECT_LATCH, "", deadline_ns, ILK__CALLER);
    const ilk_status status = latch_wait(latch, deadline_ns);
    ilk__watch_idle_end(&watch);
    return status;
}

bool ilk_latch_try_wait(ilk_latch *latch) ILK_NONBLOCKING {
    return ilk_atomic_load(&latch->word, memory_order_acquire) < ONE_COUNT; /* LT3 */
}

uint32_t ilk_latch_count(const ilk_latch *latch) ILK_NONBLOCKING {
    return ilk_atomic_load(&latch->word, memory_order_relaxed) / ONE_COUNT; /* LT1 */
}
