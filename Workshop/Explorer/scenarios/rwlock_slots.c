/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_rwlock in its reader modes with slots: every pair of calls that can meet, fenced and fence-free, with
 * and without membarrier, and across every change of mode. The lock starts in the mode under test, and every
 * thread has its block of reader slots; read_first adds one.
 */
/* contract: rwlock.C, rwlock.D */
#include "rwlock_data.h"
#include <interlock/inline/read_section.h>
#include <platform/exit.h>
#include <rwlock/reader_slots.h>

/* Among so many adjacent locks, one shares its slot with the first. */
enum { LOCKS = 32 };

static ilk_rwlock others[LOCKS]; /* in the same mode */

static void start_all_in(uint32_t word) {
    start_in(word, true);
    memset(others, 0, sizeof others);
    for (unsigned index = 0; index < LOCKS; index++) {
        others[index].word = word;
    }
}

/* The next thread without a block adds a chunk. */
static void fenced_in_full_table(void) {
    start_all_in(ILK__RWLOCK_SLOTS);
    for (unsigned index = 0; index < ILK__CHUNK_BLOCKS; index++) {
        blocks[index].taken = 1;
    }
    ilk__slot_table_2.block_count = ILK__CHUNK_BLOCKS;
}

/* One free block, which two threads may claim. */
static void fenced_with_a_free_block(void) {
    start_all_in(ILK__RWLOCK_SLOTS);
    blocks[0].taken = 0; /* have_block() gives the others */
}

/* Threads have blocks and do not use them. */
static void central(void) {
    start_all_in(0);
}

static void fenced(void) {
    start_all_in(ILK__RWLOCK_SLOTS);
}

/* As on a system without membarrier: decided before main. */
static void refuse_membarrier(void) {
    ilk__membarrier_works = false;
    for (unsigned index = 0; index < BLOCKS; index++) {
        blocks[index].drain = ILK__DRAIN_FENCED;
        blocks[index].owner_fences = 1;
    }
}

static void fenced_by_both(void) {
    fenced();
    refuse_membarrier();
}

static void central_by_both(void) {
    central();
    refuse_membarrier();
}

static void fence_free(void) {
    start_all_in(ILK__RWLOCK_SLOTS | ILK__RWLOCK_FENCE_FREE);
}

/* After one more counted read, readers move to slots. */
static void about_to_take_slots(void) {
    start_all_in(ILK__RWLOCK_READ_SAMPLES);
}

/* A reader decides the mode at its slot's next use, and no thread has written: fence-free. */
static void about_to_be_fence_free(void) {
    start_all_in(ILK__RWLOCK_SLOTS);
    size_t number = ilk__rwlock_slot_number(&s.lock);
    for (unsigned index = 0; index < BLOCKS; index++) {
        /* Enough reads without a write, and a decision is due. */
        blocks[index].uses[number] = 1024 * ILK__SLOT_USES_PER_VISIT - 1;
        blocks[index].samples[number].tag = (uint32_t)((uintptr_t)&s.lock >> 3);
    }
}

/* The next writer decides the mode: its probe of the slots took long, and no thread reads. */
static void about_to_leave_slots(void) {
    start_all_in(ILK__RWLOCK_SLOTS);
    s.lock.mode_state = UINT32_C(7) << 24 | 31;
    for (unsigned index = 0; index < BLOCKS; index++) {
        blocks[index].samples[ilk__rwlock_slot_number(&s.lock)].tag = (uint32_t)((uintptr_t)&s.lock >> 3);
    }
}

/* The last write is too recent for a membarrier per write. */
static void about_to_need_fences(void) {
    about_to_leave_slots();
    s.lock.word |= ILK__RWLOCK_FENCE_FREE;
}

static void check_slots_free(void) {
    check_idle();
    for (unsigned index = 0; index < BLOCKS; index++) {
        for (unsigned number = 0; number < ILK__SLOT_COUNT; number++) {
            ex_assert(ilk__slot_is_free(blocks[index].slots[number]));
        }
    }
}

