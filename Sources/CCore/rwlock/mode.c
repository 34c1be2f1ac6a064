/* SPDX-License-Identifier: Apache-2.0
 *
 * The choice of a lock's mode (docs/rwlock.md). All figures are clock ticks (the processor's counter) or
 * counts. Slots are tried, not foreseen: a writer's probe shows what they cost it.
 *
 * lock->mode_state:
 *   bits 0 to 23   with slots: writes since it took them up, wrapping; without: fillings of the read samples
 *                  before the next trial
 *   bits 24 to 27  with slots: the penalty, which costly probes raise and cheap ones lower
 *   bits 28 to 31  failed trials in a row, saturating; all set: the lock is plain, and has no slots ever
 */
#include "rwlock/mode.h"

#include "platform/clock.h"
#include "platform/reaches.h"
#include "rwlock/reader_slots.h"
#include <interlock/inline/fence.h>

#define STATE_ONE_PENALTY UINT32_C(0x01000000)
#define STATE_ONE_FAILURE UINT32_C(0x10000000)

/* Each constant names the cell of scripts/ablate, which is one of bench rwlock, in which it decides, or that it has
 * none. docs/ablations.md has what half and twice of it do. */

/* Fillings of the read samples after the first failed trial, doubling with each: bench rwlock, 2 threads, 50
 * %. */
enum { SAMPLES_TO_SIT_OUT = 32 };
/* The longest rest is 16,384 fillings. No cell: in the one above a lock fails about four times. */
enum { MOST_FAILURES = 9 };
/* A costly probe outweighs four cheap ones, and two in a row decide: one may be luck (an interrupt, a late
 * reader), and even with readers in the way a writer often meets none. A trial begins with a penalty: its
 * first probes come soon. bench rwlock, 2 threads, 10 % and 50 %. */
enum { PENALTY_OF_A_COSTLY_PROBE = 4, PENALTY_TO_LEAVE = 8, INITIAL_PENALTY = 2 };
/* A drain this short found no other reader's cache line: bench rwlock, 1 thread, 50 %. */
enum { QUIET_DRAIN_TICKS = 160 };
/* More between a thread's probes: the count of 16 bits may have wrapped. A bound, so without a cell. */
enum { MOST_WRITES = 1 << 14 };
/* If several threads read, and less than this, their slots' cache lines cost writers more than the word's costs all:
 * bench rwlock, 2 threads, 50 %. */
enum { READS_PER_WRITE = 4 };
/* Saved by a read in a slot over a counted one beside other readers: bench rwlock, 2 threads,
 * 10 %. */
enum { READ_GAIN_TICKS = 16 };
/* The reader's fence: bench rwlock, 2 threads, 1 % (a fence-free lock could pay) and 10 % (none could). */
enum { FENCE_TICKS = 3 };
/* At least, for a fence-free lock: bench rwlock, 2 threads, --writes 0.001. */
enum { MEMBARRIERS_BETWEEN_WRITES = 16 };
/* Measurements of the membarrier, by questions whether the fence pays: bench rwlock, 2 threads, 0.1 %. */
enum { WRAPS_PER_MEASUREMENT = 8 };
/* A shorter membarrier found no other thread running: it makes no writer late. bench rwlock, 2 threads,
 * 0.1 %. */
enum { CHEAP_MEMBARRIER_TICKS = 4000 };
/* Without a write; then the next writer may be late once. bench rwlock, 2 threads, 0 %. */
enum { READS_ALONE = 1 << 18 };

/* What a membarrier took lately; 0 before the first. */
static ILK_ATOMIC(uint32_t) membarrier_ticks;
static ILK_ATOMIC(uint32_t) questions;

static uint32_t load(ILK_ATOMIC(uint32_t) * figure) {
    /* RG1 relaxed: guesses; nothing is read on the strength of them. */
    return ilk_atomic_load(figure, memory_order_relaxed);
}

static void store(ILK_ATOMIC(uint32_t) * figure, uint32_t value) {
    ilk_atomic_store(figure, value, memory_order_relaxed); /* RG1 */
}

static uint32_t failures_of(uint32_t state) {
    return state / STATE_ONE_FAILURE;
}

