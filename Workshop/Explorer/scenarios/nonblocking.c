/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that wait for nothing: the try calls, the unlocks and the downgrade of ilk_rwlock (guarantee F of
 * <interlock/rwlock.h>), and ilk_semaphore_signal, beside threads at any point of a call, the queue lock
 * included. A waiter left in the queue ends in deadlock.
 */
/* contract: rwlock.C, rwlock.D, rwlock.F, semaphore.C, semaphore.E */
#include "rwlock_data.h"
#include <interlock/semaphore.h>

enum { FIRST = 1, SECOND = 2 }; /* masks of threads */

static void free_lock(void) {
    start_in(0, false);
}
static void with_slots(void) {
    start_in(ILK__RWLOCK_SLOTS, false);
}
static void written(void) {
    start_in(ILK__RWLOCK_WRITER, false);
}
static void read_once(void) {
    start_in(ILK__RWLOCK_ONE_READER, false);
}
static void read_by_two(void) {
    start_in(2 * ILK__RWLOCK_ONE_READER, false);
}
static void upgradable_taken(void) {
    start_in(ILK__RWLOCK_UPGRADABLE, false);
}
static void upgradable_and_read(void) {
    start_in(ILK__RWLOCK_UPGRADABLE + ILK__RWLOCK_ONE_READER, false);
}

/* ---- Bodies that must not sleep ---- */

static void write_unlock(void) {
    ilk_rwlock_write_unlock(&s.lock);
}
static void read_unlock(void) {
    ilk_rwlock_read_unlock(&s.lock);
}
static void upgradable_unlock(void) {
    ilk_rwlock_upgradable_unlock(&s.lock);
}
static void downgrade(void) {
    ilk_rwlock_downgrade(&s.lock);
    ilk_rwlock_read_unlock(&s.lock);
}

/* ---- Bodies beside them ---- */

static void upgrade(void) {
    ilk_rwlock_upgrade(&s.lock);
    change();
    ilk_rwlock_write_unlock(&s.lock);
}

#define NEVER_SLEEPS(identifier, start, mask, ...)                                                           \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "rwlock-nonblocking-" #identifier,                                                           \
        .claim = "try calls, unlocks and downgrade never sleep, and lose no waiter", .setup = start,         \
        .threads = {__VA_ARGS__}, .check = check, .never_sleep = mask, .timeouts = 1, .spurious_wakeups = 1  \
    }

NEVER_SLEEPS(write_unlock_write, written, FIRST, write_unlock, write);
NEVER_SLEEPS(write_unlock_write_write, written, FIRST, write_unlock, write, write);
NEVER_SLEEPS(write_unlock_read_write, written, FIRST, write_unlock, read, write);
NEVER_SLEEPS(write_unlock_read_write_until, written, FIRST, write_unlock, read, write_until);
NEVER_SLEEPS(write_unlock_upgradable_write, written, FIRST, write_unlock, upgradable, write);
NEVER_SLEEPS(read_unlock_write_until, read_once, FIRST, read_unlock, write_until, read);
NEVER_SLEEPS(read_unlock_twice_write, read_by_two, FIRST | SECOND, read_unlock, read_unlock, write);
NEVER_SLEEPS(upgradable_unlock_writes, upgradable_taken, FIRST, upgradable_unlock, write, write_until);
NEVER_SLEEPS(read_unlock_upgrade, upgradable_and_read, FIRST, read_unlock, upgrade, read_until);
NEVER_SLEEPS(downgrade_write_read, written, FIRST, downgrade, write, read);
NEVER_SLEEPS(downgrade_write_until, written, FIRST, downgrade, write_until, read_until);
NEVER_SLEEPS(try_write_beside, free_lock, FIRST, try_write, read, write);
NEVER_SLEEPS(try_write_slots, with_slots, FIRST, try_write, read, write);
NEVER_SLEEPS(try_write_slots_until, with_slots, FIRST, try_write, read, write_until);
NEVER_SLEEPS(try_read_slots, with_slots, FIRST, try_read, write, write_until);
NEVER_SLEEPS(try_try_slots, with_slots, FIRST | SECOND, try_read, try_write, read);

/* ---- Semaphore ---- */

static ilk_semaphore semaphore;

static void no_permits(void) {
    ilk_semaphore_init(&semaphore, 0);
}
static void check_semaphore(void) {
    ilk_semaphore_destroy(&semaphore);
}
static void signal_one(void) {
    ilk_semaphore_signal(&semaphore, 1);
}
static void signal_two(void) {
    ilk_semaphore_signal(&semaphore, 2);
}
static void try_signal(void) {
    ex_expect(ilk_semaphore_try_signal(&semaphore, 1), "there is room");
}
static void wait(void) {
    ilk_semaphore_wait(&semaphore);
}
static void wait_until(void) {
    ex_note("%s", ilk_semaphore_wait_until(&semaphore, SOON) == ILK_OK ? "taken" : "late");
}
static void try_wait(void) {
    ex_note("%s", ilk_semaphore_try_wait(&semaphore) ? "taken" : "refused");
}
static void read_value(void) {
    (void)ilk_semaphore_value(&semaphore);
}

#define SIGNAL_NEVER_SLEEPS(identifier, mask, ...)                                                           \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "semaphore-nonblocking-" #identifier, .claim = "a signal never sleeps, and loses no permit", \
        .setup = no_permits, .threads = {__VA_ARGS__}, .check = check_semaphore, .never_sleep = mask,        \
        .timeouts = 1, .spurious_wakeups = 1                                                                 \
    }

