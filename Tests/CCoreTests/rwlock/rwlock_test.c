/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_rwlock: which modes exclude each other, which waiter is next, and deadlines. Every schedule is forced:
 * "queued" means that the kernel says the thread sleeps in the call.
 */
/* contract: interlock.h, rwlock.h */
#include "support/rwlock_actor.h"
#include "support/test.h"
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Free, and nothing left behind. The word may hold the lock's mode and its read samples. */
static void check_free(ilk_rwlock *lock) {
    check(ilk__rwlock_is_idle(ilk_atomic_load(&lock->word, memory_order_relaxed)));
    check(lock->queue == NULL);
    ilk_rwlock_destroy(lock);
}

static void check_try(ilk_rwlock *lock, bool read, bool write) {
    bool got = ilk_rwlock_try_read_lock(lock);
    check_equal(got, read);
    if (got) {
        ilk_rwlock_read_unlock(lock);
    }
    got = ilk_rwlock_try_write_lock(lock);
    check_equal(got, write);
    if (got) {
        ilk_rwlock_write_unlock(lock);
    }
}

/* ---- The matrix ---- */
/* contract: ilk_rwlock_init */
TEST(zeroed_initialised_and_static_locks_are_free) {
    static ilk_rwlock zeroed;
    ilk_rwlock at_definition = ILK_RWLOCK_INIT;
    ilk_rwlock initialised;
    memset(&initialised, 0xA5, sizeof initialised);
    ilk_rwlock_init(&initialised);
    ilk_rwlock *locks[] = {&zeroed, &at_definition, &initialised};
    for (int i = 0; i < 3; i++) {
        check_try(locks[i], true, true);
        check_free(locks[i]);
    }
}

TEST(readers_hold_it_together) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    struct actor first, second;
    actor_enter(&first, &lock, READ);
    actor_enter(&second, &lock, READ); /* while the first is inside */
    check_try(&lock, true, false);
    actor_leave(&first);
    check_try(&lock, true, false);
    actor_leave(&second);
    check_free(&lock);
}

TEST(a_writer_holds_it_alone) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    struct actor writer, reader, second, upgradable;
    actor_enter(&writer, &lock, WRITE);
    check_try(&lock, false, false);
    actor_queue(&reader, &lock, READ, NULL);
    actor_queue(&second, &lock, WRITE, NULL);
    actor_queue(&upgradable, &lock, UPGRADABLE, NULL);
    actor_leave(&writer);
    actor_await_inside(&reader);
    actor_leave(&reader);
    actor_await_inside(&second);
    actor_leave(&second);
    actor_await_inside(&upgradable);
    actor_leave(&upgradable);
    check_free(&lock);
}

TEST(a_reader_keeps_a_writer_out) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    struct actor reader, writer;
    actor_enter(&reader, &lock, READ);
    actor_queue(&writer, &lock, WRITE, NULL);
    actor_leave(&reader);
    actor_await_inside(&writer);
    actor_leave(&writer);
    check_free(&lock);
}
/* contract: ilk_rwlock_write_lock */
TEST(a_writer_waits_for_the_last_reader) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    struct actor readers[3], writer;
    for (int i = 0; i < 3; i++) {
        actor_enter(&readers[i], &lock, READ);
    }
    actor_queue(&writer, &lock, WRITE, NULL);
    for (int i = 0; i < 3; i++) {
        check(!actor_is_inside(&writer));
        check(thread_sleeps(&writer.thread));
        actor_leave(&readers[i]);
    }
    actor_await_inside(&writer);
    actor_leave(&writer);
    check_free(&lock);
}

TEST(an_upgradable_admits_readers_and_no_others) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    struct actor upgradable, reader, second, writer;
    actor_enter(&upgradable, &lock, UPGRADABLE);
    check_try(&lock, true, false);
    actor_enter(&reader, &lock, READ);
    actor_queue(&second, &lock, UPGRADABLE, NULL);
    actor_queue(&writer, &lock, WRITE, NULL);
    actor_leave(&reader);
    check(thread_sleeps(&second.thread) && thread_sleeps(&writer.thread));
    actor_leave(&upgradable);
    actor_await_inside(&second); /* first come */
    check(thread_sleeps(&writer.thread) && !actor_is_inside(&writer));
    actor_leave(&second);
    actor_await_inside(&writer);
    actor_leave(&writer);
    check_free(&lock);
}

TEST(an_upgradable_comes_in_beside_readers) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    struct actor reader, upgradable;
    actor_enter(&reader, &lock, READ);
    actor_enter(&upgradable, &lock, UPGRADABLE);
    actor_leave(&upgradable);
    actor_leave(&reader);
    check_free(&lock);
}

/* ---- Which waiter is next (guarantees A and B) ----
 * In the drawings time runs down; R, W, U take for reading, for writing, upgradable. */

