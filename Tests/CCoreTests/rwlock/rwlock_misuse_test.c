/* SPDX-License-Identifier: Apache-2.0
 *
 * Misuse of ilk_rwlock, call by call.
 */
/* contract: diagnostics.h, rwlock.h */
#include "support/misuse.h"
#include "support/rwlock_mode.h"
#include <interlock/inline/owned_rwlock.h>
#include <interlock/interlock.h>

typedef void call_of_rwlock(ilk_rwlock *lock);

/* Calls on a new lock, of which the last is misuse. */
struct calls {
    call_of_rwlock *calls[4];
    const char *name, *text;
};

static void make_calls(void *context) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    const struct calls *row = context;
    for (call_of_rwlock *const *call = row->calls; *call != NULL; call++) {
        (*call)(&lock);
    }
}

static void expect_each(struct calls *rows, size_t count) {
    for (size_t i = 0; i < count; i++) {
        expect_misuse(make_calls, &rows[i], rows[i].name, rows[i].text);
    }
}

static void one_reader_too_many(void *context) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_atomic_store(&lock.word, ILK__RWLOCK_READERS, memory_order_relaxed); /* as if 131,071 had come */
    ilk_rwlock_read_lock(&lock);
}
/* contract: ilk_rwlock_destroy, ilk_rwlock_downgrade, ilk_rwlock_read_lock, ilk_rwlock_read_unlock */
/* contract: ilk_rwlock_upgradable_unlock, ilk_rwlock_upgrade, ilk_rwlock_write_unlock */
TEST(rwlock_misuse_is_reported) {
    static struct calls rows[] = {
        {{ilk_rwlock_read_unlock}, "ilk_rwlock_read_unlock", "no reader holds the lock; the lock is free"},
        {{ilk_rwlock_write_lock, ilk_rwlock_read_unlock},
         "ilk_rwlock_read_unlock",
         "the lock is held for writing"},
        {{ilk_rwlock_upgradable_lock, ilk_rwlock_read_unlock},
         "ilk_rwlock_read_unlock",
         "the lock is held upgradable"},
        {{ilk_rwlock_write_unlock}, "ilk_rwlock_write_unlock", "no writer holds the lock; the lock is free"},
        {{ilk_rwlock_read_lock, ilk_rwlock_read_lock, ilk_rwlock_write_unlock},
         "ilk_rwlock_write_unlock",
         "the lock is held by 2 readers"},
        {{ilk_rwlock_upgradable_lock, ilk_rwlock_write_unlock},
         "ilk_rwlock_write_unlock",
         "the lock is held upgradable"},
        {{ilk_rwlock_downgrade}, "ilk_rwlock_downgrade", "the lock is free"},
        {{ilk_rwlock_read_lock, ilk_rwlock_downgrade},
         "ilk_rwlock_downgrade",
         "the lock is held by 1 reader"},
        {{ilk_rwlock_upgradable_unlock}, "ilk_rwlock_upgradable_unlock", "the lock is free"},
        {{ilk_rwlock_upgradable_lock, ilk_rwlock_upgrade, ilk_rwlock_upgradable_unlock},
         "ilk_rwlock_upgradable_unlock",
         "the lock is held for writing"},
        {{ilk_rwlock_upgrade}, "ilk_rwlock_upgrade", "no thread holds the lock upgradable; the lock is free"},
        {{ilk_rwlock_read_lock, ilk_rwlock_upgrade}, "ilk_rwlock_upgrade", "the lock is held by 1 reader"},
        {{ilk_rwlock_read_lock, ilk_rwlock_destroy},
         "ilk_rwlock_destroy",
         "destroyed while in use; the lock is held by 1 reader"},
        {{ilk_rwlock_write_lock, ilk_rwlock_destroy},
         "ilk_rwlock_destroy",
         "destroyed while in use; the lock is held for writing"},
        {{ilk_rwlock_upgradable_lock, ilk_rwlock_destroy},
         "ilk_rwlock_destroy",
         "destroyed while in use; the lock is held upgradable"},
    };
    expect_each(rows, sizeof rows / sizeof *rows);
    expect_misuse(one_reader_too_many, NULL, "ilk_rwlock_read_lock", "65535 readers");
}

/* A thread that waits for itself. A reader's slot tells of it in every build. */

static void write_while_reading_in_a_slot(void *context) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock);
    ilk_rwlock_read_lock(&lock);
    ilk_rwlock_write_lock(&lock);
}

static void upgrade_while_reading_in_a_slot(void *context) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock);
    ilk_rwlock_read_lock(&lock);
    ilk_rwlock_upgradable_lock(&lock);
    ilk_rwlock_upgrade(&lock);
}

TEST(waiting_for_oneself_in_a_slot_is_reported) {
    static const struct misuse table[] = {
        {write_while_reading_in_a_slot, "ilk_rwlock_write_lock",
         "the calling thread would wait for itself: it reads under the lock already"},
        {upgrade_while_reading_in_a_slot, "ilk_rwlock_upgrade", "the calling thread would wait for itself"},
    };
    EXPECT_ALL(table);
}

