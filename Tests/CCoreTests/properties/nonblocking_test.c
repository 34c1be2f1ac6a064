/* SPDX-License-Identifier: Apache-2.0
 *
 * What waits for nothing (try calls, unlocks and the downgrade of ilk_rwlock, ilk_semaphore_signal) and what
 * ends at its limit, beside a thread that has lost its core at the worst place. The linker puts the functions
 * below in front of the core's own (--wrap):
 *
 *     stopped                              under test
 *       takes the queue lock
 *       (stops here)                         must return all the same
 *       goes on: hands over what was given up meanwhile
 *
 * A call under test that waited would end by the test's time limit.
 */
#include "platform/port.h"
#include "support/rwlock_mode.h"
#include "support/test.h"
#include <interlock/interlock.h>
#include <signal.h>

bool __real_ilk__queue_unlock(ILK_ATOMIC(uint32_t) * word, uint32_t *seen, uint32_t next);
bool __wrap_ilk__queue_unlock(ILK_ATOMIC(uint32_t) * word, uint32_t *seen, uint32_t next);
void __real_ilk__fence_heavy(void);
void __wrap_ilk__fence_heavy(void);

/* Set on a thread that stops before it releases a queue: 1 it stands there, 2 it may go on. */
static _Thread_local struct stage *stop_in_queue;

/* Set on a thread that is interrupted there. */
static _Thread_local bool interrupt_in_queue;

bool __wrap_ilk__queue_unlock(ILK_ATOMIC(uint32_t) * word, uint32_t *seen, uint32_t next) {
    if (interrupt_in_queue) {
        interrupt_in_queue = false;
        check_equal(raise(SIGUSR1), 0);
    }
    struct stage *stage = stop_in_queue;
    if (stage != NULL) {
        stop_in_queue = NULL;
        stage_reach(stage, 1);
        stage_await(stage, 2);
    }
    return __real_ilk__queue_unlock(word, seen, next);
}

static _Thread_local bool counts_fences;
static _Thread_local int fences;

void __wrap_ilk__fence_heavy(void) {
    fences += counts_fences;
    __real_ilk__fence_heavy();
}

static uint64_t soon(void) {
    return ilk_deadline_in_ns(20 * 1000 * 1000);
}

/* ---- A thread that stops in the queue of what it waits for ---- */

struct stopped {
    ilk_rwlock *lock;
    ilk_semaphore *semaphore;
    struct stage stage;
    struct thread thread;
};

static void wait_and_stop(void *context) {
    struct stopped *stopped = context;
    stop_in_queue = &stopped->stage;
    if (stopped->lock != NULL) {
        ilk_rwlock_write_lock(stopped->lock);
        ilk_rwlock_write_unlock(stopped->lock);
    } else {
        ilk_semaphore_wait(stopped->semaphore);
    }
}

static void start_stopped(struct stopped *stopped, ilk_rwlock *lock, ilk_semaphore *semaphore) {
    *stopped = (struct stopped){.lock = lock, .semaphore = semaphore, .stage = STAGE_INIT};
    thread_start(&stopped->thread, wait_and_stop, stopped);
    stage_await(&stopped->stage, 1);
}

/* It gets what was given up while it stood there. */
static void go_on(struct stopped *stopped) {
    stage_reach(&stopped->stage, 2);
    thread_join(&stopped->thread);
}

/* ---- rwlock ---- */
/* contract: ilk_rwlock_downgrade, rwlock.F */
TEST(an_unlock_does_not_wait_for_a_thread_stopped_in_the_queue) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    struct stopped stopped;

    ilk_rwlock_write_lock(&lock);
    start_stopped(&stopped, &lock, NULL);
    ilk_rwlock_write_unlock(&lock);
    go_on(&stopped);

    check(ilk_rwlock_try_read_lock(&lock)); /* counted: this thread has no slots */
    start_stopped(&stopped, &lock, NULL);
    ilk_rwlock_read_unlock(&lock);
    go_on(&stopped);

    ilk_rwlock_upgradable_lock(&lock);
    start_stopped(&stopped, &lock, NULL);
    ilk_rwlock_upgradable_unlock(&lock);
    go_on(&stopped);

    ilk_rwlock_write_lock(&lock);
    start_stopped(&stopped, &lock, NULL);
    ilk_rwlock_downgrade(&lock);
    ilk_rwlock_read_unlock(&lock);
    go_on(&stopped);
    check_free_and_destroy(&lock);
}
/* contract: ilk_rwlock_downgrade, rwlock.F */
TEST(a_try_does_not_wait_for_a_thread_stopped_in_the_queue) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    struct stopped stopped;
    ilk_rwlock_write_lock(&lock);
    start_stopped(&stopped, &lock, NULL);
    check(!ilk_rwlock_try_write_lock(&lock));
    check(!ilk_rwlock_try_read_lock(&lock));
    ilk_rwlock_write_unlock(&lock);
    /* Free but for the queue: a try may take it, and give it up again. */
    if (ilk_rwlock_try_write_lock(&lock)) {
        ilk_rwlock_write_unlock(&lock);
    }
    go_on(&stopped);
    check_free_and_destroy(&lock);
}

