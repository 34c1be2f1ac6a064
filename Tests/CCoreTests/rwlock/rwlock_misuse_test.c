/* SPDX-License-Identifier: Apache-2.0
 *
 * Misuse of ilk_rwlock, call by call.
 */
/* contract: diagnostics.h, rwlock.h */
#include "support/misuse.h"
#include "support/rwlock_mode.h"
#include <interlock/inline/owned_rwlock.h>
#include <interlock/interlock.h>

static void read_unlock_free(void *context) {
    (void)context;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_rwlock_read_unlock(&lock);
}

static void read_unlock_written(void *context) {
    (void)context;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_rwlock_write_lock(&lock);
    ilk_rwlock_read_unlock(&lock);
}

static void read_unlock_upgradable(void *context) {
    (void)context;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_rwlock_upgradable_lock(&lock);
    ilk_rwlock_read_unlock(&lock);
}

static void write_unlock_free(void *context) {
    (void)context;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_rwlock_write_unlock(&lock);
}

static void write_unlock_read(void *context) {
    (void)context;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_rwlock_read_lock(&lock);
    ilk_rwlock_read_lock(&lock);
    ilk_rwlock_write_unlock(&lock);
}

static void write_unlock_upgradable(void *context) {
    (void)context;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_rwlock_upgradable_lock(&lock);
    ilk_rwlock_write_unlock(&lock);
}

static void downgrade_free(void *context) {
    (void)context;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_rwlock_downgrade(&lock);
}

static void downgrade_read(void *context) {
    (void)context;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_rwlock_read_lock(&lock);
    ilk_rwlock_downgrade(&lock);
}

static void upgradable_unlock_free(void *context) {
    (void)context;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_rwlock_upgradable_unlock(&lock);
}

static void upgradable_unlock_upgraded(void *context) {
    (void)context;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_rwlock_upgradable_lock(&lock);
    ilk_rwlock_upgrade(&lock);
    ilk_rwlock_upgradable_unlock(&lock);
}

static void upgrade_free(void *context) {
    (void)context;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_rwlock_upgrade(&lock);
}

static void upgrade_read(void *context) {
    (void)context;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_rwlock_read_lock(&lock);
    ilk_rwlock_upgrade(&lock);
}

static void destroy_read(void *context) {
    (void)context;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_rwlock_read_lock(&lock);
    ilk_rwlock_destroy(&lock);
}

static void destroy_written(void *context) {
    (void)context;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_rwlock_write_lock(&lock);
    ilk_rwlock_destroy(&lock);
}

static void destroy_upgradable(void *context) {
    (void)context;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_rwlock_upgradable_lock(&lock);
    ilk_rwlock_destroy(&lock);
}

static void one_reader_too_many(void *context) {
    (void)context;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_atomic_store(&lock.word, ILK__RWLOCK_READERS, memory_order_relaxed); /* as if 131,071 had come */
    ilk_rwlock_read_lock(&lock);
}
/* contract: ilk_rwlock_destroy, ilk_rwlock_downgrade, ilk_rwlock_read_lock, ilk_rwlock_read_unlock */
/* contract: ilk_rwlock_upgradable_unlock, ilk_rwlock_upgrade, ilk_rwlock_write_unlock */
static void rwlock_misuse_is_reported(void **state) {
    (void)state;
    static const struct misuse table[] = {
        {read_unlock_free, "ilk_rwlock_read_unlock", "no reader holds the lock; the lock is free"},
        {read_unlock_written, "ilk_rwlock_read_unlock", "the lock is held for writing"},
        {read_unlock_upgradable, "ilk_rwlock_read_unlock", "the lock is held upgradable"},
        {write_unlock_free, "ilk_rwlock_write_unlock", "no writer holds the lock; the lock is free"},
        {write_unlock_read, "ilk_rwlock_write_unlock", "the lock is held by 2 readers"},
        {write_unlock_upgradable, "ilk_rwlock_write_unlock", "the lock is held upgradable"},
        {downgrade_free, "ilk_rwlock_downgrade", "the lock is free"},
        {downgrade_read, "ilk_rwlock_downgrade", "the lock is held by 1 reader"},
        {upgradable_unlock_free, "ilk_rwlock_upgradable_unlock", "the lock is free"},
        {upgradable_unlock_upgraded, "ilk_rwlock_upgradable_unlock", "the lock is held for writing"},
        {upgrade_free, "ilk_rwlock_upgrade", "no thread holds the lock upgradable; the lock is free"},
        {upgrade_read, "ilk_rwlock_upgrade", "the lock is held by 1 reader"},
        {destroy_read, "ilk_rwlock_destroy", "destroyed while in use; the lock is held by 1 reader"},
        {destroy_written, "ilk_rwlock_destroy", "destroyed while in use; the lock is held for writing"},
        {destroy_upgradable, "ilk_rwlock_destroy", "destroyed while in use; the lock is held upgradable"},
        {one_reader_too_many, "ilk_rwlock_read_lock", "65535 readers"},
    };
    EXPECT_ALL(table);
}

