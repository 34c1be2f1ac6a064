/* SPDX-License-Identifier: Apache-2.0
 *
 * Reader slots of ilk_rwlock beside ends of threads and their destructors, blocks that change threads, fork,
 * cancellation, signal handlers, and misuse.
 */
/* contract: rwlock.h */
#include "rwlock/reader_slots.h"
#include "rwlock/slot_table.h"
#include "support/rwlock_actor.h"
#include "support/rwlock_mode.h"
#include "support/test.h"
#include <errno.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static uint32_t block_count(void) {
    return ilk_atomic_load(&ilk__slot_table_2.block_count, memory_order_relaxed);
}

static void read_once(void *context) {
    ilk_rwlock *lock = context;
    ilk_rwlock_read_lock(lock);
    check(is_in_a_slot(lock));
    ilk_rwlock_read_unlock(lock);
}

/* ---- Blocks ---- */

TEST(a_block_serves_one_thread_after_another) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock);
    const uint32_t before = block_count();
    for (int i = 0; i < 400; i++) {
        struct thread thread;
        thread_start(&thread, read_once, &lock);
        thread_join(&thread);
    }
    check_equal(block_count(), before + 1);
    check_free_and_destroy(&lock);
}

/* Twice as many readers at once as a chunk has places. */
TEST(a_writer_finds_the_readers_of_every_chunk) {
    enum { READERS = 2 * ILK__CHUNK_BLOCKS + 2 };
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock);
    struct actor *readers = calloc(READERS, sizeof *readers);
    check(readers != NULL);
    for (int wave = 0; wave < 2; wave++) {
        for (int i = 0; i < READERS; i++) {
            actor_enter(&readers[i], &lock, READ);
        }
        check_equal(counted_readers(&lock), 0);
        for (int i = 0; i < READERS; i++) {
            check(!ilk_rwlock_try_write_lock(&lock));
            actor_leave(&readers[i]);
        }
        check_equal(block_count(), READERS + 1); /* the peak, and this thread's */
        check(ilk_rwlock_try_write_lock(&lock));
        ilk_rwlock_write_unlock(&lock);
    }
    free(readers);
    check_free_and_destroy(&lock);
}

/* ---- The end of a thread ---- */

/* Rounds of destructors. The last catches a block taken again too late to be given back; ThreadSanitizer has
 * left the thread by then. */
enum { ROUNDS = PTHREAD_DESTRUCTOR_ITERATIONS - (HAS_THREAD_SANITIZER ? 1 : 0) };

struct mourner {
    ilk_rwlock *lock;
    pthread_key_t key;
    int round;
    bool entered_holding;
    struct stage progress; /* odd: the destructor holds the lock; even: it may go on */
};

/* In every round: before, beside and after the one that gives the block back. */
static void still_hold_it(void *value) {
    struct mourner *self = value;
    self->round++;
    if (!self->entered_holding) {
        ilk_rwlock_read_lock(self->lock);
    }
    self->entered_holding = false;
    stage_reach(&self->progress, 2 * self->round - 1);
    stage_await(&self->progress, 2 * self->round);
    ilk_rwlock_read_unlock(self->lock);
    if (self->round < ROUNDS) {
        check_equal(pthread_setspecific(self->key, self), 0); /* once more */
    }
}

static void end_with_a_destructor(void *context) {
    struct mourner *self = context;
    check_equal(pthread_setspecific(self->key, self), 0);
    ilk_rwlock_read_lock(self->lock);
    check(is_in_a_slot(self->lock));
    if (!self->entered_holding) {
        ilk_rwlock_read_unlock(self->lock);
    }
}

TEST(destructors_of_an_ending_thread_can_read) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock);
    uint32_t blocks = 0;
    for (int times = 0; times < 4; times++) {
        struct mourner mourner = {.lock = &lock, .entered_holding = times % 2 == 0, .progress = STAGE_INIT};
        check_equal(pthread_key_create(&mourner.key, still_hold_it), 0);
        struct thread thread;
        thread_start(&thread, end_with_a_destructor, &mourner);
        for (int round = 1; round <= ROUNDS; round++) {
            stage_await(&mourner.progress, 2 * round - 1);
            check(!ilk_rwlock_try_write_lock(&lock));
            stage_reach(&mourner.progress, 2 * round);
        }
        thread_join(&thread);
        check_equal(pthread_key_delete(mourner.key), 0);
        check(ilk_rwlock_try_write_lock(&lock));
        ilk_rwlock_write_unlock(&lock);
        blocks = times == 0 ? block_count() : blocks;
        check_equal(block_count(), blocks); /* given back, however late */
    }
    check_free_and_destroy(&lock);
}

/* ---- fork ---- */

struct contention {
    ilk_rwlock *lock;
    ILK_ATOMIC(int) stop;
};

static void read_on(void *context) {
    struct contention *self = context;
    while (ilk_atomic_load(&self->stop, memory_order_relaxed) == 0) {
        ilk_rwlock_read_lock(self->lock);
        ilk_rwlock_read_unlock(self->lock);
    }
}