struct slot_reader {
    ilk_rwlock *lock;
    struct stage orders;
    struct thread thread;
};

static void read_in_a_slot(void *context) {
    struct slot_reader *reader = context;
    ilk_rwlock_read_lock(reader->lock);
    stage_reach(&reader->orders, 1);
    stage_await(&reader->orders, 2);
    ilk_rwlock_read_unlock(reader->lock);
}

/*   reader in a slot        writer stopped in the queue        try_write_lock
 *   (holds)                                                      raises WRITER, meets the slot
 *                           queues, stops
 *                                                                gives WRITER up again, and returns    */
/* contract: ilk_rwlock_downgrade, rwlock.F */
TEST(a_try_that_gives_up_does_not_wait_either) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock);
    struct slot_reader reader = {.lock = &lock, .orders = STAGE_INIT};
    thread_start(&reader.thread, read_in_a_slot, &reader);
    stage_await(&reader.orders, 1);
    check(is_in_a_slot(&lock));
    /* The queue is taken before HAS_WAITERS is up, so that the try raises WRITER beside it. */
    uint32_t before = ilk_atomic_fetch_or(&lock.word, ILK__RWLOCK_QUEUE_LOCKED, memory_order_relaxed);
    check_equal(before & ILK__RWLOCK_QUEUE_LOCKED, 0);
    check(!ilk_rwlock_try_write_lock(&lock));
    check_equal(word_of(&lock) & ILK__RWLOCK_WRITER, 0);
    ilk_atomic_fetch_and(&lock.word, ~ILK__RWLOCK_QUEUE_LOCKED, memory_order_relaxed);
    stage_reach(&reader.orders, 2);
    thread_join(&reader.thread);
    check_free_and_destroy(&lock);
}
/* contract: rwlock.D */
TEST(a_limit_ends_a_wait_for_the_queue) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_rwlock_write_lock(&lock);
    struct stopped stopped;
    start_stopped(&stopped, &lock, NULL);
    uint64_t limit = soon();
    check_equal(ilk_rwlock_read_lock_until(&lock, limit), ILK_TIMEDOUT);
    check(ilk_now_ns() >= limit);
    check_equal(ilk_rwlock_write_lock_until(&lock, soon()), ILK_TIMEDOUT);
    check_equal(ilk_rwlock_upgradable_lock_until(&lock, soon()), ILK_TIMEDOUT);
    ilk_rwlock_write_unlock(&lock);
    go_on(&stopped);
    check_free_and_destroy(&lock);
}

enum { READS_OF_A_SLOT = 1024, READS = 300 * READS_OF_A_SLOT };

/* With rare writes, these reads make ilk_rwlock_read_lock measure a membarrier: the count of fences shows
 * it. */
static int fences_of_reads(bool tries) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock);
    fences = 0;
    for (int read = 0; read < READS; read++) {
        if (read % (20 * READS_OF_A_SLOT) == 0) {
            ilk_rwlock_write_lock(&lock);
            ilk_rwlock_write_unlock(&lock);
        }
        counts_fences = true;
        if (tries) {
            check(ilk_rwlock_try_read_lock(&lock));
        } else {
            ilk_rwlock_read_lock(&lock);
        }
        counts_fences = false;
        ilk_rwlock_read_unlock(&lock);
    }
    ilk_rwlock_destroy(&lock);
    return fences;
}
/* contract: ilk_rwlock_try_write_lock, rwlock.F */
TEST(try_read_lock_makes_no_membarrier) {
    skip_if(!membarrier_works(), "membarrier(2) is refused here");
    check_equal(fences_of_reads(true), 0);
    check(fences_of_reads(false) > 0);
}

/* ---- upgrade_until ---- */

static void a_late_upgrade_stays_upgradable_in(ilk_rwlock *lock) {
    struct slot_reader reader = {.lock = lock, .orders = STAGE_INIT};
    thread_start(&reader.thread, read_in_a_slot, &reader);
    stage_await(&reader.orders, 1);
    ilk_rwlock_upgradable_lock(lock);
    uint64_t limit = soon();
    check_equal(ilk_rwlock_upgrade_until(lock, limit), ILK_TIMEDOUT);
    check(ilk_now_ns() >= limit);
    check(!ilk_rwlock_try_write_lock(lock));
    check_equal(ilk_rwlock_upgradable_lock_until(lock, 0), ILK_TIMEDOUT); /* still held upgradable */
    check(ilk_rwlock_try_read_lock(lock));                                /* and new readers come in */
    ilk_rwlock_read_unlock(lock);
    stage_reach(&reader.orders, 2);
    thread_join(&reader.thread);
    check_equal(ilk_rwlock_upgrade_until(lock, soon()), ILK_OK);
    check(!ilk_rwlock_try_read_lock(lock));
    ilk_rwlock_write_unlock(lock);
}
/* contract: ilk_rwlock_upgrade_until */
TEST(a_late_upgrade_stays_upgradable) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    a_late_upgrade_stays_upgradable_in(&lock);
    move_to_slots(&lock);
    a_late_upgrade_stays_upgradable_in(&lock);
    check_free_and_destroy(&lock);
}

