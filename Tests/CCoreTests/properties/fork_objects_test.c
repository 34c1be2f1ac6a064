/* SPDX-License-Identifier: Apache-2.0
 *
 * fork while objects are held or waited for: which a child may go on using, and which it initialises anew
 * (docs/fork.md).
 */
/* contract: mutex.h */
#include "support/fork.h"
#include "support/rwlock_actor.h"
#include "support/rwlock_mode.h"
#include <interlock/interlock.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- Mutexes ---- */

static const bool inherits[] = {false, true}; /* the two kinds of mutex */
enum { KINDS = sizeof inherits / sizeof *inherits };

static void lock_and_unlock(void *context) {
    ilk_mutex *mutex = context;
    ilk_mutex_lock(mutex);
    ilk_mutex_unlock(mutex);
}

/* The child unlocks what the parent's thread had locked, also with a waiter of its own. */
static int give_up_in_child(ilk_mutex *mutex, bool with_waiter) {
    struct thread waiter;
    if (with_waiter) {
        thread_start(&waiter, lock_and_unlock, mutex);
        thread_await_sleep(&waiter);
        if (ilk_mutex_try_lock(mutex)) {
            return 3;
        }
    }
    ilk_mutex_unlock(mutex);
    if (with_waiter) {
        thread_join(&waiter);
    }
    for (int times = 0; times < 2; times++) { /* free and as good as new */
        if (!ilk_mutex_try_lock(mutex)) {
            return 4;
        }
        thread_start(&waiter, lock_and_unlock, mutex);
        thread_await_sleep(&waiter);
        ilk_mutex_unlock(mutex);
        thread_join(&waiter);
    }
    return 7;
}

TEST(a_child_gives_up_the_mutexes_of_the_thread_that_forked) {
    need_children();
    for (int round = 0; round < 8; round++) {
        ilk_mutex mutex;
        ilk_mutex_init(&mutex, inherits[round % KINDS]);
        const bool waiter_in_parent = round / 2 % 2 == 0, waiter_in_child = round / 4 == 0;
        struct thread waiter;
        ilk_mutex_lock(&mutex);
        if (waiter_in_parent) {
            thread_start(&waiter, lock_and_unlock, &mutex);
            thread_await_sleep(&waiter);
        }
        fflush(NULL);
        pid_t child = fork();
        if (is_child(child)) {
            _exit(give_up_in_child(&mutex, waiter_in_child));
        }
        expect_exit(child, 7);
        ilk_mutex_unlock(&mutex);
        if (waiter_in_parent) {
            thread_join(&waiter);
        }
        check(ilk_mutex_try_lock(&mutex));
        ilk_mutex_unlock(&mutex);
    }
}

/* As daemons fork. */
TEST(a_mutex_may_be_held_through_several_forks) {
    need_children();
    for (int kind = 0; kind < KINDS; kind++) {
        ilk_mutex mutex, later;
        ilk_mutex_init(&mutex, inherits[kind]);
        ilk_mutex_init(&later, inherits[kind]);
        ilk_mutex_lock(&mutex);
        fflush(NULL);
        pid_t child = fork();
        if (is_child(child)) {
            ilk_mutex_lock(&later);
            for (int generation = 1; generation < ILK_MUTEX_FORKS; generation++) {
                pid_t next = fork();
                if (!is_child(next)) {
                    expect_exit(next, 7);
                    _exit(7);
                }
            }
            ilk_mutex_unlock(&later);
            _exit(give_up_in_child(&mutex, true));
        }
        expect_exit(child, 7);
        ilk_mutex_unlock(&mutex);
    }
}

static void wait_in_child_until_late(void *context) {
    ilk_mutex *mutex = context;
    check_equal(ilk_mutex_lock_until(mutex, ilk_deadline_in_ns(20000000)), ILK_TIMEDOUT);
}
/* contract: mutex.C */
TEST(a_wait_in_the_child_for_what_the_thread_that_forked_holds_has_its_limit) {
    need_children();
    for (int kind = 0; kind < KINDS; kind++) {
        ilk_mutex mutex;
        ilk_mutex_init(&mutex, inherits[kind]);
        ilk_mutex_lock(&mutex);
        fflush(NULL);
        pid_t child = fork();
        if (is_child(child)) {
            struct thread waiter;
            thread_start(&waiter, wait_in_child_until_late, &mutex);
            thread_join(&waiter);
            _exit(give_up_in_child(&mutex, true));
        }
        expect_exit(child, 7);
        ilk_mutex_unlock(&mutex);
    }
}