static ilk_rwlock *with_the_same_slot(void) {
    unsigned index = 0;
    while (ilk__rwlock_slot_number(&others[index]) != ilk__rwlock_slot_number(&s.lock)) {
        index++;
        ex_assert(index < LOCKS);
    }
    return &others[index];
}

static ilk_rwlock *with_another_slot(void) {
    unsigned index = 0;
    while (ilk__rwlock_slot_number(&others[index]) == ilk__rwlock_slot_number(&s.lock)) {
        index++;
        ex_assert(index < LOCKS);
    }
    return &others[index];
}

/* A writer that probes late finds another lock's announcement in the slot. */
static void read_and_another(void) {
    read();
    ilk_rwlock *other = with_the_same_slot();
    ilk_rwlock_read_lock(other);
    ilk_rwlock_read_unlock(other);
}

/* Two writers may sleep until the two slots of one block are free. */
static void read_two(void) {
    have_block();
    ilk_rwlock_read_lock(&s.lock);
    ilk_rwlock_read_lock(with_another_slot());
    value();
    ilk_rwlock_read_unlock(&s.lock);
    ilk_rwlock_read_unlock(with_another_slot());
}

static void write_other(void) {
    have_block();
    ilk_rwlock_write_lock(with_another_slot());
    ilk_rwlock_write_unlock(with_another_slot());
}

static void read_inside_another(void) {
    have_block();
    ilk_rwlock *other = with_the_same_slot();
    ilk_rwlock_read_lock(other);
    read();
    ilk_rwlock_read_unlock(other);
}

static void begin_section(ilk__read_section *section) {
    if (!ilk__read_section_try_begin(&s.lock, section)) {
        (void)ilk__read_section_begin_slow(&s.lock, section, ILK_FOREVER);
    }
}

/* As the Swift facade reads, and once more inside: misuse beside a waiting writer. */
static void read_section_and_inside(void) {
    have_block();
    ilk__read_section section, inner;
    begin_section(&section);
    begin_section(&inner);
    value();
    ilk__read_section_end(&s.lock, inner);
    value();
    ilk__read_section_end(&s.lock, section);
}

static void read_section(void) {
    have_block();
    ilk__read_section section;
    begin_section(&section);
    value();
    ilk__read_section_end(&s.lock, section);
}

/* The second read finds a decision due, which does not change the mode. */
static void read_until_due(void) {
    have_block();
    ilk_atomic_store(&ilk__my_slots()->uses[ilk__rwlock_slot_number(&s.lock)], ILK__SLOT_USES_PER_VISIT - 2,
                     memory_order_relaxed);
    read_twice();
}

static void read_first(void) {
    ilk_rwlock_read_lock(&s.lock);
    value();
    ilk_rwlock_read_unlock(&s.lock);
}

/* The parent's readers do not keep the child out. */
static void fork_and_write(void) {
    have_block();
    ex_fork();
    write();
}

static void fork_inside_and_write(void) {
    have_block();
    ilk_rwlock_read_lock(&s.lock);
    ex_fork();
    ex_assert(!ilk_rwlock_try_write_lock(&s.lock));
    value();
    ilk_rwlock_read_unlock(&s.lock);
    write();
}

/* The child has a table to read in, though another thread was adding to it. */
static void fork_and_read_first(void) {
    ex_fork();
    read_first();
    ex_assert(ilk__my_slots() != &ilk__no_slots_2);
    write();
}

static void downgrade(void) {
    have_block();
    ilk_rwlock_write_lock(&s.lock);
    change();
    ilk_rwlock_downgrade(&s.lock);
    value();
    ilk_rwlock_read_unlock(&s.lock);
}

static void upgrade(void) {
    have_block();
    ilk_rwlock_upgradable_lock(&s.lock);
    value();
    ilk_rwlock_upgrade(&s.lock);
    change();
    ilk_rwlock_write_unlock(&s.lock);
}

/* The thread's block goes back while a writer probes it. */
static void read_and_end(void) {
    read_first();
}

