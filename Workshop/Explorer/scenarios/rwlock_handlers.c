/* SPDX-License-Identifier: Apache-2.0
 *
 * A signal handler that uses locks between any two steps of a call: it may read under another lock than the one it
 * has interrupted a call on, and try any. Only where the park layer is the futex: the other promises handlers nothing.
 */
/* contract: rwlock.C */
#include "rwlock_data.h"

#if !defined(ILK_PARK_BACKEND_PTHREAD)

static ilk_rwlock other;

/* No thread has a block yet; one did. */
static void setup(void) {
    start_in(ILK__RWLOCK_SLOTS, false);
    memset(blocks, 0, BLOCKS * sizeof *blocks);
    ilk__slot_table_2.block_count = 1;
    other = (ilk_rwlock){.word = ILK__RWLOCK_SLOTS};
}

static void read_other(void) {
    ilk_rwlock_read_lock(&other);
    ilk_rwlock_read_unlock(&other);
}

/* A second one would be taken for good: at its end the thread gives back what it knows of. */
static void check_blocks(void) {
    check_idle();
    for (unsigned index = 0; index < BLOCKS; index++) {
        ex_expect(blocks[index].taken == 0, "block %u is taken by a thread that has ended", index);
    }
}

#define HANDLER(identifier, first, second)                                                                   \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "rwlock-handler-in-" #first "-" #second,                                                     \
        .claim = "a thread has one block of slots, though its handler takes it", .setup = setup,             \
        .threads = {first, second}, .titles = {#first, #second}, .check = check_blocks,                      \
        .handler = read_other                                                                                \
    }

HANDLER(handler_read, read, write);
HANDLER(handler_write, write, read);
HANDLER(handler_read_read, read, read);

/* ---- Try calls on the lock itself ---- */

static void try_both(void) {
    if (ilk_rwlock_try_read_lock(&s.lock)) {
        ilk_rwlock_read_unlock(&s.lock);
    }
    if (ilk_rwlock_try_write_lock(&s.lock)) {
        ilk_rwlock_write_unlock(&s.lock);
    }
}
#define TRIES(mode, first, second)                                                                           \
    EX_SCENARIO(mode##_##first##_##second) {                                                                 \
        .name = "rwlock-handler-tries-" #mode "-" #first "-" #second,                                        \
        .claim = "whatever a handler's try calls interrupt, they leave no share behind", .setup = mode,      \
        .threads = {first, second}, .titles = {#first, #second}, .check = check_idle, .handler = try_both    \
    }
#define TRIES_IN(mode, word)                                                                                 \
    static void mode(void) {                                                                                 \
        start_in(word, true);                                                                                \
    }                                                                                                        \
    TRIES(mode, read, write);                                                                                \
    TRIES(mode, write, read);                                                                                \
    TRIES(mode, try_read, write);                                                                            \
    TRIES(mode, read_until, write);                                                                          \
    TRIES(mode, write_until, read);                                                                          \
    TRIES(mode, upgradable, write)

TRIES_IN(central, 0);
TRIES_IN(fenced, ILK__RWLOCK_SLOTS);
TRIES_IN(fence_free, ILK__RWLOCK_SLOTS | ILK__RWLOCK_FENCE_FREE);

/* ---- A further read of a lock that leaves slots ---- */

/* The next writer decides the mode: its probe of the slots took long, and no thread reads. */
static void about_to_leave_slots(void) {
    start_in(ILK__RWLOCK_SLOTS, true);
    s.lock.mode_state = UINT32_C(7) << 24 | 31;
    for (unsigned index = 0; index < BLOCKS; index++) {
        blocks[index].samples[ilk__rwlock_slot_number(&s.lock)].tag = (uint32_t)((uintptr_t)&s.lock >> 3);
    }
}

/*   reader                      its handler                   writer
 *     sees SLOTS
 *                                                               WRITER; no slot names the lock: SLOTS down
 *     slot = lock
 *                                 slot names the lock:
 *                                 1 further
 *                                                               gives WRITER up
 *                                 neither WRITER nor SLOTS
 *                                                               writes again, and looks at no slot
 * Must not happen: the handler reads. */
static void try_to_see(void) {
    if (ilk_rwlock_try_read_lock(&s.lock)) {
        value();
        ilk_rwlock_read_unlock(&s.lock);
    }
}
EX_SCENARIO(leaving_slots){
    .name = "rwlock-handler-sees-about_to_leave_slots",
    .claim = "a further read is let in by slots that writers look at",
    .setup = about_to_leave_slots,
    .threads = {read, write_twice},
    .titles = {"reader", "writer"},
    .check = check_idle,
    .handler = try_to_see,
    .weight = 32, /* a planted fault needs a dozen switches */
};

/*   reader                      its handler                   writer
 *     sees FENCE_FREE
 *                                                               a heavy fence; FENCE_FREE down
 *     slot = lock, unfenced
 *                                 slot names the lock:
 *                                 1 further; the word           WRITER, with its own fence alone; the slot
 * Must not happen: the handler sees no WRITER, and the writer no slot. It begins with the reader's store: from the
 * first line too few schedules come so far. */
static void announce_unfenced_and_handle(void) {
    have_block();
    ilk__read_section section = {ilk__my_slots(), ilk__rwlock_slot_number(&s.lock)};
    /* RW15 release, pairs with RW13: as ilk__rwlock_try_read_fast stores it. */
    ilk_atomic_store(&section.block->slots[section.number], ilk__slot_announcement(&s.lock),
                     memory_order_release);
    try_to_see();
    ex_assert(!ilk__rwlock_leave_slot(&section));
}
EX_SCENARIO(fenced_since){
    .name = "rwlock-handler-sees-fenced_since",
    .claim = "a further read is announced with a fence of its own",
    .setup = fenced,
    .threads = {announce_unfenced_and_handle, write},
    .titles = {"reader", "writer"},
    .check = check_idle,
};

/* What the handler has read is read before a writer comes in, though its thread may not stay. */
#define SEES(mode)                                                                                           \
    EX_SCENARIO(mode##_sees) {                                                                               \
        .name = "rwlock-handler-sees-" #mode, .claim = "no writer comes in beside a read of a handler's",    \
        .setup = mode, .threads = {read, write}, .titles = {"reader", "writer"}, .check = check_idle,        \
        .handler = try_to_see                                                                                \
    }
SEES(central);
SEES(fenced);
SEES(fence_free);

EX_MUST_REACH(states){
    {"rwlock-handler-sees-about_to_leave_slots", {EX_MODE_FROM_SLOTS}},
    {"rwlock-handler-sees-fenced_since", {EX_SLOT_READ_FURTHER, EX_SLOT_FURTHER_REFUSED}},
    {"rwlock-handler-in-* rwlock-handler-tries-* rwlock-handler-sees-about_to_leave_slots", {EX_HANDLER_RAN}},
    {"rwlock-handler-sees-central rwlock-handler-sees-fence_free rwlock-handler-sees-fenced",
     {EX_HANDLER_RAN}},
    {"rwlock-handler-in-*", {EX_SLOT_BLOCK_FREED}},
    {"rwlock-handler-tries-fence*read*-write", {EX_SLOT_READ_FURTHER, EX_SLOT_FURTHER_REFUSED}},
};

#endif