/* ---- Semaphore ---- */
/* contract: ilk_semaphore_signal, ilk_semaphore_try_signal, ilk_semaphore_try_wait, ilk_semaphore_wait */
/* contract: semaphore.E */
TEST(a_signal_does_not_wait_for_a_thread_stopped_in_the_queue) {
    ilk_semaphore semaphore;
    ilk_semaphore_init(&semaphore, 0);
    struct stopped first, second;
    start_stopped(&first, NULL, &semaphore);
    ilk_semaphore_signal(&semaphore, 1); /* before it stands in line */
    go_on(&first);

    start_stopped(&first, NULL, &semaphore);
    stage_reach(&first.stage, 2);
    thread_await_sleep(&first.thread); /* in line */
    start_stopped(&second, NULL, &semaphore);
    ilk_semaphore_signal(&semaphore, 1);        /* while the second has the queue */
    check(!ilk_semaphore_try_wait(&semaphore)); /* it is the first's */
    stage_reach(&second.stage, 2);
    thread_join(&first.thread);
    ilk_semaphore_signal(&semaphore, 1);
    thread_join(&second.thread);
    check_equal(ilk_semaphore_value(&semaphore), 0);
    ilk_semaphore_destroy(&semaphore);
}
/* contract: ilk_semaphore_wait, semaphore.C */
TEST(a_limit_ends_a_wait_for_the_queue_of_a_semaphore) {
    ilk_semaphore semaphore;
    ilk_semaphore_init(&semaphore, 0);
    struct stopped stopped;
    start_stopped(&stopped, NULL, &semaphore);
    uint64_t limit = soon();
    check_equal(ilk_semaphore_wait_until(&semaphore, limit), ILK_TIMEDOUT);
    check(ilk_now_ns() >= limit);
    ilk_semaphore_signal(&semaphore, 1);
    go_on(&stopped);
    ilk_semaphore_destroy(&semaphore);
}

/* ---- Signal handlers ---- */

static struct {
    ilk_rwlock lock;
    ilk_semaphore semaphore;
    int runs;
} handled;

static void try_everything(int signal) {
    if (ilk_rwlock_try_write_lock(&handled.lock)) {
        ilk_rwlock_write_unlock(&handled.lock);
    }
    if (ilk_rwlock_try_read_lock(&handled.lock)) {
        ilk_rwlock_read_unlock(&handled.lock);
    }
    if (ilk_semaphore_try_wait(&handled.semaphore)) {
        ilk_semaphore_signal(&handled.semaphore, 1);
    }
    if (handled.runs++ == 0) {
        ilk_semaphore_signal(&handled.semaphore, 1);
    } else {
        check(ilk_semaphore_try_signal(&handled.semaphore, 1));
    }
}

static void wait_interrupted(void *context) {
    interrupt_in_queue = true;
    ilk_rwlock_write_lock(&handled.lock);
    ilk_rwlock_write_unlock(&handled.lock);
    interrupt_in_queue = true;
    ilk_semaphore_wait(&handled.semaphore); /* the permit of the first run */
    ilk_semaphore_wait(&handled.semaphore); /* in line; the second run's permit comes then */
}

/*   thread                              its handler
 *     write_lock, semaphore_wait
 *     has the queue ------------------>   try calls, unlocks, a signal: all return
 *     goes on <-------------------------                                                              */
/* contract: ilk_semaphore_signal, semaphore.E */
TEST(a_handler_may_try_and_signal_whatever_it_interrupted) {
#if !ILK__PARK_FUTEX
    skip_because("with the pthread park backend a wake-up takes a mutex, and may not in a handler");
#endif
    struct sigaction action = {.sa_handler = try_everything};
    check_equal(sigaction(SIGUSR1, &action, NULL), 0);
    ilk_semaphore_init(&handled.semaphore, 0);
    ilk_rwlock_write_lock(&handled.lock);
    struct thread waiter;
    thread_start(&waiter, wait_interrupted, NULL);
    thread_await_sleep(&waiter);
    ilk_rwlock_write_unlock(&handled.lock);
    thread_join(&waiter);
    check_equal(handled.runs, 2);
    check_equal(ilk_semaphore_value(&handled.semaphore), 0);
    check_free_and_destroy(&handled.lock);
}