/* A thread that waits for itself. A reader's slot tells of it in every build. */

static void write_while_reading_in_a_slot(void *context) {
    (void)context;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock);
    ilk_rwlock_read_lock(&lock);
    ilk_rwlock_write_lock(&lock);
}

static void upgrade_while_reading_in_a_slot(void *context) {
    (void)context;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock);
    ilk_rwlock_read_lock(&lock);
    ilk_rwlock_upgradable_lock(&lock);
    ilk_rwlock_upgrade(&lock);
}

static void waiting_for_oneself_in_a_slot_is_reported(void **state) {
    (void)state;
    static const struct misuse table[] = {
        {write_while_reading_in_a_slot, "ilk_rwlock_write_lock",
         "the calling thread would wait for itself: it reads under the lock already"},
        {upgrade_while_reading_in_a_slot, "ilk_rwlock_upgrade", "the calling thread would wait for itself"},
    };
    EXPECT_ALL(table);
}

static void write_twice(void *context) {
    (void)context;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_rwlock_write_lock(&lock);
    ilk_rwlock_write_lock(&lock);
}

static void read_while_writing(void *context) {
    (void)context;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    check(ilk_rwlock_try_write_lock(&lock));
    ilk_rwlock_read_lock(&lock);
}

static void write_while_reading(void *context) {
    (void)context;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    check_equal(ilk_rwlock_read_lock_until(&lock, ILK_FOREVER), ILK_OK);
    ilk_rwlock_write_lock(&lock);
}

static void write_after_downgrade(void *context) {
    (void)context;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    check_equal(ilk_rwlock_write_lock_until(&lock, ILK_FOREVER), ILK_OK);
    ilk_rwlock_downgrade(&lock);
    ilk_rwlock_write_lock(&lock);
}

static void upgradable_twice(void *context) {
    (void)context;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_rwlock_upgradable_lock(&lock);
    ilk_rwlock_upgradable_lock(&lock);
}

static void take_for_writing(void *context) {
    ilk_rwlock_write_lock(context);
}

static void read_again_behind_a_writer(void *context) {
    (void)context;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_rwlock_read_lock(&lock);
    misuse_beside(take_for_writing, &lock);
    ilk_rwlock_read_lock(&lock);
}

static void waiting_for_oneself_is_reported_in_a_checked_build(void **state) {
    (void)state;
#ifdef ILK_CHECKED
    static const char *const text = "the calling thread would wait for itself: it holds the lock already";
    const struct misuse table[] = {
        {write_twice, "ilk_rwlock_write_lock", text},
        {read_while_writing, "ilk_rwlock_read_lock", text},
        {write_while_reading, "ilk_rwlock_write_lock", text},
        {write_after_downgrade, "ilk_rwlock_write_lock", text},
        {upgradable_twice, "ilk_rwlock_upgradable_lock", text},
        {read_again_behind_a_writer, "ilk_rwlock_read_lock", text},
    };
    EXPECT_ALL(table);
#else
    (void)write_twice, (void)read_while_writing, (void)write_while_reading, (void)write_after_downgrade;
    (void)upgradable_twice, (void)read_again_behind_a_writer;
    print_message("skipped: only a checked build records what a thread holds (-DINTERLOCK_CHECKED=ON)\n");
    skip();
#endif
}

/* The facade's lock, in every build: taken again by its writing or upgradable holder. */
static const char *const section = "called from inside a write or upgradable section of the same lock";

