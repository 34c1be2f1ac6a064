/* SPDX-License-Identifier: Apache-2.0
 *
 * Calls that wait for nothing, under the explorer: the try calls, the unlocks and the downgrade of ilk_rwlock
 * (guarantee F of <interlock/rwlock.h>), and ilk_semaphore_signal, beside threads at any point of a call of
 * their own, the queue lock included. The calling thread must never sleep, and what it releases must still
 * reach the waiters: a waiter left in the queue ends in deadlock.
 */
#include "../explorer.h"
#include <interlock/rwlock.h>
#include <interlock/semaphore.h>
#include <rwlock/slot_table.h>
#include <string.h>

enum { SOON = 5000, BLOCKS = 4 };
enum { FIRST = 1, SECOND = 2 }; /* masks of threads */

static struct {
    ilk_rwlock lock;
    ilk_semaphore semaphore;
    uint32_t data;
} s;

static void start_in(uint32_t word) {
    memset(&s, 0, sizeof s);
    s.lock.word = word;
    for (unsigned index = 0; index < BLOCKS; index++) {
        ilk__slot_table.chunks.blocks[index].taken = 1;
    }
    ilk__slot_table.block_count = BLOCKS;
}

/* Locks that setup() has taken, for a body to unlock. */
static void free_lock(void) {
    start_in(0);
}
static void with_slots(void) {
    start_in(ILK__RWLOCK_SLOTS);
}
static void written(void) {
    start_in(ILK__RWLOCK_WRITER);
}
static void read_once(void) {
    start_in(ILK__RWLOCK_ONE_READER);
}
static void read_twice(void) {
    start_in(2 * ILK__RWLOCK_ONE_READER);
}
static void upgradable(void) {
    start_in(ILK__RWLOCK_UPGRADABLE);
}
static void upgradable_and_read(void) {
    start_in(ILK__RWLOCK_UPGRADABLE + ILK__RWLOCK_ONE_READER);
}

static void check(void) {
    ex_expect(ilk__rwlock_is_idle(s.lock.word), "the lock's word is 0x%x after every thread has left",
              s.lock.word);
    ex_assert(s.lock.queue == NULL);
    ilk_rwlock_destroy(&s.lock);
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
static void change(void) {
    ilk_plain_write(&s.data, sizeof s.data);
    s.data++;
}
static void try_write(void) {
    if (ilk_rwlock_try_write_lock(&s.lock)) {
        change();
        ilk_rwlock_write_unlock(&s.lock);
    }
}
static void try_read(void) {
    if (ilk_rwlock_try_read_lock(&s.lock)) {
        ilk_plain_read(&s.data, sizeof s.data);
        ilk_rwlock_read_unlock(&s.lock);
    }
}

/* ---- Bodies beside them ---- */

static void read(void) {
    ilk_rwlock_read_lock(&s.lock);
    ilk_plain_read(&s.data, sizeof s.data);
    ilk_rwlock_read_unlock(&s.lock);
}
static void write(void) {
    ilk_rwlock_write_lock(&s.lock);
    change();
    ilk_rwlock_write_unlock(&s.lock);
}
static void read_until(void) {
    if (ilk_rwlock_read_lock_until(&s.lock, SOON) == ILK_OK) {
        ilk_plain_read(&s.data, sizeof s.data);
        ilk_rwlock_read_unlock(&s.lock);
    }
}
static void write_until(void) {
    if (ilk_rwlock_write_lock_until(&s.lock, SOON) == ILK_OK) {
        change();
        ilk_rwlock_write_unlock(&s.lock);
    }
}
static void be_upgradable(void) {
    ilk_rwlock_upgradable_lock(&s.lock);
    ilk_plain_read(&s.data, sizeof s.data);
    ilk_rwlock_upgradable_unlock(&s.lock);
}
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
NEVER_SLEEPS(write_unlock_upgradable_write, written, FIRST, write_unlock, be_upgradable, write);
NEVER_SLEEPS(read_unlock_write_until, read_once, FIRST, read_unlock, write_until, read);
NEVER_SLEEPS(read_unlock_twice_write, read_twice, FIRST | SECOND, read_unlock, read_unlock, write);
NEVER_SLEEPS(upgradable_unlock_writes, upgradable, FIRST, upgradable_unlock, write, write_until);
NEVER_SLEEPS(read_unlock_upgrade, upgradable_and_read, FIRST, read_unlock, upgrade, read_until);
NEVER_SLEEPS(downgrade_write_read, written, FIRST, downgrade, write, read);
NEVER_SLEEPS(downgrade_write_until, written, FIRST, downgrade, write_until, read_until);
NEVER_SLEEPS(try_write_beside, free_lock, FIRST, try_write, read, write);
NEVER_SLEEPS(try_write_slots, with_slots, FIRST, try_write, read, write);
NEVER_SLEEPS(try_write_slots_until, with_slots, FIRST, try_write, read, write_until);
NEVER_SLEEPS(try_read_slots, with_slots, FIRST, try_read, write, write_until);
NEVER_SLEEPS(try_try_slots, with_slots, FIRST | SECOND, try_read, try_write, read);

/* ---- Semaphore ---- */

static void no_permits(void) {
    start_in(0);
    ilk_semaphore_init(&s.semaphore, 0);
}
static void check_semaphore(void) {
    ilk_semaphore_destroy(&s.semaphore);
}
static void signal_one(void) {
    ilk_semaphore_signal(&s.semaphore, 1);
}
static void signal_two(void) {
    ilk_semaphore_signal(&s.semaphore, 2);
}
static void wait(void) {
    ilk_semaphore_wait(&s.semaphore);
}
static void wait_until(void) {
    ex_note("%s", ilk_semaphore_wait_until(&s.semaphore, SOON) == ILK_OK ? "taken" : "late");
}
static void try_wait(void) {
    ex_note("%s", ilk_semaphore_try_wait(&s.semaphore) ? "taken" : "refused");
}
static void value(void) {
    (void)ilk_semaphore_value(&s.semaphore);
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
SIGNAL_NEVER_SLEEPS(signal_value_wait, FIRST, signal_one, value, wait);
