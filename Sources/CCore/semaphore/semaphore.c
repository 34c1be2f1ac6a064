/* SPDX-License-Identifier: Apache-2.0
 *
 * The slow paths of ilk_semaphore: waiting in line and handing permits over. The word is drawn in
 * <interlock/inline/semaphore.h>.
 *
 * The protocol
 *   - Whoever changes the queue holds the queue lock, two bits of the word (park/queue_lock.h).
 *   - HAS_WAITERS is up exactly while the queue is not empty, and then there are no permits: so no
 *     fast path can take one past the line, and every signal comes here.
 *   - A signal takes the first waiters out, releases the queue in the same step that adds the permits
 *     left over, and only then tells the waiters: they may free the semaphore (guarantee D).
 * Must not happen
 *   - A permit added on the fast path beside a waiter that is queueing: the waiter's step that raises
 *     HAS_WAITERS is a compare-and-swap from a word without permits, and the signal's one from a word
 *     without HAS_WAITERS; one of them fails and looks again.
 */
#include "diagnostics/misuse.h"
#include "diagnostics/names.h"
#include "park/queue_lock.h"
#include "park/waiter.h"
#include "threads/yield.h"
#include <interlock/semaphore.h>
#include <stddef.h>

_Static_assert(ILK__SEMAPHORE_QUEUE_LOCKED == ILK__QUEUE_LOCKED, "the queue lock's bits are fixed");
_Static_assert(ILK__SEMAPHORE_QUEUE_CONTENDED == ILK__QUEUE_CONTENDED, "the queue lock's bits are fixed");
_Static_assert(sizeof(struct ilk__waiter_list) == sizeof(TAILQ_HEAD(, ilk__waiter)), "the list is a TAILQ");

/* Looks before joining the line, as long as there is none, the pause between them doubling up to the longest:
 * some thirty microseconds in all, about what waking a sleeper takes. With fewer a line forms behind every
 * hand-over, and once there is one every hand-over is a wake-up; with more, or if the core were given away, a
 * thread could be overtaken for long before it has a place in line. In line, as often the core is given away
 * before sleeping. Chosen by bench mutex. */
enum { SPIN_LIMIT = 40 };
enum { LONGEST_PAUSE = 32 };

static void pause_before_look(int turn) {
    int relaxes = turn < 5 ? 1 << turn : LONGEST_PAUSE;
    for (int count = 0; count < relaxes; count++) {
        ilk_cpu_relax();
    }
}

static uint32_t permits_in(uint32_t word) {
    return word / ILK__SEMAPHORE_ONE_PERMIT;
}

/* Takes a permit that is there, also while observed. */
static bool take_if_there(ilk_semaphore *semaphore) ILK_NONBLOCKING {
    uint32_t word = ilk_atomic_load(&semaphore->word, memory_order_relaxed); /* SE1 */
    while ((word & ILK__SEMAPHORE_PERMITS) != 0) {
        /* SE4 acquire, pairs with SE3 and QL3 (release, giving permits). As SE2. */
        if (ilk_atomic_compare_exchange_weak(&semaphore->word, &word, word - ILK__SEMAPHORE_ONE_PERMIT,
                                             memory_order_acquire, memory_order_relaxed)) {
            return true;
        }
    }
    return false;
}

static bool has_line(const ilk_semaphore *semaphore) {
    uint32_t word = ilk_atomic_load(&semaphore->word, memory_order_relaxed); /* SE1 */
    return (word & ILK__SEMAPHORE_HAS_WAITERS) != 0;
}

/* Joins the line, or takes a permit that came meanwhile: true when taken. */
static bool take_or_enqueue(ilk_semaphore *semaphore, struct ilk__waiter *self) {
    ilk__queue_lock(&semaphore->word);
    uint32_t seen = ilk__queue_look(&semaphore->word);
    ilk_plain_write(&semaphore->waiters, sizeof semaphore->waiters);
    if ((seen & ILK__SEMAPHORE_HAS_WAITERS) == 0) {
        TAILQ_INIT(&semaphore->waiters);
        semaphore->waiter_count = 0;
    }
    TAILQ_INSERT_TAIL(&semaphore->waiters, self, link);
    semaphore->waiter_count++;
    self->queued = true;
    for (;;) {
        uint32_t state = seen & ~ILK__QUEUE_BITS;
        bool there = permits_in(state) > 0;
        if (there && self->queued) {
            TAILQ_REMOVE(&semaphore->waiters, self, link);
            semaphore->waiter_count--;
            self->queued = false;
        } else if (!there && !self->queued) {
            TAILQ_INSERT_TAIL(&semaphore->waiters, self, link);
            semaphore->waiter_count++;
            self->queued = true;
        }
        uint32_t next = there ? state - ILK__SEMAPHORE_ONE_PERMIT : state | ILK__SEMAPHORE_HAS_WAITERS;
        if (ilk__queue_unlock(&semaphore->word, &seen, next)) {
            return there;
        }
    }
}

/* Leaves the line when time is up: false when a permit has been handed over already. */
static bool leave_line(ilk_semaphore *semaphore, struct ilk__waiter *self) {
    ilk__queue_lock(&semaphore->word);
    ilk_plain_write(&semaphore->waiters, sizeof semaphore->waiters);
    bool was_queued = self->queued;
    if (was_queued) {
        TAILQ_REMOVE(&semaphore->waiters, self, link);
        semaphore->waiter_count--;
        self->queued = false;
    }
    bool is_empty = semaphore->waiter_count == 0;
    uint32_t seen = ilk__queue_look(&semaphore->word);
    uint32_t next;
    do {
        next = seen & ~ILK__QUEUE_BITS;
        if (is_empty) {
            next &= ~ILK__SEMAPHORE_HAS_WAITERS;
        }
    } while (!ilk__queue_unlock(&semaphore->word, &seen, next));
    return was_queued;
}