static void try_to_write(ilk_rwlock *lock) {
    check(ilk_rwlock_try_write_lock(lock));
}

static void read_until(ilk_rwlock *lock) {
    check_equal(ilk_rwlock_read_lock_until(lock, ILK_FOREVER), ILK_OK);
}

static void write_until(ilk_rwlock *lock) {
    check_equal(ilk_rwlock_write_lock_until(lock, ILK_FOREVER), ILK_OK);
}

static void take_for_writing(void *context) {
    ilk_rwlock_write_lock(context);
}

static void come_to_write(ilk_rwlock *lock) {
    misuse_beside(take_for_writing, lock);
}

TEST(waiting_for_oneself_is_reported_in_a_checked_build) {
    static const char text[] = "the calling thread would wait for itself: it holds the lock already";
    static struct calls rows[] = {
        {{ilk_rwlock_write_lock, ilk_rwlock_write_lock}, "ilk_rwlock_write_lock", text},
        {{try_to_write, ilk_rwlock_read_lock}, "ilk_rwlock_read_lock", text},
        {{read_until, ilk_rwlock_write_lock}, "ilk_rwlock_write_lock", text},
        {{write_until, ilk_rwlock_downgrade, ilk_rwlock_write_lock}, "ilk_rwlock_write_lock", text},
        {{ilk_rwlock_upgradable_lock, ilk_rwlock_upgradable_lock}, "ilk_rwlock_upgradable_lock", text},
        {{ilk_rwlock_read_lock, come_to_write, ilk_rwlock_read_lock}, "ilk_rwlock_read_lock", text},
    };
    skip_unless_checked();
    expect_each(rows, sizeof rows / sizeof *rows);
}

/* The facade's lock, in every build: taken again by its writing or upgradable holder. */
static const char *const section = "called from inside a write or upgradable section of the same lock";

static void owned_write_in_write(void *context) {
    static ilk__owned_rwlock owned;
    ilk__owned_write_lock(&owned, "the call");
    ilk__owned_write_lock(&owned, "the call");
}
static void owned_read_in_write(void *context) {
    static ilk__owned_rwlock owned;
    ilk__owned_write_lock(&owned, "the call");
    (void)ilk__owned_read_lock(&owned, "the call");
}
static void owned_upgradable_in_write(void *context) {
    static ilk__owned_rwlock owned;
    ilk__owned_write_lock(&owned, "the call");
    ilk__owned_upgradable_lock(&owned, "the call");
}
static void owned_write_in_upgradable(void *context) {
    static ilk__owned_rwlock owned;
    ilk__owned_upgradable_lock(&owned, "the call");
    ilk__owned_write_lock(&owned, "the call");
}
static void write_owned(void *context) {
    ilk__owned_write_lock(context, "another call");
}
static void owned_read_in_upgradable_behind_a_writer(void *context) {
    static ilk__owned_rwlock owned;
    ilk__owned_upgradable_lock(&owned, "the call");
    misuse_beside(write_owned, &owned);
    (void)ilk__owned_read_lock(&owned, "the call");
}

ilk_status __real_ilk__read_section_begin_at(ilk_rwlock *lock, ilk__read_section *section,
                                             uint64_t deadline_ns, const void *site);
ilk_status __wrap_ilk__read_section_begin_at(ilk_rwlock *lock, ilk__read_section *section,
                                             uint64_t deadline_ns, const void *site);

static ilk__owned_rwlock *written_before_the_wait;

ilk_status __wrap_ilk__read_section_begin_at(ilk_rwlock *lock, ilk__read_section *section,
                                             uint64_t deadline_ns, const void *site) {
    if (written_before_the_wait != NULL) {
        misuse_beside(write_owned, written_before_the_wait);
    }
    return __real_ilk__read_section_begin_at(lock, section, deadline_ns, site);
}

/*   the owner's read                       a writer
 *     no writer waits
 *                                            queues behind the upgradable access
 *     would wait behind it                                                        */
