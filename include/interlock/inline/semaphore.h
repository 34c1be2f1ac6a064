/* SPDX-License-Identifier: Apache-2.0
 *
 * The fast paths of ilk_semaphore: one compare-and-swap when a permit is there, or when no thread waits for
 * the one given. Contracts are in <interlock/semaphore.h>, slow paths in Sources/CCore/sync/semaphore.c and
 * semaphore_queue.c.
 *
 * The word, from the low end:
 *   bit 0   QUEUE_LOCKED     a thread is changing the queue. Slow paths only.
 *   bit 1   QUEUE_CONTENDED  a thread sleeps for bit 0: a hint to wake; see wait/queue_lock.h.
 *   bit 2   HAS_WAITERS      the queue is not empty. Changes under bit 0. Permits beside it belong to the
 *                            queue: the holder of bit 0 hands them over.
 *   bit 3   OBSERVED         every call goes slow, where diagnosis lives.
 *   bits 4 to 31             permits.
 *
 * The queue's word:
 *   bits 0 to 29   the number of waiters. Changes under bit 0 of the other word.
 *   bit 30         IN_TURN  the first waiter has been passed often enough: no thread overtakes. Likewise.
 *   bit 31         BARGES   any thread may take a permit beside waiters. Does not change.
 */
#ifndef INTERLOCK_INLINE_SEMAPHORE_H
#define INTERLOCK_INLINE_SEMAPHORE_H

#include <interlock/semaphore.h>

ILK_BEGIN_DECLARATIONS

#define ILK__SEMAPHORE_QUEUE_LOCKED UINT32_C(0x01)
#define ILK__SEMAPHORE_QUEUE_CONTENDED UINT32_C(0x02)
#define ILK__SEMAPHORE_HAS_WAITERS UINT32_C(0x04)
#define ILK__SEMAPHORE_OBSERVED UINT32_C(0x08)
#define ILK__SEMAPHORE_ONE_PERMIT UINT32_C(0x10)
#define ILK__SEMAPHORE_PERMITS UINT32_C(0xFFFFFFF0)
#define ILK__SEMAPHORE_WAITER_COUNT UINT32_C(0x3FFFFFFF)
#define ILK__SEMAPHORE_IN_TURN UINT32_C(0x40000000)
#define ILK__SEMAPHORE_BARGES UINT32_C(0x80000000)

ILK_COLD void ilk__semaphore_wait_slow(ilk_semaphore *semaphore);
ILK_COLD bool ilk__semaphore_try_wait_slow(ilk_semaphore *semaphore) ILK_NONBLOCKING;
ILK_COLD bool ilk__semaphore_ask_slow(ilk_semaphore *semaphore);
ILK_COLD void ilk__semaphore_signal_slow(ilk_semaphore *semaphore, uint32_t permits);

/* Takes a permit that does not belong to the queue; none while observed. */
static inline bool ilk__semaphore_take_fast(ilk_semaphore *semaphore) ILK_NONBLOCKING {
    /* SE1 relaxed: a hint; SE2 decides. */
    uint32_t word = ilk_atomic_load(&semaphore->word, memory_order_relaxed);
    const uint32_t slow = ILK__SEMAPHORE_OBSERVED | ILK__SEMAPHORE_HAS_WAITERS;
    if (ILK_UNLIKELY((word & ILK__SEMAPHORE_PERMITS) == 0 || (word & slow) != 0)) {
        return false;
    }
    /* SE2 acquire, pairs with SE3 and QL3 and SE8 (giving permits).
     * Carries: what the signaller did before (guarantee B).
     * If weaker: we read what the permit stands for as it was before. */
    return ilk_atomic_compare_exchange(&semaphore->word, &word, word - ILK__SEMAPHORE_ONE_PERMIT,
                                       memory_order_acquire, memory_order_relaxed);
}

static inline void ilk_semaphore_wait(ilk_semaphore *semaphore) {
    if (ILK_UNLIKELY(!ilk__semaphore_take_fast(semaphore))) {
        ilk__semaphore_wait_slow(semaphore);
    }
}

static inline bool ilk_semaphore_try_wait(ilk_semaphore *semaphore) ILK_NONBLOCKING {
    if (ILK_LIKELY(ilk__semaphore_take_fast(semaphore))) {
        return true;
    }
    return ilk__semaphore_try_wait_slow(semaphore);
}

/* Takes a permit if there is one, for a caller that will wait if there is none: diagnosis takes it for an order. */
ILK_MUST_USE static inline bool ilk__semaphore_ask(ilk_semaphore *semaphore) {
    return ILK_LIKELY(ilk__semaphore_take_fast(semaphore)) || ilk__semaphore_ask_slow(semaphore);
}

static inline void ilk_semaphore_signal(ilk_semaphore *semaphore, uint32_t permits) {
    uint32_t word = ilk_atomic_load(&semaphore->word, memory_order_relaxed); /* SE1 */
    bool room = permits <= ILK_SEMAPHORE_MAX - word / ILK__SEMAPHORE_ONE_PERMIT;
    if (ILK_LIKELY((word & ~ILK__SEMAPHORE_PERMITS) == 0 && room)) {
        /* SE3 release, pairs with SE2, SE4 and QL3. Carries and fails as SE2. */
        if (ILK_LIKELY(ilk_atomic_compare_exchange(&semaphore->word, &word,
                                                   word + permits * ILK__SEMAPHORE_ONE_PERMIT,
                                                   memory_order_release, memory_order_relaxed))) {
            return;
        }
    }
    ilk__semaphore_signal_slow(semaphore, permits);
}

ILK_END_DECLARATIONS

#endif
