/* SPDX-License-Identifier: Apache-2.0
 *
 * Spin-then-park: how long a thread probes a word before it sleeps in the kernel. Sleeping and waking cost
 * microseconds on both sides, and the other thread is often halfway through. Every wait of the core takes its
 * limits from this table; each policy names the benchmark that chose it.
 *
 * Source: Karlin, Li, Manasse, Owicki, "Empirical studies of competitive spinning for a shared-memory
 * multiprocessor", SOSP 1991.
 */
#ifndef INTERLOCK_WAIT_SPIN_H
#define INTERLOCK_WAIT_SPIN_H

#include "platform/yield.h"
#include <interlock/inline/atomic.h>
#include <interlock/inline/attributes.h>
#include <stdbool.h>
#include <stdint.h>

/* The explorer makes every limit one probe and every pause one instruction: a longer spin that finds nothing repeats a
 * short one, and hides the paths behind it. */
#ifndef ILK__SPIN_PROBES
#define ILK__SPIN_PROBES(count) (count)
#define ILK__SPIN_PAUSES(count) (count)
#endif

struct ilk__spin_policy {
    int probes; /* before parking */
    int paused; /* of those, followed by a pause; the later ones yield the core, which the thread waited for may need */
    int shortest_pause; /* in pause instructions: the first */
    int longest_pause;  /* pauses double up to it */
};

/* Before a thread joins a lock's queue. A probe takes the line from the thread that works: from the first pause on the
 * others do some ten calls undisturbed. Few pauses, for beside more threads than cores a yield serves better. bench
 * rwlock, 10 to 100 % writes. */
#define ILK__SPIN_RWLOCK ((struct ilk__spin_policy){ILK__SPIN_PROBES(38), 6, 16, 128})
/* In the lock's queue: about what waking a sleeper takes. bench rwlock, waits. */
#define ILK__SPIN_QUEUED ((struct ilk__spin_policy){ILK__SPIN_PROBES(400), 400, 1, 1})
/* A writer that waits for readers to leave their slots: once for all of them. bench rwlock, writer latency. */
#define ILK__SPIN_READER_SLOT ((struct ilk__spin_policy){ILK__SPIN_PROBES(288), 256, 1, 1})
/* Before a thread joins a semaphore's empty queue: about what waking a sleeper takes. With fewer probes a
 * queue forms behind every hand-over, and each is a wake-up; with more, or with yields, a thread could be
 * overtaken for long before it queues. bench mutex. */
#define ILK__SPIN_SEMAPHORE ((struct ilk__spin_policy){ILK__SPIN_PROBES(40), 40, 1, 32})
/* It guards some twenty instructions. bench rwlock, 50 % writes. */
#define ILK__SPIN_QUEUE_LOCK ((struct ilk__spin_policy){ILK__SPIN_PROBES(40), 40, 1, 1})
/* Ends most short critical sections. bench mutex. */
#define ILK__SPIN_MUTEX ((struct ilk__spin_policy){ILK__SPIN_PROBES(64), 64, 1, 1})
/* On as many cores as parties the others are nearly there. The mutex's figure; no benchmark chose it. */
#define ILK__SPIN_BARRIER ((struct ilk__spin_policy){ILK__SPIN_PROBES(64), 64, 1, 1})
/* A side of a ring that finds nothing: 10 us, long enough for two sides that sleep in turn to meet awake
 * again. No yields: beside a busy thread the kernel takes the rest of a time slice for each (docs/rings.md has
 * the table). bench rings, blocking. */
#define ILK__SPIN_RING ((struct ilk__spin_policy){ILK__SPIN_PROBES(400), 400, 1, 1})
/* A worker without a job: the next one often comes at once. bench pool. */
#define ILK__SPIN_POOL ((struct ilk__spin_policy){ILK__SPIN_PROBES(60), 60, 1, 16})

/* After probe number `probe`, from 0. */
static inline void ilk__spin_pause(struct ilk__spin_policy policy, int probe) {
    if (probe >= policy.paused) {
        ilk__thread_yield();
        return;
    }
    const int doubled = probe < 16 ? policy.shortest_pause << probe : policy.longest_pause;
    const int longest = policy.longest_pause;
    for (int pauses = ILK__SPIN_PAUSES(doubled < longest ? doubled : longest); pauses > 0; pauses--) {
        ilk_cpu_relax();
    }
}

/* Adaptive spinning: a ring that is fed slowly would burn its spin for every element. So after a few failed
 * spins in a row a side parks at once, but for a trial every sixteenth wait. bench rings, blocking. */
enum { ILK__MOST_FAILED_SPINS = 4, ILK__WAITS_BETWEEN_SPINS = 16 };

static inline int ilk__spin_probes(struct ilk__spin_policy policy, uint32_t failed_spins) {
    const bool spins = failed_spins < ILK__MOST_FAILED_SPINS || failed_spins % ILK__WAITS_BETWEEN_SPINS == 0;
    return spins ? policy.probes : 0;
}

/* After a spin that succeeded. A trial earns one more: it may have been luck. */
static inline uint32_t ilk__spin_succeeded(uint32_t failed_spins) {
    return failed_spins < ILK__MOST_FAILED_SPINS ? 0 : ILK__MOST_FAILED_SPINS - 1;
}

#endif