bool ilk__mode_wants_slots(ilk_rwlock *lock) {
    if ((uint64_t)(uintptr_t)lock >> ILK__SLOT_ADDRESS_BITS != 0) {
        return false;
    }
    uint32_t state = load(&lock->mode_state);
    if ((state & ILK__MODE_COUNT) == 0) {
        store(&lock->mode_state, (state & ~ILK__MODE_PENALTY) | INITIAL_PENALTY * STATE_ONE_PENALTY);
        return true;
    }
    store(&lock->mode_state, state - 1);
    return false;
}

static void take_sample(const ilk_rwlock *lock, struct ilk__slot_sample *sample) {
    sample->tag = (uint32_t)((uintptr_t)lock >> 3);
    sample->writes = (uint16_t)ilk_atomic_load(&lock->mode_state, memory_order_relaxed); /* RG1 */
    sample->mine = (uint16_t)ilk__slots_uses_of(ilk__my_slots(), lock);
    sample->uses = ilk__slots_uses(lock);
    sample->ticks = (uint32_t)(ilk__clock_ticks() >> 4);
}

/* Counts start anew now and then: a later one may be smaller. */
static uint32_t growth(uint32_t before, uint32_t after) {
    uint32_t difference = after - before;
    return difference <= INT32_MAX ? difference : 0;
}

static void remember_membarrier(uint32_t ticks) {
    uint32_t before = load(&membarrier_ticks);
    store(&membarrier_ticks, before == 0 ? ticks : before - before / 4 + ticks / 4);
}

static bool wants_fence_free(ilk_rwlock *lock, struct ilk__slot_block *block) {
    if (!ilk_atomic_load(&ilk__membarrier_works, memory_order_relaxed)) { /* FN4 */
        return false;
    }
    struct ilk__slot_sample *sample = &block->samples[ilk__rwlock_slot_number(lock)];
    const struct ilk__slot_sample last = *sample;
    struct ilk__slot_sample now;
    take_sample(lock, &now);
    if (last.tag != now.tag) {
        *sample = now;
        return false;
    }
    uint32_t writes = (uint16_t)(now.writes - last.writes);
    uint32_t reads = growth(last.uses, now.uses);
    if (writes == 0) {
        return reads >= READS_ALONE;
    }
    *sample = now;
    const uint64_t gain = (uint64_t)reads * FENCE_TICKS;
    if (writes > gain / 64) {
        return false; /* not even with the cheapest membarrier */
    }
    const uint32_t question = load(&questions);
    store(&questions, question + 1);
    if (question % WRAPS_PER_MEASUREMENT == 0) {
        uint64_t start = ilk__clock_ticks();
        ilk__fence_heavy();
        remember_membarrier((uint32_t)(ilk__clock_ticks() - start));
    }
    uint32_t ticks = load(&membarrier_ticks);
    return ticks < CHEAP_MEMBARRIER_TICKS && (uint64_t)writes * ticks < gain / 4;
}

/* RW17 relaxed: opens slots to readers, or lets them leave the fence out; they recheck the word (RW11) once
 * in. Lost to a change of the word: another reader will try. */
static void change_mode(ilk_rwlock *lock, uint32_t from, uint32_t to) ILK_NONBLOCKING {
    if (ilk_atomic_compare_exchange(&lock->word, &from, to, memory_order_relaxed,
                                    memory_order_relaxed)) { /* RW17 */
        ILK__REACHES(MODE_TO_FENCE_FREE, (to & ~from & ILK__RWLOCK_FENCE_FREE) != 0);
        ILK__REACHES(MODE_TO_SLOTS, (to & ~from & ILK__RWLOCK_SLOTS) != 0);
    }
}

/* Decisions about the fence: bench rwlock, 2 threads, 0 %. */
enum { FULL_SLOTS_PER_DECISION = 64 };

