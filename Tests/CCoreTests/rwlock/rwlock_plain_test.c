/* SPDX-License-Identifier: Apache-2.0
 *
 * Plain locks (ilk_rwlock_init_plain): without reader slots, so that any thread gives up what another took, and nothing
 * is kept for a thread.
 */
/* contract: rwlock.h */
#include "support/fork.h"
#include "support/rwlock_actor.h"
#include "support/rwlock_mode.h"
#include "support/test.h"
#include <interlock/diagnostics.h>
#include <stdio.h>
#include <unistd.h>

enum { READS = 20000 }; /* more than any other lock is read before it has slots */

static void read_often(ilk_rwlock *lock) {
    for (int read = 0; read < READS; read++) {
        ilk_rwlock_read_lock(lock);
        check_equal(counted_readers(lock), 1);
        ilk_rwlock_read_unlock(lock);
        if (read % 64 == 0) {
            ilk_rwlock_write_lock(lock);
            ilk_rwlock_write_unlock(lock);
        }
    }
    check_equal(mode_of(lock), 0);
}

static void read_without_slots(void *context) {
    read_often(context);
    check(ilk__my_slots() == &ilk__no_slots_2);
}

static void check_plain(ilk_rwlock *lock) {
    struct thread thread; /* without reader slots at first */
    thread_start(&thread, read_without_slots, lock);
    thread_join(&thread);
    check_free_and_destroy(lock);
}

TEST(a_plain_lock_has_no_reader_slots) {
    ilk_rwlock usual = ILK_RWLOCK_INIT, initialised;
    static ilk_rwlock defined = ILK_RWLOCK_INIT_PLAIN;
    move_to_slots(&usual); /* the control */
    check_free_and_destroy(&usual);
    ilk_rwlock_init_plain(&initialised);
    check_plain(&initialised);
    check_plain(&defined);
}

TEST(a_plain_lock_that_was_watched_stays_plain) {
    static ilk_rwlock first_used_while_watched = ILK_RWLOCK_INIT_PLAIN;
    static ilk_rwlock tried_first = ILK_RWLOCK_INIT_PLAIN;
    ilk_diagnose(ILK_DIAGNOSE_CONTENTION);
    ilk_rwlock_read_lock(&first_used_while_watched);
    ilk_rwlock_read_unlock(&first_used_while_watched);
    check(ilk_rwlock_try_write_lock(&tried_first));
    ilk_rwlock_write_unlock(&tried_first);
    ilk_diagnose(0);
    check_plain(&first_used_while_watched);
    check_plain(&tried_first);
}

/* ---- Memory ---- */

void *__real_ilk__pages_allocate(size_t size);
void *__wrap_ilk__pages_allocate(size_t size);

static ILK_ATOMIC(int) mappings;

void *__wrap_ilk__pages_allocate(size_t size) {
    ilk_atomic_fetch_add(&mappings, 1, memory_order_relaxed);
    return __real_ilk__pages_allocate(size);
}

/* Sixty threads at a time. */
static int mappings_of_readers(ilk_rwlock *lock) {
    enum { READERS = 60 };
    struct actor readers[READERS];
    const int before = ilk_atomic_load(&mappings, memory_order_relaxed);
    for (int i = 0; i < READERS; i++) {
        actor_enter(&readers[i], lock, READ);
    }
    for (int i = 0; i < READERS; i++) {
        actor_leave(&readers[i]);
    }
    return ilk_atomic_load(&mappings, memory_order_relaxed) - before;
}

TEST(each_further_32_readers_map_pages_once) {
    ilk_rwlock usual = ILK_RWLOCK_INIT, plain = ILK_RWLOCK_INIT_PLAIN;
    check_equal(mappings_of_readers(&plain), 0);
    move_to_slots(&usual);
    check_equal(mappings_of_readers(&usual), 1);
    check_equal(mappings_of_readers(&usual), 0);
    check_free_and_destroy(&usual);
    check_free_and_destroy(&plain);
}

/* ---- Given up elsewhere ---- */

static void end_read(void *context) {
    ilk_rwlock_read_unlock(context);
}

static void end_write(void *context) {
    ilk_rwlock_write_unlock(context);
}

static void upgrade_and_end(void *context) {
    ilk_rwlock_upgrade(context);
    ilk_rwlock_downgrade(context);
    ilk_rwlock_read_unlock(context);
}

static void elsewhere(thread_body *body, ilk_rwlock *lock) {
    struct thread thread;
    thread_start(&thread, body, lock);
    thread_join(&thread);
}

/* Beside a waiter too. Also in a checked build, which lists no plain lock. */
TEST(another_thread_gives_up_what_was_taken_of_a_plain_lock) {
    static ilk_rwlock lock = ILK_RWLOCK_INIT_PLAIN;
    for (int round = 0; round < 100; round++) {
        ilk_rwlock_read_lock(&lock);
        ilk_rwlock_read_lock(&lock);
        elsewhere(end_read, &lock);
        check_equal(counted_readers(&lock), 1);
        struct actor writer;
        actor_queue(&writer, &lock, WRITE, NULL);
        elsewhere(end_read, &lock);
        actor_await_inside(&writer);
        actor_leave(&writer);
        ilk_rwlock_write_lock(&lock);
        elsewhere(end_write, &lock);
        ilk_rwlock_upgradable_lock(&lock);
        elsewhere(upgrade_and_end, &lock);
    }
    check_free_and_destroy(&lock);
}

/* ---- Fork ---- */

/* Readers of other threads are counted, and so they stay in the child, until it begins the lock anew. */
TEST(a_child_begins_a_plain_lock_anew) {
    need_children();
    static ilk_rwlock lock = ILK_RWLOCK_INIT_PLAIN;
    struct actor reader;
    actor_enter(&reader, &lock, READ);
    ilk_rwlock_read_lock(&lock);
    fflush(NULL);
    pid_t child = fork();
    if (is_child(child)) {
        ilk_rwlock_read_unlock(&lock);
        check_equal(counted_readers(&lock), 1);
        check(!ilk_rwlock_try_write_lock(&lock));
        ilk_rwlock_init_plain(&lock);
        check(ilk_rwlock_try_write_lock(&lock));
        ilk_rwlock_write_unlock(&lock);
        check_plain(&lock);
        _exit(7);
    }
    expect_exit(child, 7);
    ilk_rwlock_read_unlock(&lock);
    actor_leave(&reader);
    check_free_and_destroy(&lock);
}
