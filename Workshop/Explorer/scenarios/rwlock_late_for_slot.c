/* SPDX-License-Identifier: Apache-2.0
 *
 * A writer whose time is up while a reader is in its slot, beside waiters that it has held back: it lets them in,
 * though the slot is still held.
 *
 *   holder                  writer                  reader
 *     slot = lock
 *                             WRITER; sleeps for
 *                             the slot
 *                                                     sees WRITER, and queues
 *                             late: gives WRITER up,
 *                             and lets the reader in
 *                                                     reads
 *     leaves the slot then
 * If the reader is not let in, none of the three ever goes on.
 */
#include "rwlock_data.h"

static ILK_ATOMIC(uint32_t) has_read;

static void start_without_reads(uint32_t word) {
    start_in(word, true);
    ilk_atomic_store(&has_read, 0, memory_order_relaxed);
}
static void fenced(void) {
    start_without_reads(ILK__RWLOCK_SLOTS);
}
static void fence_free(void) {
    start_without_reads(ILK__RWLOCK_SLOTS | ILK__RWLOCK_FENCE_FREE);
}

static void await_read(void) {
    while (ilk_atomic_load(&has_read, memory_order_relaxed) == 0) {
        ilk_cpu_relax();
    }
}

static void hold_until_read(void) {
    have_block();
    ilk_rwlock_read_lock(&s.lock);
    const uint32_t seen = value();
    await_read();
    ex_expect(value() == seen, "a write came in beside a reader in its slot");
    ilk_rwlock_read_unlock(&s.lock);
}

static void read_and_tell(void) {
    read();
    ilk_atomic_store(&has_read, 1, memory_order_relaxed);
}

static void upgrade_until(void) {
    have_block();
    ilk_rwlock_upgradable_lock(&s.lock);
    if (ilk_rwlock_upgrade_until(&s.lock, SOON) == ILK_OK) {
        change();
        ilk_rwlock_write_unlock(&s.lock);
    } else {
        await_read(); /* upgradable, it holds no reader back */
        ilk_rwlock_upgradable_unlock(&s.lock);
    }
}

#define LATE(mode, call)                                                                                     \
    EX_SCENARIO(mode##_##call) {                                                                             \
        .name = "rwlock-late-for-slot-" #mode "-" #call,                                                     \
        .claim = "a writer that is late for a reader in its slot lets those in that it held back",           \
        .setup = mode, .threads = {hold_until_read, call, read_and_tell},                                    \
        .titles = {"holder", "writer", "reader"}, .check = check, .timeouts = 1, .sc_bound = 2               \
    }
LATE(fenced, write_until);
LATE(fenced, upgrade_until);
LATE(fence_free, write_until);
LATE(fence_free, upgrade_until);

EX_MUST_REACH(states){
    {"rwlock-late-for-slot-*",
     {EX_LOCK_LATE_FOR_SLOT, EX_LOCK_LATE_FOR_SLOT_BESIDE_WAITERS, EX_LOCK_READER_WAITS, EX_LOCK_TO_READERS,
      EX_SLOT_WRITER_SLEEPS}},
};

EX_CANNOT_REACH(no_states){
    {"rwlock-late-for-slot-*-write_until", {EX_LOCK_TO_EXCLUSIVE, EX_LOCK_WRITER_WAITS}},
};