/*    R1 in
 *                W queues
 *                            R2 queues, though R1 reads
 *    R1 out
 *                W in        (R2 still waits)
 *                W out
 *                            R2 in                                                  */
/* contract: rwlock.B */
TEST(a_waiting_writer_holds_back_new_readers) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    struct actor first, writer, second;
    actor_enter(&first, &lock, READ);
    actor_queue(&writer, &lock, WRITE, NULL);
    check_try(&lock, false, false);
    check_equal(ilk_rwlock_read_lock_until(&lock, 0), ILK_TIMEDOUT);
    actor_queue(&second, &lock, READ, NULL);
    actor_leave(&first);
    actor_await_inside(&writer);
    check(!actor_is_inside(&second));
    actor_leave(&writer);
    actor_await_inside(&second);
    actor_leave(&second);
    check_free(&lock);
}

/*    W1 in
 *                W2 queues
 *                            R queues
 *    W1 out
 *                            R in, before W2: one write at most
 *                            R out
 *                W2 in                                                              */
/* contract: rwlock.A */
TEST(a_waiting_reader_is_let_in_after_one_write) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    struct actor first, second, reader;
    actor_enter(&first, &lock, WRITE);
    actor_queue(&second, &lock, WRITE, NULL);
    actor_queue(&reader, &lock, READ, NULL);
    actor_leave(&first);
    actor_await_inside(&reader);
    check(!actor_is_inside(&second));
    actor_leave(&reader);
    actor_await_inside(&second);
    actor_leave(&second);
    check_free(&lock);
}
/* contract: rwlock.A */
TEST(between_two_writers_comes_one_group_of_readers) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    struct actor writers[2], group[3], late;
    actor_enter(&writers[0], &lock, WRITE);
    for (int i = 0; i < 3; i++) {
        actor_queue(&group[i], &lock, READ, NULL);
    }
    actor_queue(&writers[1], &lock, WRITE, NULL);
    actor_leave(&writers[0]);
    for (int i = 0; i < 3; i++) {
        actor_await_inside(&group[i]);
    }
    actor_queue(&late, &lock, READ, NULL);
    for (int i = 0; i < 3; i++) {
        check(!actor_is_inside(&writers[1]));
        actor_leave(&group[i]);
    }
    actor_await_inside(&writers[1]);
    check(!actor_is_inside(&late));
    actor_leave(&writers[1]);
    actor_await_inside(&late);
    actor_leave(&late);
    check_free(&lock);
}
/* contract: rwlock.A */
TEST(writers_and_upgradables_are_served_first_come_first_served) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    struct stage arrivals = STAGE_INIT;
    struct actor holder, line[6];
    actor_enter(&holder, &lock, WRITE);
    for (int i = 0; i < 6; i++) {
        actor_queue(&line[i], &lock, i % 3 == 1 ? UPGRADABLE : WRITE, &arrivals);
    }
    actor_leave(&holder);
    for (int i = 0; i < 6; i++) {
        actor_await_inside(&line[i]);
        check_equal(line[i].place, i + 1);
        actor_leave(&line[i]);
    }
    check_free(&lock);
}

/* ---- Upgrade and downgrade ---- */
/* contract: ilk_rwlock_upgrade */
TEST(an_upgrade_alone_is_immediate) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_rwlock_upgradable_lock(&lock);
    ilk_rwlock_upgrade(&lock);
    check_try(&lock, false, false);
    ilk_rwlock_write_unlock(&lock);
    check_free(&lock);
}

/*    U in
 *                R in
 *                            W queues
 *    U upgrades: waits for R
 *                R out
 *    U writes                (W still waits, though it queued before the upgrade)
 *    U out
 *                            W in                                                   */
/* contract: ilk_rwlock_upgrade */
TEST(an_upgrade_waits_readers_out_and_goes_before_writers) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    struct actor upgradable, reader, writer;
    actor_enter(&upgradable, &lock, UPGRADABLE);
    actor_enter(&reader, &lock, READ);
    actor_queue(&writer, &lock, WRITE, NULL);
    actor_begin_upgrade(&upgradable);
    actor_await_upgrade_queued(&upgradable);
    actor_leave(&reader);
    actor_await_upgraded(&upgradable);
    check(!actor_is_inside(&writer));
    actor_leave(&upgradable);
    actor_await_inside(&writer);
    actor_leave(&writer);
    check_free(&lock);
}
/* contract: rwlock.B */
TEST(a_waiting_upgrade_holds_back_new_readers) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    struct actor upgradable, reader, late;
    actor_enter(&upgradable, &lock, UPGRADABLE);
    actor_enter(&reader, &lock, READ);
    actor_begin_upgrade(&upgradable);
    actor_await_upgrade_queued(&upgradable);
    check_try(&lock, false, false);
    actor_queue(&late, &lock, READ, NULL);
    actor_leave(&reader);
    actor_await_upgraded(&upgradable);
    check(!actor_is_inside(&late));
    actor_leave(&upgradable);
    actor_await_inside(&late);
    actor_leave(&late);
    check_free(&lock);
}