static ilk_status wait_slow(ilk_semaphore *semaphore, uint64_t deadline_ns) {
    for (int turn = 0; turn < SPIN_LIMIT && !has_line(semaphore); turn++) {
        if (take_if_there(semaphore)) {
            return ILK_OK;
        }
        pause_before_look(turn);
    }
    struct ilk__waiter self = {.kind = 0};
    if (take_or_enqueue(semaphore, &self)) {
        return ILK_OK;
    }
    /* Whoever is next may be on this very core, and runs when we give it away; asleep, each would have to be
     * woken for its turn. */
    /* SE6 relaxed: a hint; WT1 decides. */
    for (int turn = 0; turn < SPIN_LIMIT && ilk_atomic_load(&self.granted, memory_order_relaxed) == 0;
         turn++) {
        ilk__thread_yield();
    }
    if (ilk__waiter_sleep(&self, deadline_ns) == ILK_OK) {
        return ILK_OK;
    }
    if (leave_line(semaphore, &self)) {
        return ILK_TIMEDOUT;
    }
    /* Late, but a permit is on its way to us: it must not be lost. */
    return ilk__waiter_sleep(&self, ILK_FOREVER);
}

void ilk_semaphore_init(ilk_semaphore *semaphore, uint32_t permits) {
    if (permits > ILK_SEMAPHORE_MAX) {
        ilk__misuse("ilk_semaphore_init", semaphore, "%u permits; a semaphore holds at most %u",
                    (unsigned)permits, (unsigned)ILK_SEMAPHORE_MAX);
    }
    /* SE5 relaxed: nobody else uses the semaphore yet. */
    ilk_atomic_store(&semaphore->word, permits * ILK__SEMAPHORE_ONE_PERMIT, memory_order_relaxed);
    semaphore->waiter_count = 0;
    TAILQ_INIT(&semaphore->waiters);
}

void ilk_semaphore_destroy(ilk_semaphore *semaphore) {
    uint32_t word = ilk_atomic_load(&semaphore->word, memory_order_relaxed); /* SE1 */
    if ((word & ILK__SEMAPHORE_HAS_WAITERS) != 0) {
        ilk__misuse("ilk_semaphore_destroy", semaphore, "destroyed while %u threads wait for a permit",
                    (unsigned)semaphore->waiter_count);
    }
    ilk__name_forget(semaphore);
}

void ilk__semaphore_wait_slow(ilk_semaphore *semaphore) {
    (void)wait_slow(semaphore, ILK_FOREVER);
}

bool ilk__semaphore_try_wait_slow(ilk_semaphore *semaphore) ILK_NONBLOCKING {
    return take_if_there(semaphore);
}

ilk_status ilk_semaphore_wait_until(ilk_semaphore *semaphore, uint64_t deadline_ns) {
    return ilk_semaphore_try_wait(semaphore) ? ILK_OK : wait_slow(semaphore, deadline_ns);
}

void ilk__semaphore_signal_slow(ilk_semaphore *semaphore, uint32_t permits) {
    if (permits == 0) {
        return;
    }
    ilk__queue_lock(&semaphore->word);
    ilk_plain_write(&semaphore->waiters, sizeof semaphore->waiters);
    uint32_t seen = ilk__queue_look(&semaphore->word);
    TAILQ_HEAD(, ilk__waiter) served = TAILQ_HEAD_INITIALIZER(served);
    uint32_t left = permits;
    if ((seen & ILK__SEMAPHORE_HAS_WAITERS) != 0) {
        while (left > 0 && semaphore->waiter_count > 0) {
            struct ilk__waiter *first = TAILQ_FIRST(&semaphore->waiters);
            TAILQ_REMOVE(&semaphore->waiters, first, link);
            semaphore->waiter_count--;
            first->queued = false;
            TAILQ_INSERT_TAIL(&served, first, link);
            left--;
        }
    }
    bool is_empty = semaphore->waiter_count == 0;
    uint32_t next;
    do {
        if (left > ILK_SEMAPHORE_MAX - permits_in(seen)) {
            ilk__misuse("ilk_semaphore_signal", semaphore,
                        "%u permits more than the %u there; the most is %u", (unsigned)left,
                        (unsigned)permits_in(seen), (unsigned)ILK_SEMAPHORE_MAX);
        }
        next = (seen & ~ILK__QUEUE_BITS) + left * ILK__SEMAPHORE_ONE_PERMIT;
        if (is_empty) {
            next &= ~ILK__SEMAPHORE_HAS_WAITERS;
        }
    } while (!ilk__queue_unlock(&semaphore->word, &seen, next));
    struct ilk__waiter *waiter, *following;
    TAILQ_FOREACH_SAFE(waiter, &served, link, following) {
        ilk__waiter_grant(waiter);
    }
}

int64_t ilk_semaphore_value(ilk_semaphore *semaphore) {
    ilk__queue_lock(&semaphore->word);
    ilk_plain_read(&semaphore->waiters, sizeof semaphore->waiters);
    uint32_t seen = ilk__queue_look(&semaphore->word);
    int64_t waiting = (seen & ILK__SEMAPHORE_HAS_WAITERS) != 0 ? (int64_t)semaphore->waiter_count : 0;
    while (!ilk__queue_unlock(&semaphore->word, &seen, seen & ~ILK__QUEUE_BITS)) {
    }
    return (int64_t)permits_in(seen) - waiting;
}
