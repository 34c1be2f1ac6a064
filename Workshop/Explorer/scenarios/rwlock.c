/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_rwlock: every pair of operations that can meet, in two and three threads, around guarded plain data.
 */
/* contract: rwlock.C, rwlock.D */
#include "rwlock_data.h"

static void setup(void) {
    memset(&s, 0, sizeof s);
    ilk_rwlock_init(&s.lock);
}

static void write_then_read(void) {
    ilk_rwlock_write_lock(&s.lock);
    change();
    uint32_t mine = s.data[0];
    ilk_rwlock_downgrade(&s.lock);
    ex_expect(value() == mine, "another write came between the write and the downgraded read");
    ilk_rwlock_read_unlock(&s.lock);
}

static void upgrade(void) {
    ilk_rwlock_upgradable_lock(&s.lock);
    uint32_t seen = value();
    ilk_rwlock_upgrade(&s.lock);
    ex_expect(value() == seen, "a write came between the upgradable read and the upgrade");
    change();
    ilk_rwlock_write_unlock(&s.lock);
}

static void upgrade_until(void) {
    if (ilk_rwlock_upgradable_lock_until(&s.lock, SOON) == ILK_OK) {
        uint32_t seen = value();
        ilk_rwlock_upgrade(&s.lock);
        ex_expect(value() == seen, "a write came between the upgradable read and the upgrade");
        change();
        ilk_rwlock_write_unlock(&s.lock);
    }
}

static void upgrade_then_downgrade(void) {
    ilk_rwlock_upgradable_lock(&s.lock);
    uint32_t seen = value();
    ilk_rwlock_upgrade(&s.lock);
    ex_assert(value() == seen);
    change();
    ilk_rwlock_downgrade(&s.lock);
    ex_assert(value() == seen + 1);
    ilk_rwlock_read_unlock(&s.lock);
}

#define PAIR(identifier, first, second)                                                                      \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "rwlock-" #first "-" #second, .claim = "a writer is alone, and every call ends",             \
        .setup = setup, .threads = {first, second}, .titles = {#first, #second}, .check = check,             \
        .spurious_wakeups = 1, .timeouts = 2, .weak_failures = 1                                             \
    }
#define TRIPLE(identifier, first, second, third)                                                             \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "rwlock-" #first "-" #second "-" #third, .claim = "a writer is alone, and every call ends",  \
        .setup = setup, .threads = {first, second, third}, .titles = {#first, #second, #third},              \
        .check = check, .timeouts = 1                                                                        \
    }

PAIR(read_write, read, write);
PAIR(write_write, write, write);
PAIR(read_try_write, read, try_write);
PAIR(write_try_read, write, try_read);
PAIR(write_try_write, write, try_write);
PAIR(try_read_try_write, try_read, try_write);
PAIR(write_read_until, write, read_until);
PAIR(read_write_until, read, write_until);
PAIR(write_write_until, write, write_until);
PAIR(write_until_write_until, write_until, write_until);
PAIR(read_downgrade, read, write_then_read);
PAIR(write_downgrade, write, write_then_read);
PAIR(downgrade_downgrade, write_then_read, write_then_read);
PAIR(read_upgrade, read, upgrade);
PAIR(write_upgrade, write, upgrade);
PAIR(upgrade_upgrade, upgrade, upgrade);
PAIR(upgradable_upgrade, upgradable, upgrade);
PAIR(upgradable_write, upgradable, write);
PAIR(upgrade_write_until, upgrade, write_until);
PAIR(upgrade_read_until, upgrade, read_until);
PAIR(write_upgrade_until, write, upgrade_until);
PAIR(upgrade_upgrade_until, upgrade, upgrade_until);
PAIR(upgrade_downgrade_read, upgrade_then_downgrade, read);
PAIR(upgrade_downgrade_write, upgrade_then_downgrade, write);
PAIR(write_twice_read_twice, write_twice, read_twice);

TRIPLE(read_read_write, read, read, write);
TRIPLE(read_write_write, read, write, write);
TRIPLE(write_write_write, write, write, write);
TRIPLE(read_write_write_until, read, write, write_until);
TRIPLE(read_write_until_read, read, write_until, read);
TRIPLE(write_read_until_write, write, read_until, write);
TRIPLE(read_write_upgrade, read, write, upgrade);
TRIPLE(read_upgrade_upgrade, read, upgrade, upgrade);
TRIPLE(read_write_try_read, read, write, try_read);
TRIPLE(read_write_try_write, read, write, try_write);
TRIPLE(read_write_downgrade, read, write, write_then_read);
TRIPLE(write_upgrade_downgrade, write, upgrade, write_then_read);
TRIPLE(read_upgrade_write_until, read, upgrade, write_until);
TRIPLE(read_write_upgrade_until, read, write, upgrade_until);