/* With a writer queued new readers wait. When the upgradable leaves, the last holder lets the writer in. */
/* contract: ilk_rwlock_upgradable_lock, ilk_rwlock_upgradable_unlock */
TEST(an_upgradable_that_leaves_lets_the_writer_in) {
    for (int upgradable_last = 0; upgradable_last < 2; upgradable_last++) {
        ilk_rwlock lock = ILK_RWLOCK_INIT;
        struct actor upgradable, reader, writer;
        actor_enter(&upgradable, &lock, UPGRADABLE);
        actor_enter(&reader, &lock, READ);
        actor_queue(&writer, &lock, WRITE, NULL);
        actor_leave(upgradable_last ? &reader : &upgradable);
        check(!actor_is_inside(&writer) && thread_sleeps(&writer.thread));
        actor_leave(upgradable_last ? &upgradable : &reader);
        actor_await_inside(&writer);
        actor_leave(&writer);
        check_free(&lock);
    }
}

/*    main writes
 *                R queues
 *                            W queues
 *    main downgrades: reads
 *                R in        (W still waits: no gap)
 *    main out, R out
 *                            W in                                                   */
/* contract: ilk_rwlock_downgrade */
TEST(a_downgrade_lets_waiting_readers_in_and_no_writer) {
    for (int order = 0; order < 2; order++) {
        ilk_rwlock lock = ILK_RWLOCK_INIT;
        struct actor reader, writer;
        ilk_rwlock_write_lock(&lock);
        if (order == 0) {
            actor_queue(&reader, &lock, READ, NULL);
        }
        actor_queue(&writer, &lock, WRITE, NULL);
        if (order == 1) {
            actor_queue(&reader, &lock, READ, NULL);
        }
        ilk_rwlock_downgrade(&lock);
        actor_await_inside(&reader);
        check(!actor_is_inside(&writer));
        ilk_rwlock_read_unlock(&lock);
        check(!actor_is_inside(&writer));
        actor_leave(&reader);
        actor_await_inside(&writer);
        actor_leave(&writer);
        check_free(&lock);
    }
}
/* contract: ilk_rwlock_downgrade */
TEST(a_downgraded_lock_admits_readers) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_rwlock_write_lock(&lock);
    ilk_rwlock_downgrade(&lock);
    check_try(&lock, true, false);
    ilk_rwlock_read_unlock(&lock);
    check_free(&lock);
}

/* ---- Deadlines (guarantee D) ---- */
/* contract: ilk_rwlock_read_lock_until, ilk_rwlock_upgradable_lock_until, ilk_rwlock_write_lock_until */
TEST(a_passed_deadline_still_takes_a_free_lock) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    check_equal(ilk_rwlock_read_lock_until(&lock, 0), ILK_OK);
    check_equal(ilk_rwlock_read_lock_until(&lock, 1), ILK_OK); /* beside a reader: no waiting either */
    ilk_rwlock_read_unlock(&lock);
    ilk_rwlock_read_unlock(&lock);
    check_equal(ilk_rwlock_write_lock_until(&lock, ilk_now_ns()), ILK_OK);
    ilk_rwlock_write_unlock(&lock);
    check_equal(ilk_rwlock_read_lock_until(&lock, 0), ILK_OK);
    check_equal(ilk_rwlock_upgradable_lock_until(&lock, 0), ILK_OK); /* beside a reader */
    check_equal(ilk_rwlock_write_lock_until(&lock, 0), ILK_TIMEDOUT);
    ilk_rwlock_read_unlock(&lock);
    ilk_rwlock_upgrade(&lock);
    ilk_rwlock_write_unlock(&lock);
    check_free(&lock);
}
/* contract: rwlock.D */
TEST(a_wait_times_out_and_not_early) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    for (int mode = READ; mode <= UPGRADABLE; mode++) {
        struct actor holder;
        actor_enter(&holder, &lock, WRITE);
        const uint64_t deadlines[] = {0, ilk_now_ns() - 1, ilk_deadline_in_ns(MILLISECONDS(3))};
        for (int i = 0; i < 3; i++) {
            ilk_status status = mode == READ    ? ilk_rwlock_read_lock_until(&lock, deadlines[i])
                                : mode == WRITE ? ilk_rwlock_write_lock_until(&lock, deadlines[i])
                                                : ilk_rwlock_upgradable_lock_until(&lock, deadlines[i]);
            check_equal(status, ILK_TIMEDOUT);
            check(ilk_now_ns() >= deadlines[i]);
        }
        actor_leave(&holder);
        check_free(&lock);
    }
}
/* contract: ilk_rwlock_read_lock_until, ilk_rwlock_upgradable_lock_until, ilk_rwlock_write_lock_until */
TEST(a_timed_wait_is_served_in_time) {
    for (int mode = READ; mode <= UPGRADABLE; mode++) {
        ilk_rwlock lock = ILK_RWLOCK_INIT;
        struct actor holder, waiter;
        actor_enter(&holder, &lock, WRITE);
        actor_start_until(&waiter, &lock, (enum mode)mode, ilk_deadline_in_ns(MILLISECONDS(100000)));
        actor_await_queued(&waiter);
        actor_leave(&holder);
        actor_await_inside(&waiter);
        actor_leave(&waiter);
        check_free(&lock);
    }
}