static void begin_and_end(void *context) {
    struct contention *self = context;
    ilk_rwlock_read_lock(self->lock); /* takes a block, which goes back with the thread */
    ilk_rwlock_read_unlock(self->lock);
}

static void take_blocks_often(void *context) {
    struct contention *self = context;
    while (ilk_atomic_load(&self->stop, memory_order_relaxed) == 0) {
        struct thread reader;
        thread_start(&reader, begin_and_end, self);
        thread_join(&reader);
    }
}

static int use_in_a_child(ilk_rwlock *lock, bool own_read) {
    if (own_read) {
        if (ilk_rwlock_try_write_lock(lock)) {
            return 2; /* the forking thread still reads it */
        }
        ilk_rwlock_read_unlock(lock);
    }
    if (ilk_rwlock_write_lock_until(lock, ilk_deadline_in_ns(UINT64_C(20000000000))) != ILK_OK) {
        return 3;
    }
    ilk_rwlock_write_unlock(lock);
    /* More at once than ever make the table grow. */
    enum { MORE = 8 };
    struct actor reader, more[MORE], writer;
    uint32_t blocks = block_count();
    actor_enter(&reader, lock, READ);
    if (!is_in_a_slot(lock) || block_count() != blocks) {
        return 4;
    }
    for (int i = 0; i < MORE; i++) {
        actor_enter(&more[i], lock, READ);
    }
    if (block_count() <= blocks) {
        return 5;
    }
    for (int i = 0; i < MORE; i++) {
        actor_leave(&more[i]);
    }
    actor_queue(&writer, lock, WRITE, NULL);
    actor_leave(&reader);
    actor_await_inside(&writer);
    actor_leave(&writer);
    return 0;
}

TEST(a_child_of_fork_is_not_kept_out_by_readers_it_does_not_have) {
    skip_if(HAS_THREAD_SANITIZER,
            "ThreadSanitizer's runtime now and then fails a check of its own in the child of a process "
            "with several running threads; the other configurations run this");
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock);
    struct actor holder;
    actor_enter(&holder, &lock, READ);
    struct contention contention = {.lock = &lock};
    struct thread readers[2], table_user;
    for (int i = 0; i < 2; i++) {
        thread_start(&readers[i], read_on, &contention);
    }
    thread_start(&table_user, take_blocks_often, &contention);
    for (int round = 0; round < 12; round++) {
        bool own_read = round % 2 == 0;
        if (own_read) {
            ilk_rwlock_read_lock(&lock);
        }
        fflush(NULL);
        pid_t child = fork();
        check(child >= 0);
        if (child == 0) {
            alarm(60);
            _exit(use_in_a_child(&lock, own_read));
        }
        if (own_read) {
            ilk_rwlock_read_unlock(&lock);
        }
        int status;
        check_equal(waitpid(child, &status, 0), child);
        check(WIFEXITED(status));
        check_equal(WEXITSTATUS(status), 0);
    }
    ilk_atomic_store(&contention.stop, 1, memory_order_relaxed);
    for (int i = 0; i < 2; i++) {
        thread_join(&readers[i]);
    }
    thread_join(&table_user);
    /* Not asked between two forks: a reader that meets this try is counted in the word, and a fork just then
     * gives the child a count that no thread takes off. */
    check(!ilk_rwlock_try_write_lock(&lock));
    actor_leave(&holder);
    check_free_and_destroy(&lock);
}

/* ---- Cancellation ---- */

TEST(a_cancelled_thread_that_waits_for_a_slot_leaves_the_lock_usable) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock);
    struct actor holder, writer, reader;
    actor_enter(&holder, &lock, READ);
    actor_queue(&writer, &lock, WRITE, NULL);
    actor_queue(&reader, &lock, READ, NULL);
    check_equal(pthread_cancel(writer.thread.id), 0);
    check_equal(pthread_cancel(reader.thread.id), 0);
    thread_await_sleep(&writer.thread); /* waiting is not a cancellation point */
    check(!actor_is_inside(&writer));
    actor_leave(&holder);
    actor_await_inside(&writer);                          /* then cancelled, at its wait for orders */
    check_equal(pthread_join(writer.thread.id, NULL), 0); /* its clean-up handler has unlocked */
    actor_await_inside(&reader);
    check_equal(pthread_join(reader.thread.id, NULL), 0);
    check_free_and_destroy(&lock);
}

/* ---- Signals ---- */

enum { LOCKS = 256 };

/* A lock for the interrupted code and one of the same slot for the handler. */
static struct guarded {
    ilk_rwlock *lock;
    uint64_t first, second;
} interrupted, of_handler;
static ILK_ATOMIC(int) interruptions, interruptions_inside;
static ILK_ATOMIC(int) signals_stop;

static void read_guarded(struct guarded *guarded) {
    ilk_rwlock_read_lock(guarded->lock);
    check_equal(guarded->first, guarded->second);
    ilk_rwlock_read_unlock(guarded->lock);
}