/* Ends as the child did. */
static void end_like(pid_t child) {
    int status;
    check_equal(waitpid(child, &status, 0), child);
    if (WIFSIGNALED(status)) {
        raise(WTERMSIG(status));
    }
}

static void lock_again_in_child(void *context) {
    ilk_mutex *mutex = context;
    ilk_mutex_lock(mutex);
    pid_t child = fork();
    if (is_child(child)) {
        ilk_mutex_lock(mutex);
        _exit(0);
    }
    end_like(child);
}

static void unlock(void *context) {
    ilk_mutex_unlock(context);
}

static void unlock_on_another_thread_of_the_child(void *context) {
    ilk_mutex *mutex = context;
    ilk_mutex_lock(mutex);
    pid_t child = fork();
    if (is_child(child)) {
        struct thread thread;
        thread_start(&thread, unlock, mutex);
        thread_join(&thread);
        _exit(0);
    }
    end_like(child);
}
/* contract: ilk_mutex_unlock */
TEST(misuse_of_a_mutex_is_reported_in_the_child) {
    need_children();
    for (int kind = 0; kind < KINDS; kind++) {
        ilk_mutex mutex;
        ilk_mutex_init(&mutex, inherits[kind]);
        expect_misuse(lock_again_in_child, &mutex, "ilk_mutex_lock", "locked again by its owner");
        ilk_mutex_init(&mutex, inherits[kind]);
        expect_misuse(unlock_on_another_thread_of_the_child, &mutex, "ilk_mutex_unlock", "does not own it");
    }
}

static void fork_and_unlock(void *context) {
    pid_t child = fork();
    if (is_child(child)) {
        ilk_mutex_unlock(context);
        _exit(0);
    }
    end_like(child);
}

static void unlock_where_another_thread_of_the_child_forks(void *context) {
    ilk_mutex *mutex = context;
    ilk_mutex_lock(mutex);
    pid_t child = fork();
    if (is_child(child)) {
        struct thread thread;
        thread_start(&thread, fork_and_unlock, mutex);
        thread_join(&thread);
        _exit(0);
    }
    end_like(child);
}

/*  process        child                       child of that
 *   locks
 *   forks          first thread: owns it
 *                  another thread: forks        first thread: a copy of that other one, owns nothing */
TEST(what_the_first_thread_held_is_not_that_of_another_thread_which_forks) {
    need_children();
    for (int kind = 0; kind < KINDS; kind++) {
        ilk_mutex mutex;
        ilk_mutex_init(&mutex, inherits[kind]);
        expect_misuse(unlock_where_another_thread_of_the_child_forks, &mutex, "ilk_mutex_unlock",
                      "does not own it");
    }
}

static ilk_mutex guarded_by_handlers;

static void lock_for_fork(void) {
    ilk_mutex_lock(&guarded_by_handlers);
}

static void unlock_after_fork(void) {
    ilk_mutex_unlock(&guarded_by_handlers);
}

static void use_mutex_on(void *context) {
    struct stage *stop = context;
    while (stage_now(stop) == 0) {
        lock_and_unlock(&guarded_by_handlers);
    }
}

/* Locked before the fork, unlocked on both sides, beside threads that use the mutex all the time. */
TEST(fork_handlers_may_hold_a_mutex_over_the_fork) {
    need_children();
    check_equal(pthread_atfork(lock_for_fork, unlock_after_fork, unlock_after_fork), 0);
    for (int kind = 0; kind < KINDS; kind++) {
        ilk_mutex_init(&guarded_by_handlers, inherits[kind]);
        struct stage stop = STAGE_INIT;
        struct thread users[2];
        for (int i = 0; i < 2; i++) {
            thread_start(&users[i], use_mutex_on, &stop);
        }
        for (int round = 0; round < 20; round++) {
            fflush(NULL);
            pid_t child = fork();
            if (is_child(child)) {
                struct thread thread;
                thread_start(&thread, lock_and_unlock, &guarded_by_handlers);
                thread_join(&thread);
                lock_and_unlock(&guarded_by_handlers);
                _exit(7);
            }
            expect_exit(child, 7);
        }
        stage_reach(&stop, 1);
        for (int i = 0; i < 2; i++) {
            thread_join(&users[i]);
        }
    }
}