SIGNAL_NEVER_SLEEPS(signal_wait, FIRST, signal_one, wait);
SIGNAL_NEVER_SLEEPS(signal_wait_wait, FIRST, signal_two, wait, wait);
SIGNAL_NEVER_SLEEPS(signal_wait_until, FIRST, signal_two, wait, wait_until);
SIGNAL_NEVER_SLEEPS(signal_signal_wait_wait, FIRST | SECOND, signal_one, signal_one, wait, wait);
SIGNAL_NEVER_SLEEPS(signal_try_wait, FIRST | SECOND, signal_two, try_wait, wait);
SIGNAL_NEVER_SLEEPS(signal_value_wait, FIRST, signal_one, read_value, wait);
SIGNAL_NEVER_SLEEPS(try_signal_value_wait, FIRST, try_signal, read_value, wait);

EX_MUST_REACH(states){
    {"rwlock-nonblocking-downgrade_write_read",
     {EX_LOCK_READER_WAITS, EX_LOCK_WRITER_WAITS, EX_LOCK_TO_READERS, EX_LOCK_TO_EXCLUSIVE,
      EX_LOCK_DOWNGRADE_BESIDE_WAITERS, EX_LOCK_READER_LEAVES_OTHERS, EX_LOCK_LEFT_TO_QUEUE_HOLDER}},
    {"rwlock-nonblocking-downgrade_write_until",
     {EX_LOCK_READER_WAITS, EX_LOCK_WRITER_WAITS, EX_LOCK_TO_READERS, EX_LOCK_TO_EXCLUSIVE,
      EX_LOCK_DOWNGRADE_BESIDE_WAITERS, EX_LOCK_READER_LEAVES_OTHERS, EX_LOCK_LATE_IN_QUEUE,
      EX_LOCK_LATE_AND_LET_IN}},
    {"rwlock-nonblocking-read_unlock_twice_write",
     {EX_LOCK_WRITER_WAITS, EX_LOCK_TO_EXCLUSIVE, EX_LOCK_READER_LEAVES_OTHERS}},
    {"rwlock-nonblocking-read_unlock_upgrade",
     {EX_LOCK_READER_WAITS, EX_LOCK_UPGRADE_WAITS, EX_LOCK_TO_READERS, EX_LOCK_TO_UPGRADE,
      EX_LOCK_READER_LEAVES_OTHERS, EX_LOCK_LATE_IN_QUEUE, EX_LOCK_LATE_AND_LET_IN}},
    {"rwlock-nonblocking-read_unlock_write_until",
     {EX_LOCK_READER_WAITS, EX_LOCK_WRITER_WAITS, EX_LOCK_TO_READERS, EX_LOCK_TO_EXCLUSIVE,
      EX_LOCK_READER_LEAVES_OTHERS, EX_LOCK_LATE_IN_QUEUE, EX_LOCK_LATE_AND_LET_IN}},
    {"rwlock-nonblocking-try_read_slots rwlock-nonblocking-upgradable_unlock_writes",
     {EX_LOCK_WRITER_WAITS, EX_LOCK_TO_EXCLUSIVE, EX_LOCK_LATE_IN_QUEUE, EX_LOCK_LATE_AND_LET_IN}},
    {"rwlock-nonblocking-try_try_slots", {EX_LOCK_READER_WAITS, EX_LOCK_TO_READERS}},
    {"rwlock-nonblocking-try_write_beside rwlock-nonblocking-try_write_slots "
     "rwlock-nonblocking-write_unlock_read_write",
     {EX_LOCK_READER_WAITS, EX_LOCK_WRITER_WAITS, EX_LOCK_TO_READERS, EX_LOCK_TO_EXCLUSIVE}},
    {"rwlock-nonblocking-try_write_slots_until",
     {EX_LOCK_READER_WAITS, EX_LOCK_WRITER_WAITS, EX_LOCK_TO_READERS, EX_LOCK_TO_EXCLUSIVE,
      EX_LOCK_LATE_IN_QUEUE}},
    {"rwlock-nonblocking-write_unlock_read_write_until",
     {EX_LOCK_READER_WAITS, EX_LOCK_WRITER_WAITS, EX_LOCK_TO_READERS, EX_LOCK_TO_EXCLUSIVE,
      EX_LOCK_LATE_IN_QUEUE, EX_LOCK_LATE_AND_LET_IN}},
    {"rwlock-nonblocking-write_unlock_upgradable_write",
     {EX_LOCK_WRITER_WAITS, EX_LOCK_UPGRADABLE_WAITS, EX_LOCK_TO_EXCLUSIVE}},
    {"rwlock-nonblocking-write_unlock_write", {EX_LOCK_WRITER_WAITS, EX_LOCK_TO_EXCLUSIVE}},
    {"rwlock-nonblocking-write_unlock_write_write",
     {EX_LOCK_WRITER_WAITS, EX_LOCK_TO_EXCLUSIVE, EX_LOCK_LEFT_TO_QUEUE_HOLDER}},
    {"semaphore-nonblocking-*", {EX_SEMAPHORE_WAITS, EX_SEMAPHORE_HANDS_OVER}},
    {"semaphore-nonblocking-signal_value_wait semaphore-nonblocking-try_signal_value_wait",
     {EX_SEMAPHORE_LEFT_TO_HOLDER}},
    {"semaphore-nonblocking-signal_wait_until", {EX_SEMAPHORE_LATE_AND_SERVED}},
};