/*    R1 in
 *                W queues, with a deadline
 *                            R2 queues behind it
 *                W's time is up
 *                            R2 in, while R1 is still inside                        */
/* contract: rwlock.D */
TEST(a_writer_that_times_out_lets_those_behind_it_in) {
    bool forced = false;
    /* The deadline passed too early: more time. */
    for (unsigned wait_ms = 50; !forced; wait_ms *= 2) {
        ilk_rwlock lock = ILK_RWLOCK_INIT;
        struct actor first, writer, second;
        actor_enter(&first, &lock, READ);
        uint64_t deadline = ilk_deadline_in_ns(MILLISECONDS(wait_ms));
        actor_start_until(&writer, &lock, WRITE, deadline);
        while (!forced && ilk_now_ns() < deadline) {
            forced = thread_sleeps(&writer.thread);
        }
        actor_start(&second, &lock, READ, NULL);
        bool queued = false;
        while (!queued && ilk_now_ns() < deadline) {
            queued = thread_sleeps(&second.thread) && !actor_is_inside(&second);
        }
        forced = forced && queued;
        actor_join_timed_out(&writer);
        actor_await_inside(&second);
        actor_leave(&second);
        actor_leave(&first);
        check_free(&lock);
    }
}
/* contract: rwlock.D */
TEST(signals_do_not_move_the_deadline) {
    thread_allow_interrupts();
    for (int mode = READ; mode <= WRITE; mode++) {
        ilk_rwlock lock = ILK_RWLOCK_INIT;
        struct actor holder, waiter;
        actor_enter(&holder, &lock, WRITE);
        uint64_t deadline = ilk_deadline_in_ns(MILLISECONDS(30));
        actor_start_until(&waiter, &lock, (enum mode)mode, deadline);
        while (!thread_is_done(&waiter.thread)) {
            thread_interrupt(&waiter.thread); /* a wait begun anew each time would not end */
        }
        check(ilk_now_ns() >= deadline);
        actor_join_timed_out(&waiter);
        actor_leave(&holder);
        check_free(&lock);
    }
}

/* Untimed waits go on through signals too. */
/* contract: rwlock.D */
TEST(signals_do_not_end_a_wait) {
    thread_allow_interrupts();
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    struct actor holder, waiter;
    actor_enter(&holder, &lock, WRITE);
    actor_queue(&waiter, &lock, READ, NULL);
    for (int i = 0; i < 100; i++) {
        thread_interrupt(&waiter.thread);
        thread_await_sleep(&waiter.thread);
        check(!actor_is_inside(&waiter));
    }
    actor_leave(&holder);
    actor_await_inside(&waiter);
    actor_leave(&waiter);
    check_free(&lock);
}

TEST(a_wait_is_not_a_cancellation_point) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    struct actor holder, waiter;
    actor_enter(&holder, &lock, READ);
    actor_queue(&waiter, &lock, WRITE, NULL);
    check_equal(pthread_cancel(waiter.thread.id), 0);
    check(thread_sleeps(&waiter.thread));
    actor_leave(&holder);
    actor_await_inside(&waiter); /* then cancelled: the wait for orders is a cancellation point */
    check_equal(pthread_join(waiter.thread.id, NULL), 0); /* its clean-up handler has unlocked */
    check_free(&lock);
}

TEST(a_child_after_fork_can_use_its_copy) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_rwlock_read_lock(&lock);
    fflush(NULL);
    pid_t child = fork();
    check(child >= 0);
    if (child == 0) {
        ilk_rwlock_read_unlock(&lock);
        struct actor writer;
        actor_enter(&writer, &lock, WRITE);
        actor_leave(&writer);
        _exit(ilk__rwlock_is_idle(ilk_atomic_load(&lock.word, memory_order_relaxed)) ? 0 : 1);
    }
    int status;
    check_equal(waitpid(child, &status, 0), child);
    check(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    ilk_rwlock_read_unlock(&lock);
    check_free(&lock);
}