#define PAIR(mode, first, second, refuse)                                                                    \
    EX_SCENARIO(mode##_##first##_##second##_##refuse) {                                                      \
        .name = "rwlock-" #mode "-" #first "-" #second "-" #refuse,                                          \
        .claim = "a writer is alone, and every call ends", .setup = mode, .threads = {first, second},        \
        .titles = {#first, #second}, .check = check_slots_free, .spurious_wakeups = 1, .timeouts = 1,        \
        .weak_failures = 1, .refuse_membarrier = refuse                                                      \
    }
#define TRIPLE(mode, first, second, third) NAMED_TRIPLE(mode, first, second, third, granted, "")
#define LATE_TRIPLE(mode, first, second, third) NAMED_TRIPLE(mode, first, second, third, refused, "-refused")
#define NAMED_TRIPLE(mode, first, second, third, refuse, suffix)                                             \
    EX_SCENARIO(mode##_##first##_##second##_##third##_##refuse) {                                            \
        .name = "rwlock-" #mode "-" #first "-" #second "-" #third suffix, .refuse_membarrier = refuse,       \
        .claim = "a writer is alone, and every call ends", .setup = mode, .threads = {first, second, third}, \
        .titles = {#first, #second, #third}, .check = check_slots_free, .timeouts = 1, .sc_bound = 2,        \
    }
/* membarrier, as the names of scenarios say it. */
enum { granted = 0, refused = 1 };

#define IN_EVERY_MODE(mode, refuse)                                                                          \
    PAIR(mode, read, write, refuse);                                                                         \
    PAIR(mode, read, try_write, refuse);                                                                     \
    PAIR(mode, try_read, write, refuse);                                                                     \
    PAIR(mode, read, write_until, refuse);                                                                   \
    PAIR(mode, read_until, write, refuse);                                                                   \
    PAIR(mode, read, upgrade, refuse);                                                                       \
    PAIR(mode, read, downgrade, refuse);                                                                     \
    PAIR(mode, write, write, refuse);                                                                        \
    PAIR(mode, read_twice, write, refuse);                                                                   \
    PAIR(mode, read_and_another, write, refuse);                                                             \
    PAIR(mode, read_inside_another, write, refuse);                                                          \
    PAIR(mode, read_section, write, refuse);                                                                 \
    PAIR(mode, read_section_and_inside, try_write, refuse)

IN_EVERY_MODE(central, granted);
IN_EVERY_MODE(fenced, granted);
IN_EVERY_MODE(fenced_by_both, refused);
IN_EVERY_MODE(fence_free, granted);

PAIR(fenced, read_first, write, granted);
PAIR(fenced, read_until_due, write, granted);
PAIR(fenced, read_until_due, try_write, granted);
PAIR(fence_free, read_and_end, write, granted);
PAIR(fenced, read_twice, fork_and_write, granted);
PAIR(fence_free, read_twice, fork_and_write, granted);
PAIR(fenced_by_both, read_twice, fork_and_write, refused);
PAIR(fenced, read_twice, fork_inside_and_write, granted);
PAIR(fence_free, read_twice, fork_inside_and_write, granted);
PAIR(fenced, read_first, fork_and_read_first, granted);
PAIR(fenced_in_full_table, read_first, read_first, granted);
PAIR(fenced_in_full_table, read_first, fork_and_read_first, granted);
PAIR(fenced_with_a_free_block, read_first, read_first, granted);
PAIR(fenced_with_a_free_block, read_and_end, fork_and_read_first, granted);
PAIR(about_to_take_slots, read_twice, write, granted);
PAIR(about_to_take_slots, read, try_write, granted);
PAIR(about_to_be_fence_free, read_twice, write, granted);
PAIR(about_to_be_fence_free, read_twice, try_write, granted);
PAIR(about_to_leave_slots, read_twice, write, granted);
PAIR(about_to_need_fences, read_twice, write, granted);

/* membarrier is refused later: the lock is fence-free, or its readers have blocks, from before. */
PAIR(fenced, read, write, refused);
PAIR(fenced, read_twice, write, refused);
PAIR(fenced, read_and_another, write, refused);
PAIR(fence_free, read, write, refused);
PAIR(fence_free, read_twice, write, refused);
PAIR(fence_free, read_and_another, write, refused);
PAIR(fence_free, read, write_until, refused);
PAIR(fence_free, read, upgrade, refused);
PAIR(fence_free, read_twice, write_twice, refused);
PAIR(about_to_be_fence_free, read_twice, write, refused);
LATE_TRIPLE(fenced, read_two, write, write_other);
LATE_TRIPLE(fence_free, read_two, write, write_other);
LATE_TRIPLE(fence_free, read, write, write);
LATE_TRIPLE(fence_free, read, read, write);

PAIR(central, write, try_write, granted);
PAIR(central, write, write_until, granted);
PAIR(central, write_twice, write_until, granted);
PAIR(central, write_twice, upgrade, granted);
PAIR(central, write_twice, downgrade, granted);
PAIR(central_by_both, write_twice, write, refused);
PAIR(central_by_both, read, write_twice, refused);
PAIR(fenced, write_twice, write_twice, granted);
TRIPLE(central, write, write, write);
TRIPLE(central, write_twice, read, write);
TRIPLE(central, write, read_until, write_until);
TRIPLE(central, downgrade, read, write);
TRIPLE(central, upgrade, read, write);
TRIPLE(fenced, write, write, write);
TRIPLE(fenced, read_two, write, write_other);
TRIPLE(fence_free, read_two, write, write_other);
TRIPLE(fenced, read, read, write);
TRIPLE(fenced, read_first, read_first, write);
TRIPLE(fenced, read_and_end, read_first, write);
TRIPLE(fence_free, read_and_end, read_first, write);
TRIPLE(fenced_in_full_table, read_first, read_first, write);
TRIPLE(fenced_with_a_free_block, read_first, read_first, write);
TRIPLE(fenced, read, write, write);
TRIPLE(fenced, read, write, try_write);
TRIPLE(fenced, read, upgrade, write);
TRIPLE(fenced, read, write_until, read);
TRIPLE(fence_free, read, read, write);
TRIPLE(fence_free, read, write, write);
TRIPLE(fence_free, read, write_until, read);
TRIPLE(about_to_take_slots, read, read, write);
TRIPLE(about_to_be_fence_free, read, read, write);
TRIPLE(about_to_leave_slots, read, write, write);
TRIPLE(about_to_need_fences, read, write, write);

/* ---- Slots of another table ---- */

/* Another copy of the library has moved the lock to slots: this one's table is empty. Every call that would rely on it
 * says so; none takes an empty table for one without readers. */
static void slots_of_another_table(void) {
    start_in(ILK__RWLOCK_SLOTS, false);
    ilk__slot_table_2.block_count = 0;
}
static void write_slots_of_another_table(void) {
    ilk_rwlock_write_lock(&s.lock);
}
static void write_until_slots_of_another_table(void) {
    (void)!ilk_rwlock_write_lock_until(&s.lock, SOON);
}
static void try_write_slots_of_another_table(void) {
    (void)!ilk_rwlock_try_write_lock(&s.lock);
}
static void upgrade_slots_of_another_table(void) {
    ilk_rwlock_upgradable_lock(&s.lock);
    ilk_rwlock_upgrade(&s.lock);
}
#define ANOTHER_TABLE(call)                                                                                  \
    EX_SCENARIO(another_table_##call) {                                                                      \
        .name = "rwlock-slots_of_another_table-" #call,                                                      \
        .claim = "misuse: a lock whose readers are in a table that this copy does not see",                  \
        .setup = slots_of_another_table, .threads = {call##_slots_of_another_table}, .finds = EX_MISUSE      \
    }
ANOTHER_TABLE(write);
ANOTHER_TABLE(write_until);
ANOTHER_TABLE(try_write);
ANOTHER_TABLE(upgrade);

EX_MUST_REACH(states){
    {"rwlock-fenced-read-write_until-read rwlock-fence_free-read-write_until-read",
     {EX_LOCK_LATE_FOR_SLOT_BESIDE_WAITERS}},
    {"rwlock-*fence_free-read-read-write rwlock-*fence_free-read_twice-write-granted "
     "rwlock-*read-write-refused rwlock-fence_free-*read-write-granted "
     "rwlock-fenced-*read-write-granted",
     {EX_SLOT_WRITER_SLEEPS, EX_SLOT_WRITER_WOKEN}},
    {"rwlock-*fork_and_read_first-granted "
     "rwlock-fence_free-read_twice-fork_and_write-granted "
     "rwlock-fence_free-read_twice-fork_inside_and_write-granted "
     "rwlock-fenced-read_twice-fork_and_write-granted "
     "rwlock-fenced-read_twice-fork_inside_and_write-granted "
     "rwlock-fenced_by_both-read_twice-fork_and_write-refused",
     {EX_FORKED}},
    {"rwlock-*read_and_another-write-granted rwlock-*read_section-write-granted "
     "rwlock-*read_section_and_inside-try_write-granted rwlock-*read_twice-write-granted "
     "rwlock-*read_until-write-granted rwlock-central-read-* rwlock-fence_free-read-* "
     "rwlock-fenced-read-* rwlock-fenced-read_until_due-* rwlock-fenced_by_both-read-* "
     "rwlock-fenced_by_both-read_section_and_inside-try_write-refused",
     {EX_LOCK_READER_WAITS, EX_LOCK_TO_READERS}},
    {"rwlock-*read_and_another-write-refused rwlock-*read_twice-write-refused "
     "rwlock-*read_two-write-write_other rwlock-fence_free-read_and_end-* "
     "rwlock-fenced-read_first-write-granted "
     "rwlock-fenced_by_both-read_section-write-refused",
     {EX_LOCK_READER_WAITS, EX_LOCK_TO_READERS, EX_SLOT_WRITER_SLEEPS, EX_SLOT_WRITER_WOKEN}},
    {"rwlock-*read_first-write", {EX_LOCK_READER_WAITS, EX_LOCK_TO_READERS, EX_SLOT_BLOCK_FREED}},
    {"rwlock-fenced-*read_first-write rwlock-fence_free-*read_first-write",
     {EX_SLOT_WRITER_SLEEPS, EX_SLOT_WRITER_WOKEN}},
    {"rwlock-*read_inside_another-write-granted rwlock-*write_twice-refused "
     "rwlock-central-*read-write rwlock-fenced_by_both-read_inside_another-write-refused",
     {EX_LOCK_READER_WAITS, EX_LOCK_WRITER_WAITS, EX_LOCK_TO_READERS, EX_LOCK_TO_EXCLUSIVE}},
    {"rwlock-*write-write-granted rwlock-*write-write-refused "
     "rwlock-central-*read-write-granted rwlock-central-write-* "
     "rwlock-central_by_both-write_twice-write-refused "
     "rwlock-fenced-write_twice-write_twice-granted",
     {EX_LOCK_WRITER_WAITS, EX_LOCK_TO_EXCLUSIVE}},
    {"rwlock-about_to_be_fence_free-*", {EX_LOCK_READER_WAITS, EX_LOCK_TO_READERS, EX_MODE_TO_FENCE_FREE}},
    {"rwlock-about_to_leave_slots-read-write-write",
     {EX_LOCK_READER_WAITS, EX_LOCK_WRITER_WAITS, EX_LOCK_TO_READERS, EX_LOCK_TO_EXCLUSIVE,
      EX_LOCK_LEFT_TO_QUEUE_HOLDER, EX_MODE_FROM_SLOTS}},
    {"rwlock-about_to_leave_slots-read_twice-write-granted", {EX_MODE_FROM_SLOTS}},
    {"rwlock-about_to_need_fences-read-write-write",
     {EX_LOCK_READER_WAITS, EX_LOCK_WRITER_WAITS, EX_LOCK_TO_READERS, EX_LOCK_TO_EXCLUSIVE,
      EX_LOCK_LEFT_TO_QUEUE_HOLDER, EX_SLOT_WRITER_WOKEN, EX_MODE_FROM_FENCE_FREE}},
    {"rwlock-about_to_need_fences-read_twice-write-granted", {EX_MODE_FROM_FENCE_FREE}},
    {"rwlock-about_to_take_slots-*", {EX_LOCK_READER_WAITS, EX_LOCK_TO_READERS, EX_MODE_TO_SLOTS}},
    {"rwlock-central-*downgrade-granted",
     {EX_LOCK_WRITER_WAITS, EX_LOCK_TO_EXCLUSIVE, EX_LOCK_DOWNGRADE_BESIDE_WAITERS}},
    {"rwlock-central-*write_until-granted",
     {EX_LOCK_WRITER_WAITS, EX_LOCK_TO_EXCLUSIVE, EX_QUEUE_OUTRUN, EX_LOCK_LATE_AND_LET_IN,
      EX_QUEUE_LOCK_SLEEPS}},
    {"rwlock-central-read-upgrade-granted", {EX_LOCK_UPGRADE_WAITS, EX_LOCK_TO_UPGRADE}},
    {"rwlock-central-write-read_until-write_until",
     {EX_LOCK_READER_WAITS, EX_LOCK_TO_READERS, EX_LOCK_LATE_IN_QUEUE, EX_LOCK_LATE_AND_LET_IN}},
    {"rwlock-central-write_twice-upgrade-granted",
     {EX_LOCK_WRITER_WAITS, EX_LOCK_UPGRADABLE_WAITS, EX_LOCK_TO_EXCLUSIVE}},
    {"rwlock-fence_free-*refused",
     {EX_LOCK_READER_WAITS, EX_LOCK_TO_READERS, EX_SLOT_WRITER_SLEEPS, EX_MODE_REFUSED_FENCE_FREE,
      EX_FENCE_LEAVES}},
    {"rwlock-fence_free-read-downgrade-granted rwlock-fenced-read-downgrade-granted "
     "rwlock-fenced_by_both-read-downgrade-refused",
     {EX_LOCK_DOWNGRADE_BESIDE_WAITERS}},
    {"rwlock-fence_free-read-write_until-* rwlock-fenced-read-write_until-*",
     {EX_LOCK_LATE_FOR_SLOT, EX_SLOT_WRITER_SLEEPS, EX_SLOT_WRITER_WOKEN}},
    {"rwlock-fence_free-read_two-write-write_other-refused", {EX_FENCE_AWAITS_LEAVER}},
    {"rwlock-fenced-*refused",
     {EX_LOCK_READER_WAITS, EX_LOCK_TO_READERS, EX_SLOT_WRITER_SLEEPS, EX_SLOT_WRITER_WOKEN,
      EX_SLOT_OWNER_FENCES}},
    {"rwlock-fenced-*write-write",
     {EX_LOCK_WRITER_WAITS, EX_LOCK_TO_EXCLUSIVE, EX_LOCK_LEFT_TO_QUEUE_HOLDER}},
    {"rwlock-fenced-read-upgrade-write",
     {EX_LOCK_WRITER_WAITS, EX_LOCK_UPGRADABLE_WAITS, EX_LOCK_UPGRADE_WAITS, EX_LOCK_TO_EXCLUSIVE,
      EX_LOCK_TO_UPGRADE, EX_SLOT_WRITER_WOKEN}},
    {"rwlock-fenced_by_both-read_until-write-refused",
     {EX_LOCK_READER_WAITS, EX_LOCK_TO_READERS, EX_LOCK_LATE_AND_LET_IN, EX_SLOT_WRITER_SLEEPS,
      EX_SLOT_WRITER_WOKEN}},
    {"rwlock-fenced_in_full_table-*", {EX_SLOT_TABLE_GROWS, EX_SLOT_BLOCK_FREED}},
    {"rwlock-fenced_in_full_table-read_first-read_first-granted", {EX_SLOT_CHUNK_OUTRUN}},
    {"rwlock-fenced_with_a_free_block-read_first-read_first-granted", {EX_SLOT_BLOCK_FREED}},
};

EX_CANNOT_REACH(no_states){
    {"rwlock-central-write-write-write rwlock-fenced-write-write-write",
     {EX_LOCK_TO_READERS, EX_LOCK_TO_UPGRADE, EX_LOCK_READER_WAITS, EX_LOCK_UPGRADABLE_WAITS,
      EX_LOCK_UPGRADE_WAITS, EX_LOCK_DOWNGRADE_BESIDE_WAITERS}},
};
