/* SPDX-License-Identifier: Apache-2.0
 *
 * "Signal handlers may make try_ calls and unlock what they took, whatever they interrupted": a handler after each
 * instruction of every call that does not sleep, in each mode. Afterwards the lock must be as free as without it, and
 * inside the handler it must exclude.
 */
#include "rwlock/slot_table_walk.h"
#include "support/rwlock_mode.h"
#include "support/stepping.h"
#include <stdio.h>

enum { LOCKS = 64 };

/* What the interrupted thread certainly holds. */
enum held { NOTHING, READS, WRITES };

static ilk_rwlock locks[LOCKS];
static ilk_rwlock *const lock = &locks[0];
static ilk_rwlock *other; /* of the same slot */
static uint32_t word;     /* the lock's word as a run begins */
static bool is_plain;
static volatile enum held held;
static volatile int first, second; /* guarded; equal but for a writer */
static volatile long taken;        /* by handlers */

/* ---- Interrupted ---- */

static void see(void) {
    held = READS;
    check_equal(first, second);
    held = NOTHING;
}

static void change(void) {
    held = WRITES;
    first++;
    second++;
    held = NOTHING;
}

static void read_lock(void *context) {
    ilk_rwlock_read_lock(lock);
    see();
    ilk_rwlock_read_unlock(lock);
}

static void try_read_lock(void *context) {
    if (ilk_rwlock_try_read_lock(lock)) {
        see();
        ilk_rwlock_read_unlock(lock);
    }
}

static void read_again(void *context) {
    ilk_rwlock_read_lock(lock);
    ilk_rwlock_read_lock(lock);
    see();
    ilk_rwlock_read_unlock(lock);
    see();
    ilk_rwlock_read_unlock(lock);
}

static void try_to_read_again(void *context) {
    ilk_rwlock_read_lock(lock);
    check(ilk_rwlock_try_read_lock(lock));
    see();
    ilk_rwlock_read_unlock(lock);
    see();
    ilk_rwlock_read_unlock(lock);
}

static void write_lock(void *context) {
    ilk_rwlock_write_lock(lock);
    change();
    ilk_rwlock_write_unlock(lock);
}

static void try_write_lock(void *context) {
    if (ilk_rwlock_try_write_lock(lock)) {
        change();
        ilk_rwlock_write_unlock(lock);
    }
}

static void upgrade_and_downgrade(void *context) {
    ilk_rwlock_upgradable_lock(lock);
    see();
    ilk_rwlock_upgrade(lock);
    change();
    ilk_rwlock_downgrade(lock);
    see();
    ilk_rwlock_read_unlock(lock);
}

/* ---- Handlers ---- */

static void see_from_outside(void) {
    check(held != WRITES);
    check_equal(first, second);
    taken++;
}

static void try_to_read(void *context) {
    if (ilk_rwlock_try_read_lock(lock)) {
        see_from_outside();
        ilk_rwlock_read_unlock(lock);
    }
}

static void try_to_read_twice(void *context) {
    const bool reads = ilk_rwlock_try_read_lock(lock);
    const bool reads_again = ilk_rwlock_try_read_lock(lock);
    if (reads) {
        see_from_outside();
        ilk_rwlock_read_unlock(lock);
    }
    if (reads_again) {
        see_from_outside();
        ilk_rwlock_read_unlock(lock);
    }
}

static void try_to_write(void *context) {
    if (ilk_rwlock_try_write_lock(lock)) {
        check(held == NOTHING);
        see_from_outside();
        first++;
        second++;
        ilk_rwlock_write_unlock(lock);
    }
}

/* Both locks, given up in the order of taking. */
static void try_to_read_both(void *context) {
    const bool reads_other = ilk_rwlock_try_read_lock(other);
    check(reads_other);
    const bool reads = ilk_rwlock_try_read_lock(lock);
    ilk_rwlock_read_unlock(other);
    if (reads) {
        see_from_outside();
        ilk_rwlock_read_unlock(lock);
    }
}

/* ---- Every pair, in every mode ---- */

static void prepare(void *context) {
    (is_plain ? ilk_rwlock_init_plain : ilk_rwlock_init)(lock);
    ilk_rwlock_init(other);
    lock->word = word;
    other->word = is_plain ? ILK__RWLOCK_SLOTS : word;
}

static void settle(void *context) {
    check(ilk__rwlock_is_idle(word_of(lock)));
    check(!is_in_a_slot(lock));
    check_equal(first, second);
    check(ilk_rwlock_try_write_lock(lock));
    ilk_rwlock_write_unlock(lock);
    check(ilk_rwlock_try_write_lock(other));
    ilk_rwlock_write_unlock(other);
}

static const struct {
    const char *name;
    void (*body)(void *context);
} calls[] =
    {
        {"read_lock", read_lock},
        {"try_read_lock", try_read_lock},
        {"read_lock twice", read_again},
        {"read_lock, try_read_lock", try_to_read_again},
        {"write_lock", write_lock},
        {"try_write_lock", try_write_lock},
        {"upgradable_lock, upgrade, downgrade", upgrade_and_downgrade},
},
  handlers[] = {
      {"reads", try_to_read},
      {"reads twice", try_to_read_twice},
      {"writes", try_to_write},
      {"reads two locks", try_to_read_both},
};

/* Each handler gets the lock at some places of each call. */
static void interrupt_every_call(const char *mode, uint32_t word_in_that_mode) {
    skip_unless_stepping();
    move_to_slots(lock); /* the thread has its slots */
    other = &locks[find_colliding(locks, LOCKS, 1, lock)];
    word = word_in_that_mode;
    for (size_t c = 0; c < sizeof calls / sizeof *calls; c++) {
        for (size_t h = 0; h < sizeof handlers / sizeof *handlers; h++) {
            const struct stepped stepped = {prepare, calls[c].body, handlers[h].body, settle};
            taken = 0;
            const size_t places = step_everywhere(&stepped, NULL);
            printf("%s, %s, the handler %s: %zu places, taken at %ld\n", mode, calls[c].name,
                   handlers[h].name, places, taken);
            check(taken > 0);
        }
    }
}

TEST(a_handler_may_try_anywhere_in_the_central_mode) {
    interrupt_every_call("central", 0);
}
/* contract: ilk_rwlock_init_plain */
TEST(a_handler_may_try_anywhere_in_a_plain_lock) {
    is_plain = true;
    interrupt_every_call("plain", ILK__RWLOCK_READ_SAMPLES);
}

TEST(a_handler_may_try_anywhere_on_the_way_to_slots) {
    interrupt_every_call("about to take slots", ILK__RWLOCK_READ_SAMPLES);
}

TEST(a_handler_may_try_anywhere_in_the_fenced_mode) {
    interrupt_every_call("fenced", ILK__RWLOCK_SLOTS);
}

TEST(a_handler_may_try_anywhere_in_the_fence_free_mode) {
    skip_if(!membarrier_works(), "without membarrier(2) no lock leaves the fence out");
    interrupt_every_call("fence-free", ILK__RWLOCK_MODE);
}