static void owned_read_in_upgradable_as_a_writer_queues(void *context) {
    static ilk__owned_rwlock owned;
    ilk__owned_upgradable_lock(&owned, "the call");
    owned.lock.word |= ILK__RWLOCK_READ_SAMPLES; /* the next read goes slow */
    written_before_the_wait = &owned;
    (void)ilk__owned_read_lock(&owned, "the call");
}
/* contract: ReadWriteLock */
TEST(taking_an_owned_lock_again_is_reported) {
    const struct misuse table[] = {
        {owned_write_in_write, "the call", section},
        {owned_read_in_write, "the call", section},
        {owned_upgradable_in_write, "the call", section},
        {owned_write_in_upgradable, "the call", section},
        {owned_read_in_upgradable_behind_a_writer, "the call", section},
        {owned_read_in_upgradable_as_a_writer_queues, "the call", section},
    };
    EXPECT_ALL(table);
    /* No owner after each end; a read beside the thread's own upgradable access does not wait. */
    ilk__owned_rwlock owned = {ILK_RWLOCK_INIT, 0};
    for (int round = 0; round < 2; round++) {
        ilk__owned_write_lock(&owned, "the call");
        ilk__owned_write_unlock(&owned);
        ilk__owned_upgradable_lock(&owned, "the call");
        ilk__read_section inner = ilk__owned_read_lock(&owned, "the call");
        ilk__read_section_end(&owned.lock, inner);
        ilk__owned_upgradable_unlock(&owned);
        ilk__owned_write_lock(&owned, "the call");
        ilk__owned_downgrade(&owned);
        check_equal(owned.owner, 0);
        ilk__read_section_end(&owned.lock, ilk__read_section_downgraded());
    }
}

static void unlock_read(void *context) {
    ilk_rwlock_read_unlock(context);
}
static void unlock_write(void *context) {
    ilk_rwlock_write_unlock(context);
}
static void unlock_upgradable(void *context) {
    ilk_rwlock_upgradable_unlock(context);
}
static void unlock_read_beside(ilk_rwlock *lock) {
    misuse_beside(unlock_read, lock);
}
static void unlock_write_beside(ilk_rwlock *lock) {
    misuse_beside(unlock_write, lock);
}
static void unlock_upgradable_beside(ilk_rwlock *lock) {
    misuse_beside(unlock_upgradable, lock);
}

TEST(unlocking_elsewhere_is_reported_in_a_checked_build) {
    static const char text[] = "the calling thread does not hold it, another thread does";
    static struct calls rows[] = {
        {{ilk_rwlock_read_lock, unlock_read_beside}, "ilk_rwlock_read_unlock", text},
        {{ilk_rwlock_write_lock, unlock_write_beside}, "ilk_rwlock_write_unlock", text},
        {{ilk_rwlock_upgradable_lock, unlock_upgradable_beside}, "ilk_rwlock_upgradable_unlock", text},
    };
    skip_unless_checked();
    expect_each(rows, sizeof rows / sizeof *rows);
    /* Balanced, though more locks are held than recorded. */
    static ilk_rwlock locks[40];
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned index = 0; index < 40; index++) {
            ilk_rwlock_read_lock(&locks[index]);
        }
        for (unsigned index = 0; index < 40; index++) {
            ilk_rwlock_read_unlock(&locks[index]);
        }
    }
}

static void read_and_unlock(void *context) {
    ilk_rwlock_read_lock(context);
    ilk_rwlock_read_unlock(context);
}

/* A try leaves it to the next call that may wait to ask whether the lock is watched; until then, and after it, the lock
 * is held by the thread that tried, or, if it is plain, by none. */
TEST(a_lock_whose_first_call_is_a_try_is_listed_while_all_are_watched) {
    skip_unless_checked();
    static ilk_rwlock read = ILK_RWLOCK_INIT, written = ILK_RWLOCK_INIT, plain = ILK_RWLOCK_INIT_PLAIN;
    struct thread thread;
    ilk_diagnose(ILK_DIAGNOSE_HANG);
    check(ilk_rwlock_try_read_lock(&read));
    thread_start(&thread, read_and_unlock, &read);
    thread_join(&thread);
    ilk_rwlock_read_unlock(&read);
    check(ilk_rwlock_try_write_lock(&written));
    check_equal(ilk_rwlock_write_lock_until(&written, 0), ILK_TIMEDOUT);
    ilk_rwlock_write_unlock(&written);
    check(ilk_rwlock_try_write_lock(&plain));
    thread_start(&thread, unlock_write, &plain);
    thread_join(&thread);
    ilk_diagnose(0);
}

TEST(recursion_that_need_not_wait_is_let_be) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_rwlock_read_lock(&lock);
    ilk_rwlock_read_lock(&lock);
    check(!ilk_rwlock_try_write_lock(&lock));
    check_equal(ilk_rwlock_write_lock_until(&lock, 0), ILK_TIMEDOUT); /* a wait with a limit ends */
    ilk_rwlock_read_unlock(&lock);
    ilk_rwlock_read_unlock(&lock);
    ilk_rwlock_write_lock(&lock); /* what was held is no longer recorded */
    ilk_rwlock_write_unlock(&lock);
    ilk_rwlock_upgradable_lock(&lock);
    ilk_rwlock_upgrade(&lock);
    ilk_rwlock_write_unlock(&lock);
    ilk_rwlock_destroy(&lock);
}

static void name_and_misuse(void *context) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    check_equal(ilk_set_name(&lock, "orders"), ILK_OK);
    ilk_rwlock_write_unlock(&lock);
}

TEST(misuse_names_the_object) {
    expect_misuse(name_and_misuse, NULL, "ilk_rwlock_write_unlock", " \"orders\"): no writer holds");
}
