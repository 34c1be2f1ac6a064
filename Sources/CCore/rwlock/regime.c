/* SPDX-License-Identifier: Apache-2.0
 *
 * The choice of a lock's regime. All figures are clock ticks (the processor's counter) or counts; every
 * constant says which benchmark chose it. lock->regime_note holds, for a lock with slots, the number of
 * writes since it took them up; for one without, how many full tallies to let pass before it takes them
 * up again.
 */
#include "rwlock/regime.h"

#include "rwlock/slots.h"
#include "threads/clock.h"
#include <interlock/inline/fence.h>

/* Between two looks at a fenced lock by its writers. A power of two. */
enum { WRITES_PER_LOOK = 16 };
/* Full tallies that a lock sits out after its slots did not pay: bench rwlock, 2 threads, 10 %. */
enum { TALLIES_TO_SIT_OUT = 16 };
/* A drain this short found no other reader's line: bench rwlock, 1 thread. */
enum { QUIET_DRAIN_TICKS = 160 };
/* Ticks that a read in a slot saves over a counted one while others read too: bench rwlock, 2 threads. */
enum { READ_GAIN_TICKS = 16 };
/* Ticks that the reader's fence costs: bench rwlock, reads only. */
enum { FENCE_TICKS = 3 };
/* A fence-free lock's writes must lie this many membarriers apart. */
enum { MEMBARRIERS_BETWEEN_WRITES = 16 };
/* Wraps of a slot's uses between two measurements of the membarrier. */
enum { WRAPS_PER_MEASUREMENT = 8 };

/* What a membarrier took lately, in ticks; 0 before the first. */
static ILK_ATOMIC(uint32_t) membarrier_ticks;
static ILK_ATOMIC(uint32_t) wraps;

static uint32_t load(ILK_ATOMIC(uint32_t) * figure) {
    /* RG1 relaxed: guesses; nothing is read on the strength of them. */
    return ilk_atomic_load(figure, memory_order_relaxed);
}

static void store(ILK_ATOMIC(uint32_t) * figure, uint32_t value) {
    ilk_atomic_store(figure, value, memory_order_relaxed); /* RG1 */
}

bool ilk__regime_wants_slots(ilk_rwlock *lock) {
    uint32_t to_sit_out = load(&lock->regime_note);
    if (to_sit_out == 0) {
        return true;
    }
    store(&lock->regime_note, to_sit_out - 1);
    return false;
}

bool ilk__regime_counts_write(ilk_rwlock *lock) {
    uint32_t writes = load(&lock->regime_note) + 1;
    store(&lock->regime_note, writes);
    return writes % WRITES_PER_LOOK == 0;
}

static void take_sample(const ilk_rwlock *lock, struct ilk__slot_sample *sample) {
    sample->tag = (uint32_t)((uintptr_t)lock >> 3);
    sample->writes = ilk_atomic_load(&lock->regime_note, memory_order_relaxed); /* RG1 */
    sample->uses = ilk__slots_uses(lock);
    sample->ticks = (uint32_t)(ilk__clock_ticks() >> 4);
}

static void remember_membarrier(uint32_t ticks) {
    uint32_t before = load(&membarrier_ticks);
    store(&membarrier_ticks, before == 0 ? ticks : before - before / 4 + ticks / 4);
}

bool ilk__regime_wants_fence_free(ilk_rwlock *lock, struct ilk__slot_block *block) {
    if (!ilk_atomic_load(&ilk__membarrier_works, memory_order_relaxed)) { /* FN4 */
        return false;
    }
    struct ilk__slot_sample *sample = &block->samples[ilk__rwlock_slot_number(lock)];
    const struct ilk__slot_sample last = *sample;
    take_sample(lock, sample);
    if (last.tag != sample->tag) {
        return false;
    }
    uint32_t since = sample->writes - last.writes;
    if (since == 0) {
        return true;
    }
    const uint64_t gain = (uint64_t)(sample->uses - last.uses) * FENCE_TICKS;
    if (since > gain / 64) {
        return false; /* not even with the cheapest of membarriers */
    }
    uint32_t wrap = load(&wraps);
    store(&wraps, wrap + 1);
    if (wrap % WRAPS_PER_MEASUREMENT == 0) {
        uint64_t start = ilk__clock_ticks();
        ilk__fence_heavy();
        remember_membarrier((uint32_t)(ilk__clock_ticks() - start));
    }
    return (uint64_t)since * load(&membarrier_ticks) < gain / 4;
}

uint32_t ilk__regime_to_leave(ilk_rwlock *lock, uint32_t word, uint32_t paid, uint32_t drained_in) {
    struct ilk__slot_block *block = ilk__slots_mine(true);
    if (block == NULL) {
        return 0;
    }
    struct ilk__slot_sample *sample = &block->samples[ilk__rwlock_slot_number(lock)];
    const struct ilk__slot_sample last = *sample;
    take_sample(lock, sample);
    uint32_t writes_since = sample->writes - last.writes;
    if (last.tag != sample->tag || writes_since == 0) {
        return 0;
    }
    if ((word & ILK__RWLOCK_FENCE_FREE) != 0) {
        remember_membarrier(paid);
        uint64_t ticks_per_write = ((uint64_t)(sample->ticks - last.ticks) << 4) / writes_since;
        return ticks_per_write < (uint64_t)paid * MEMBARRIERS_BETWEEN_WRITES ? ILK__RWLOCK_FENCE_FREE : 0;
    }
    if (drained_in < QUIET_DRAIN_TICKS) {
        return 0;
    }
    uint32_t reads = sample->uses - last.uses;
    bool pays = (uint64_t)reads * READ_GAIN_TICKS >= (uint64_t)writes_since * drained_in;
    if (pays) {
        return 0;
    }
    store(&lock->regime_note, TALLIES_TO_SIT_OUT);
    return ILK__RWLOCK_REGIME;
}