static void write_guarded(struct guarded *guarded) {
    ilk_rwlock_write_lock(guarded->lock);
    guarded->first++;
    guarded->second++;
    ilk_rwlock_write_unlock(guarded->lock);
}

static void interrupt(int signal) {
    int saved_errno = errno;
    size_t number = ilk__rwlock_slot_number(interrupted.lock);
    bool inside = !ilk__slot_is_free(ilk__slot_load(ilk__my_slots(), number));
    read_guarded(&of_handler);
    if (ilk_rwlock_try_write_lock(of_handler.lock)) {
        of_handler.first++;
        of_handler.second++;
        ilk_rwlock_write_unlock(of_handler.lock);
    }
    ilk_atomic_fetch_add(&interruptions, 1, memory_order_relaxed);
    ilk_atomic_fetch_add(&interruptions_inside, inside ? 1 : 0, memory_order_relaxed);
    errno = saved_errno;
}

static void be_interrupted(void *context) {
    while (ilk_atomic_load(&signals_stop, memory_order_relaxed) == 0) {
        read_guarded(&interrupted);
    }
}

static void write_now_and_then(void *context) {
    while (ilk_atomic_load(&signals_stop, memory_order_relaxed) == 0) {
        write_guarded(&interrupted);
        write_guarded(&of_handler);
        sched_yield();
    }
}

TEST(a_signal_handler_may_use_another_lock_of_the_same_slot) {
    ilk_rwlock *locks = calloc(LOCKS, sizeof *locks);
    check(locks != NULL);
    interrupted.lock = &locks[0];
    of_handler.lock = &locks[find_colliding(locks, LOCKS, 1, &locks[0])];
    move_to_slots(interrupted.lock);
    move_to_slots(of_handler.lock);
    const struct sigaction action = {.sa_handler = interrupt, .sa_flags = SA_RESTART};
    check_equal(sigaction(SIGUSR1, &action, NULL), 0);
    struct thread reader, writer;
    thread_start(&reader, be_interrupted, NULL);
    thread_start(&writer, write_now_and_then, NULL);
    const int wanted = stress_rounds(4000);
    /* Signals do not queue. */
    for (int sent = 0; sent < wanted || ilk_atomic_load(&interruptions_inside, memory_order_relaxed) == 0;
         sent++) {
        thread_interrupt(&reader);
        yield_while(ilk_atomic_load(&interruptions, memory_order_relaxed) <= sent);
    }
    ilk_atomic_store(&signals_stop, 1, memory_order_relaxed);
    thread_join(&reader);
    thread_join(&writer);
    printf("%d interruptions, %d of them inside\n",
           (int)ilk_atomic_load(&interruptions, memory_order_relaxed),
           (int)ilk_atomic_load(&interruptions_inside, memory_order_relaxed));
    check_free_and_destroy(interrupted.lock);
    check_free_and_destroy(of_handler.lock);
    free(locks);
}

/* ---- Misuse ---- */

static void destroy_what_this_thread_reads(void *context) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock);
    ilk_rwlock_read_lock(&lock);
    check(is_in_a_slot(&lock));
    ilk_rwlock_destroy(&lock);
}

static void destroy_what_another_reads(void *context) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    struct actor reader;
    move_to_slots(&lock);
    actor_enter(&reader, &lock, READ);
    ilk_rwlock_destroy(&lock);
}

static void destroy_what_another_reads_without_a_fence(void *context) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    struct actor reader;
    if (membarrier_works()) {
        move_to_fence_free(&lock);
    } else {
        move_to_slots(&lock);
    }
    actor_enter(&reader, &lock, READ);
    ilk_rwlock_destroy(&lock);
}
/* contract: ilk_rwlock_destroy */
TEST(destroying_what_a_slot_holds_is_reported) {
    expect_misuse(destroy_what_this_thread_reads, NULL, "ilk_rwlock_destroy", "the lock is held by a reader");
    expect_misuse(destroy_what_another_reads, NULL, "ilk_rwlock_destroy", "the lock is held by a reader");
    expect_misuse(destroy_what_another_reads_without_a_fence, NULL, "ilk_rwlock_destroy",
                  "the lock is held by a reader");
}

static void unlock_what_no_thread_reads(void *context) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock);
    ilk_rwlock_read_lock(&lock);
    ilk_rwlock_read_unlock(&lock);
    ilk_rwlock_read_unlock(&lock);
}

static void unlock_what_another_reads(void *context) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    struct actor reader;
    move_to_slots(&lock);
    actor_enter(&reader, &lock, READ);
    ilk_rwlock_read_unlock(&lock);
}
/* contract: ilk_rwlock_downgrade, ilk_rwlock_read_unlock, ilk_rwlock_upgradable_unlock */
/* contract: ilk_rwlock_upgrade, ilk_rwlock_write_unlock */
TEST(unlocking_what_this_thread_does_not_read_is_reported) {
    expect_misuse(unlock_what_no_thread_reads, NULL, "ilk_rwlock_read_unlock", "no reader holds the lock");
    expect_misuse(unlock_what_another_reads, NULL, "ilk_rwlock_read_unlock", "no reader holds the lock");
}