static void owned_write_in_write(void *context) {
    (void)context;
    static ilk__owned_rwlock owned;
    ilk__owned_write_lock(&owned, "the call");
    ilk__owned_write_lock(&owned, "the call");
}
static void owned_read_in_write(void *context) {
    (void)context;
    static ilk__owned_rwlock owned;
    ilk__owned_write_lock(&owned, "the call");
    (void)ilk__owned_read_lock(&owned, "the call");
}
static void owned_upgradable_in_write(void *context) {
    (void)context;
    static ilk__owned_rwlock owned;
    ilk__owned_write_lock(&owned, "the call");
    ilk__owned_upgradable_lock(&owned, "the call");
}
static void owned_write_in_upgradable(void *context) {
    (void)context;
    static ilk__owned_rwlock owned;
    ilk__owned_upgradable_lock(&owned, "the call");
    ilk__owned_write_lock(&owned, "the call");
}
static void write_owned(void *context) {
    ilk__owned_write_lock(context, "another call");
}
static void owned_read_in_upgradable_behind_a_writer(void *context) {
    (void)context;
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
    (void)context;
    static ilk__owned_rwlock owned;
    ilk__owned_upgradable_lock(&owned, "the call");
    owned.lock.word |= ILK__RWLOCK_READ_SAMPLES; /* the next read goes slow */
    written_before_the_wait = &owned;
    (void)ilk__owned_read_lock(&owned, "the call");
}
/* contract: ReadWriteLock */
static void taking_an_owned_lock_again_is_reported(void **state) {
    (void)state;
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
static void unlock_a_read_elsewhere(void *context) {
    (void)context;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_rwlock_read_lock(&lock);
    misuse_beside(unlock_read, &lock);
}
static void unlock_a_write_elsewhere(void *context) {
    (void)context;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_rwlock_write_lock(&lock);
    misuse_beside(unlock_write, &lock);
}
static void unlock_upgradable_elsewhere(void *context) {
    (void)context;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_rwlock_upgradable_lock(&lock);
    misuse_beside(unlock_upgradable, &lock);
}

static void unlocking_elsewhere_is_reported_in_a_checked_build(void **state) {
    (void)state;
#ifdef ILK_CHECKED
    static const char *const text = "the calling thread does not hold it, another thread does";
    const struct misuse table[] = {
        {unlock_a_read_elsewhere, "ilk_rwlock_read_unlock", text},
        {unlock_a_write_elsewhere, "ilk_rwlock_write_unlock", text},
        {unlock_upgradable_elsewhere, "ilk_rwlock_upgradable_unlock", text},
    };
    EXPECT_ALL(table);
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
#else
    (void)unlock_a_read_elsewhere, (void)unlock_a_write_elsewhere, (void)unlock_upgradable_elsewhere;
    print_message("skipped: only a checked build records what a thread holds (-DINTERLOCK_CHECKED=ON)\n");
    skip();
#endif
}

static void read_and_unlock(void *context) {
    ilk_rwlock_read_lock(context);
    ilk_rwlock_read_unlock(context);
}

/* A try leaves it to the next call that may wait to ask whether the lock is watched; until then, and after it, the lock
 * is held by the thread that tried, or, if it is plain, by none. */
static void a_lock_whose_first_call_is_a_try_is_listed_while_all_are_watched(void **state) {
    (void)state;
#ifdef ILK_CHECKED
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
#else
    (void)read_and_unlock;
    print_message("skipped: only a checked build records what a thread holds (-DINTERLOCK_CHECKED=ON)\n");
    skip();
#endif
}

static void recursion_that_need_not_wait_is_let_be(void **state) {
    (void)state;
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
    (void)context;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    check_equal(ilk_set_name(&lock, "orders"), ILK_OK);
    ilk_rwlock_write_unlock(&lock);
}

static void misuse_names_the_object(void **state) {
    (void)state;
    expect_misuse(name_and_misuse, NULL, "ilk_rwlock_write_unlock", " \"orders\"): no writer holds");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(rwlock_misuse_is_reported),
    cmocka_unit_test(waiting_for_oneself_in_a_slot_is_reported),
    cmocka_unit_test(waiting_for_oneself_is_reported_in_a_checked_build),
    cmocka_unit_test(taking_an_owned_lock_again_is_reported),
    cmocka_unit_test(unlocking_elsewhere_is_reported_in_a_checked_build),
    cmocka_unit_test(a_lock_whose_first_call_is_a_try_is_listed_while_all_are_watched),
    cmocka_unit_test(recursion_that_need_not_wait_is_let_be),
    cmocka_unit_test(misuse_names_the_object),
};

TEST_MAIN(tests)