/* ---- Other objects ---- */

/* The lock's queue holds waiters that the child does not have. */
/* contract: ilk_rwlock_init */
TEST(a_child_initialises_anew_what_its_thread_held) {
    need_children();
    for (int slots = 0; slots < 2; slots++) {
        ilk_rwlock lock = ILK_RWLOCK_INIT;
        if (slots != 0) {
            move_to_slots(&lock);
        }
        ilk_rwlock_write_lock(&lock);
        struct actor writer, reader;
        actor_queue(&writer, &lock, WRITE, NULL);
        actor_queue(&reader, &lock, READ, NULL);
        fflush(NULL);
        pid_t child = fork();
        if (is_child(child)) {
            ilk_rwlock_init(&lock);
            struct actor again;
            actor_enter(&again, &lock, WRITE);
            actor_leave(&again);
            check_free_and_destroy(&lock);
            _exit(7);
        }
        expect_exit(child, 7);
        ilk_rwlock_write_unlock(&lock);
        actor_await_inside(&reader);
        actor_leave(&reader);
        actor_await_inside(&writer);
        actor_leave(&writer);
        check_free_and_destroy(&lock);
    }
}

static void wait_for_permit(void *context) {
    ilk_semaphore_wait(context);
}
/* contract: ilk_rwlock_init */
TEST(a_child_initialises_anew_a_semaphore_that_others_waited_for) {
    need_children();
    ilk_semaphore semaphore;
    ilk_semaphore_init(&semaphore, 0);
    struct thread waiter;
    thread_start(&waiter, wait_for_permit, &semaphore);
    thread_await_sleep(&waiter);
    fflush(NULL);
    pid_t child = fork();
    if (is_child(child)) {
        ilk_semaphore_init(&semaphore, 0);
        struct thread again;
        thread_start(&again, wait_for_permit, &semaphore);
        thread_await_sleep(&again);
        ilk_semaphore_signal(&semaphore, 1);
        thread_join(&again);
        ilk_semaphore_destroy(&semaphore);
        _exit(7);
    }
    expect_exit(child, 7);
    ilk_semaphore_signal(&semaphore, 1);
    thread_join(&waiter);
    ilk_semaphore_destroy(&semaphore);
}

static void move_to_slots_and_write(void *context) {
    ilk_rwlock *lock = context;
    move_to_slots(lock);
    check(ilk_rwlock_try_write_lock(lock));
    ilk_rwlock_write_unlock(lock);
}

static void read_and_fork(int further_reads) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock);
    ilk_rwlock_read_lock(&lock);
    for (int reads = 0; reads < further_reads; reads++) {
        check(ilk_rwlock_try_read_lock(&lock));
    }
    check(is_in_a_slot(&lock));
    check_equal(counted_readers(&lock), 0);
    struct actor writer;
    actor_queue(&writer, &lock, WRITE, NULL);
    fflush(NULL);
    pid_t child = fork();
    if (is_child(child)) {
        ilk_rwlock_init(&lock);
        check(!is_in_a_slot(&lock));
        struct thread thread;
        thread_start(&thread, move_to_slots_and_write, &lock);
        thread_join(&thread);
        ilk_rwlock_write_lock(&lock); /* no wait for oneself */
        ilk_rwlock_write_unlock(&lock);
        check_free_and_destroy(&lock);
        _exit(7);
    }
    expect_exit(child, 7);
    for (int reads = 0; reads <= further_reads; reads++) {
        check(!actor_is_inside(&writer));
        ilk_rwlock_read_unlock(&lock);
    }
    actor_await_inside(&writer);
    actor_leave(&writer);
    check_free_and_destroy(&lock);
}

/* The thread's own announcement is in its slot, and goes as the lock begins anew, with its further reads. */
/* contract: ilk_rwlock_init */
TEST(a_child_initialises_anew_what_its_thread_read) {
    need_children();
    read_and_fork(0);
    read_and_fork(2);
}
