/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_mutex (docs/rings.md). The word is the owner's thread id; bit 31 (the kernel's FUTEX_WAITERS): a waiter
 * sleeps.
 *
 *   state                  moved by                     to
 *   0                      a locker                     its id; with bit 31 if it has slept
 *   id                     a locker about to sleep      id | MUTEX_SLEEPERS
 *   id                     the owner                    0
 *   id | MUTEX_SLEEPERS    the owner                    0, then wakes one
 * With inheritance the kernel moves a word with the bit up.
 *
 * Fork. In the child the forking thread has another id, and owns the mutexes that name the old one
 * (platform/former.c). Their bit may stand for sleepers that do not exist: a wake-up for none. For
 * inheritance see mutex_inherit_linux.c.
 */
#include "diagnostics/misuse.h"
#include "platform/identity.h"
#include "sync/mutex_inherit.h"
#include "wait/spin.h"
#include <interlock/mutex.h>
#include <interlock/park.h>

static const uint32_t MUTEX_SLEEPERS = UINT32_C(0x80000000);
static const uint32_t MUTEX_OWNER = UINT32_C(0x3FFFFFFF); /* bit 30 is the kernel's, for owners that died */

_Static_assert(ILK_MUTEX_FORKS == ILK__FORMER_IDS, "what the header says is what is remembered");

void ilk_mutex_init(ilk_mutex *mutex, bool priority_inheritance) {
    /* MX1 relaxed: not shared yet. */
    ilk_atomic_store(&mutex->word, 0, memory_order_relaxed);
    mutex->inherits = priority_inheritance && ilk__mutex_can_inherit();
}

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

static ilk_status wait_for_free(ilk_mutex *mutex, uint32_t self, uint64_t deadline_ns) {
    uint32_t take_with = self;
    for (;;) {
        uint32_t seen = take_free(mutex, take_with);
        if (seen == 0) {
            return ILK_OK;
        }
        /* MX4 relaxed: publishes only the wake request; MX3 reads it, both being read-modify-writes. */
        if ((seen & MUTEX_SLEEPERS) == 0 &&
            !ilk_atomic_compare_exchange(&mutex->word, &seen, seen | MUTEX_SLEEPERS, memory_order_relaxed,
                                         memory_order_relaxed)) {
            continue;
        }
        ilk_status status = ilk_park_wait(&mutex->word, seen | MUTEX_SLEEPERS, deadline_ns);
        take_with = self | MUTEX_SLEEPERS;
        if (status == ILK_TIMEDOUT) {
            return take_free(mutex, take_with) == 0 ? ILK_OK : ILK_TIMEDOUT;
        }
    }
}

/* `seen`: what it held when it was not free. */
static ILK_NOINLINE ilk_status lock_taken(ilk_mutex *mutex, uint32_t self, uint32_t seen,
                                          uint64_t deadline_ns, const char *call) {
    for (int probe = 0; seen != 0; probe++) {
        if (names_me(seen, self)) {
            ilk__misuse(call, mutex, "locked again by its owner, thread %u", (unsigned)self);
        }
        if (probe == ILK__SPIN_MUTEX.probes || (seen & MUTEX_SLEEPERS) != 0) {
            return mutex->inherits ? ilk__mutex_inherit_lock(&mutex->word, deadline_ns)
                                   : wait_for_free(mutex, self, deadline_ns);
        }
        ilk__spin_pause(ILK__SPIN_MUTEX, probe);
        seen = take_free(mutex, self);
    }
    return ILK_OK;
}

static ilk_status lock_by(ilk_mutex *mutex, uint64_t deadline_ns, const char *call) {
    uint32_t self = ilk__thread_id();
    uint32_t seen = take_free(mutex, self);
    /* A call of its own: a free mutex is taken without saving registers. */
    return seen == 0 ? ILK_OK : lock_taken(mutex, self, seen, deadline_ns, call);
}

void ilk_mutex_lock(ilk_mutex *mutex) {
    (void)lock_by(mutex, ILK_FOREVER, "ilk_mutex_lock");
}

bool ilk_mutex_try_lock(ilk_mutex *mutex) ILK_NONBLOCKING {
    return take_free(mutex, ilk__thread_id()) == 0;
}

ilk_status ilk_mutex_lock_until(ilk_mutex *mutex, uint64_t deadline_ns) {
    return lock_by(mutex, deadline_ns, "ilk_mutex_lock_until");
}

/* `seen`: what it holds beside the caller's id. */
static ILK_NOINLINE void unlock_marked(ilk_mutex *mutex, uint32_t self, uint32_t seen) {
    if (!names_me(seen, self)) {
        ilk__misuse("ilk_mutex_unlock", mutex, "thread %u does not own it; thread %u does (0: nobody)",
                    (unsigned)self, (unsigned)(seen & MUTEX_OWNER));
    }
    if (mutex->inherits && (seen & MUTEX_OWNER) == self) {
        ilk__mutex_inherit_unlock(&mutex->word);
        return;
    }
    const bool inherits = mutex->inherits;
    ilk_atomic_exchange(&mutex->word, 0, memory_order_release); /* MX3 */
    if (inherits) {
        ilk__mutex_inherit_former_gone();
    } else {
        ilk_park_wake(&mutex->word, 1);
    }
}

void ilk_mutex_unlock(ilk_mutex *mutex) {
    uint32_t self = ilk__thread_id();
    uint32_t seen = self;
    /* MX3 release, pairs with MX2. The last touch. */
    if (!ilk_atomic_compare_exchange(&mutex->word, &seen, 0, memory_order_release, memory_order_relaxed)) {
        unlock_marked(mutex, self, seen);
    }
}