/* ---- As many readers as the word can count ---- */

static void full(void) {
    start_in(ILK__RWLOCK_READERS, false);
}
static void write_late(void) {
    ex_assert(ilk_rwlock_write_lock_until(&s.lock, SOON) == ILK_TIMEDOUT);
}
static void read_behind_the_writer(void) {
    /* RW3 relaxed: a hint; a reader that comes as the writer gives up is reported as it comes. */
    if ((ilk_atomic_load(&s.lock.word, memory_order_relaxed) & ILK__RWLOCK_READERS_HELD) != 0) {
        read();
    }
}
EX_SCENARIO(one_reader_more){
    .name = "rwlock-full-write_until-read",
    .claim = "a reader in the queue that the lock cannot count is reported as the writer before it gives up",
    .setup = full,
    .threads = {write_late, read_behind_the_writer},
    .finds = EX_MISUSE,
};

EX_MUST_REACH(states){
    {"rwlock-*read_until",
     {EX_LOCK_READER_WAITS, EX_LOCK_TO_READERS, EX_LOCK_LATE_AND_LET_IN, EX_QUEUE_LOCK_SLEEPS}},
    {"rwlock-*upgrade-upgrade rwlock-upgradable-*", {EX_LOCK_UPGRADABLE_WAITS, EX_LOCK_TO_EXCLUSIVE}},
    {"rwlock-*upgrade-write_until",
     {EX_LOCK_WRITER_WAITS, EX_LOCK_UPGRADABLE_WAITS, EX_LOCK_TO_EXCLUSIVE, EX_QUEUE_OUTRUN,
      EX_LOCK_LATE_AND_LET_IN, EX_QUEUE_LOCK_SLEEPS}},
    {"rwlock-*write-upgrade_until",
     {EX_LOCK_UPGRADABLE_WAITS, EX_LOCK_LATE_AND_LET_IN, EX_QUEUE_LOCK_SLEEPS}},
    {"rwlock-*write_then_read",
     {EX_LOCK_WRITER_WAITS, EX_LOCK_TO_EXCLUSIVE, EX_LOCK_DOWNGRADE_BESIDE_WAITERS}},
    {"rwlock-read-*", {EX_LOCK_READER_WAITS, EX_LOCK_TO_READERS, EX_WAITER_SLEEPS, EX_WAITER_GRANTED_AWAKE}},
    {"rwlock-read-*upgrade", {EX_LOCK_UPGRADE_WAITS, EX_LOCK_TO_UPGRADE}},
    {"rwlock-read-*write_until",
     {EX_LOCK_WRITER_WAITS, EX_LOCK_TO_EXCLUSIVE, EX_QUEUE_OUTRUN, EX_LOCK_LATE_AND_LET_IN}},
    {"rwlock-read-upgrade-write_until", {EX_LOCK_LATE_IN_QUEUE}},
    {"rwlock-read-write-* rwlock-write-*", {EX_LOCK_WRITER_WAITS, EX_LOCK_TO_EXCLUSIVE}},
    {"rwlock-upgrade-upgrade_until",
     {EX_LOCK_UPGRADABLE_WAITS, EX_LOCK_TO_EXCLUSIVE, EX_QUEUE_OUTRUN, EX_LOCK_LATE_AND_LET_IN}},
    {"rwlock-upgrade_then_downgrade-read",
     {EX_LOCK_READER_WAITS, EX_LOCK_UPGRADE_WAITS, EX_LOCK_TO_READERS, EX_LOCK_TO_UPGRADE,
      EX_LOCK_DOWNGRADE_BESIDE_WAITERS}},
    {"rwlock-upgrade_then_downgrade-write",
     {EX_LOCK_WRITER_WAITS, EX_LOCK_UPGRADABLE_WAITS, EX_LOCK_TO_EXCLUSIVE,
      EX_LOCK_DOWNGRADE_BESIDE_WAITERS}},
    {"rwlock-write_twice-read_twice",
     {EX_LOCK_READER_WAITS, EX_LOCK_WRITER_WAITS, EX_LOCK_TO_READERS, EX_LOCK_TO_EXCLUSIVE}},
    {"rwlock-write_until-write_until",
     {EX_LOCK_WRITER_WAITS, EX_LOCK_TO_EXCLUSIVE, EX_QUEUE_OUTRUN, EX_LOCK_LATE_AND_LET_IN,
      EX_QUEUE_LOCK_SLEEPS}},
};