void ilk__mode_decide(ilk_rwlock *lock) {
    uint32_t word = ilk__rwlock_probe(lock);
    /* Plain; or fresh, where this thread sees OBSERVED down sooner than freshness: nothing to count down from. */
    const bool stays_central = load(&lock->mode_state) >= ILK__MODE_PLAIN;
    if ((word & ILK__RWLOCK_KEEPS_READERS_OUT) != 0 || stays_central) {
        return;
    }
    if (ilk__slots_mine(true) == NULL) {
        ilk__slots_check_table(lock);
        return;
    }
    const uint32_t visits = ilk__slots_visit(lock);
    if (visits != 0 && visits % FULL_SLOTS_PER_DECISION == 0 &&
        (word & ILK__RWLOCK_READ_PATH) == ILK__RWLOCK_SLOTS && wants_fence_free(lock, ilk__my_slots())) {
        change_mode(lock, word, word | ILK__RWLOCK_FENCE_FREE);
    }
    /* If slots are not wanted, the next read starts the read samples anew. */
    if ((word & ILK__RWLOCK_SLOTS) == 0 && (word & ILK__RWLOCK_READ_SAMPLES) == ILK__RWLOCK_READ_SAMPLES &&
        ilk__mode_wants_slots(lock)) {
        change_mode(lock, word, (word & ~ILK__RWLOCK_READ_SAMPLES) | ILK__RWLOCK_SLOTS);
    }
}

/* Several threads read in slots, all too little. */
static bool is_shared_and_written(const struct ilk__slot_sample *last, const struct ilk__slot_sample *now) {
    uint32_t writes = (uint16_t)(now->writes - last->writes);
    uint32_t reads = growth(last->uses, now->uses);
    uint32_t mine = (uint16_t)(now->mine - last->mine);
    return reads < writes * READS_PER_WRITE && mine < reads - reads / 8;
}

/* Were the reads since the writer's last probe worth the probes? */
static bool reads_pay(const struct ilk__slot_sample *last, const struct ilk__slot_sample *now,
                      uint32_t drained_in) {
    uint32_t writes = (uint16_t)(now->writes - last->writes);
    uint32_t reads = growth(last->uses, now->uses);
    return (uint64_t)reads * READ_GAIN_TICKS >= (uint64_t)writes * drained_in;
}

static uint32_t state_after_failure(uint32_t state) {
    uint32_t failures = failures_of(state);
    uint32_t more = failures < MOST_FAILURES ? failures + 1 : failures;
    return more * STATE_ONE_FAILURE + ((uint32_t)SAMPLES_TO_SIT_OUT << failures);
}

uint32_t ilk__mode_to_leave(ilk_rwlock *lock, uint32_t word, uint32_t paid, uint32_t drained_in) {
    struct ilk__slot_block *block = ilk__slots_mine(true);
    if (block == NULL) {
        return 0;
    }
    struct ilk__slot_sample *sample = &block->samples[ilk__rwlock_slot_number(lock)];
    const struct ilk__slot_sample last = *sample;
    take_sample(lock, sample);
    uint32_t writes = (uint16_t)(sample->writes - last.writes);
    if (last.tag != sample->tag || writes == 0 || writes > MOST_WRITES) {
        return 0;
    }
    if ((word & ILK__RWLOCK_FENCE_FREE) != 0) {
        remember_membarrier(paid);
        uint64_t ticks = (uint64_t)(sample->ticks - last.ticks) << 4;
        ILK__REACHES(MODE_FROM_FENCE_FREE, ticks < (uint64_t)writes * paid * MEMBARRIERS_BETWEEN_WRITES);
        return ticks < (uint64_t)writes * paid * MEMBARRIERS_BETWEEN_WRITES ? ILK__RWLOCK_FENCE_FREE : 0;
    }
    uint32_t state = load(&lock->mode_state);
    uint32_t penalty = (state & ILK__MODE_PENALTY) / STATE_ONE_PENALTY;
    bool bad = is_shared_and_written(&last, sample);
    if (!bad && reads_pay(&last, sample, drained_in)) {
        state &= ILK__MODE_COUNT;
    } else if (!bad && drained_in < QUIET_DRAIN_TICKS) {
        state -= penalty > 0 ? STATE_ONE_PENALTY : 0;
    } else if (penalty + PENALTY_OF_A_COSTLY_PROBE < PENALTY_TO_LEAVE) {
        state += PENALTY_OF_A_COSTLY_PROBE * STATE_ONE_PENALTY;
    } else {
        store(&lock->mode_state, state_after_failure(state));
        ILK__REACHES(MODE_FROM_SLOTS, true);
        return ILK__RWLOCK_MODE;
    }
    store(&lock->mode_state, state);
    return 0;
}
