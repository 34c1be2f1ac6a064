/* SPDX-License-Identifier: Apache-2.0
 *
 * How an ilk_rwlock comes to its mode: from readers in the word to slots, to reads without a fence, and back.
 * The figures are rwlock/mode.h's. rwlock_refused_test runs this program without membarrier(2).
 */
#include "rwlock/mode.h"
#include "rwlock/slots_schedules.h"
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- Failed trials ---- */

/* mode_state has the failed trials where a plain lock has more than there ever are. */
TEST(a_lock_that_fails_every_trial_does_not_become_plain) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock); /* the thread has slots */
    for (int trial = 0; trial < 40; trial++) {
        uint32_t leave = 0;
        for (int writes = 0; writes < 16 && leave == 0; writes++) {
            (void)ilk__mode_count_write(&lock, ILK__RWLOCK_SLOTS);
            leave = ilk__mode_to_leave(&lock, ILK__RWLOCK_SLOTS, 0, UINT32_MAX); /* no reads paid for that */
        }
        check_equal(leave, ILK__RWLOCK_MODE);
        check(!ilk__mode_is_plain(&lock));
        bool is_tried_again = false;
        for (int fillings = 0; fillings <= 16384 && !is_tried_again; fillings++) {
            is_tried_again = ilk__mode_wants_slots(&lock);
        }
        check(is_tried_again);
    }
    check_free_and_destroy(&lock);
}

/* ---- Into the slots ---- */

TEST(thirty_one_reads_move_it_to_slots) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    for (int reads = 0; reads < 31; reads++) {
        ilk_rwlock_read_lock(&lock);
        check_equal(counted_readers(&lock), 1);
        check(!is_in_a_slot(&lock));
        ilk_rwlock_read_unlock(&lock);
        check_equal(mode_of(&lock), 0);
    }
    ilk_rwlock_read_lock(&lock);
    check_equal(mode_of(&lock), ILK__RWLOCK_SLOTS);
    check_equal(counted_readers(&lock), 0);
    check(is_in_a_slot(&lock));
    ilk_rwlock_read_unlock(&lock);
    check_free_and_destroy(&lock);
}

TEST(writes_between_them_do_not_hide_reads) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    for (int reads = 0; reads < 31; reads++) {
        ilk_rwlock_read_lock(&lock);
        ilk_rwlock_read_unlock(&lock);
        if (reads % 2 == 0) {
            ilk_rwlock_write_lock(&lock);
            ilk_rwlock_write_unlock(&lock);
        } else {
            ilk_rwlock_upgradable_lock(&lock);
            ilk_rwlock_upgrade(&lock);
            ilk_rwlock_write_unlock(&lock);
        }
        check_equal(mode_of(&lock), 0);
    }
    ilk_rwlock_read_lock(&lock);
    check_equal(mode_of(&lock), ILK__RWLOCK_SLOTS);
    ilk_rwlock_read_unlock(&lock);
    check_free_and_destroy(&lock);
}

/* After a penalty, how often a writer probes the slots' cost (rwlock/mode.h). */
enum { PROBE = ILK__WRITES_PER_PROBE };

/* Writes through several probes, which find the slots empty at once; false if the lock left them. */
static bool writes_stay_in_slots(void) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock);
    const uint32_t before = lock.mode_state;
    bool stays = true;
    for (uint32_t writes = 0; stays && writes < 4 * PROBE; writes++) {
        check_equal((uint16_t)lock.mode_state, (uint16_t)(before + writes));
        check_equal(counted_readers(&lock), 0);
        if (writes % 3 == 0) {
            check(ilk_rwlock_try_write_lock(&lock));
        } else {
            ilk_rwlock_write_lock(&lock);
        }
        ilk_rwlock_write_unlock(&lock);
        stays = mode_of(&lock) != 0;
    }
    check_free_and_destroy(&lock);
    return stays;
}

/* No other thread reads, so a probe is cheap. An interrupted one looks like readers in the way: several
 * attempts. */
TEST(one_threads_writes_stay_in_slots) {
    skip_if(HAS_THREAD_SANITIZER,
            "under ThreadSanitizer a probe of a slot takes as long as one that meets readers");
    int attempts = 1;
    while (!writes_stay_in_slots()) {
        check(attempts++ < 20);
    }
}

/* The mode decision of a writer that drained the lock within so many ticks. */
static uint32_t decision_after(ilk_rwlock *lock, uint32_t drained_in) {
    lock->mode_state += PROBE;
    return ilk__mode_to_leave(lock, word_of(lock), 0, drained_in);
}

static void *read_much(void *lock) {
    for (int reads = 0; reads < 2 * PROBE; reads++) {
        ilk_rwlock_read_lock(lock);
        ilk_rwlock_read_unlock(lock);
    }
    return NULL;
}

static void read_much_elsewhere(ilk_rwlock *lock) {
    pthread_t thread;
    check_equal(pthread_create(&thread, NULL, read_much, lock), 0);
    check_equal(pthread_join(thread, NULL), 0);
}

enum { QUIET = 30, LOUD = 100000 };

TEST(short_probes_keep_the_slots) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock);
    for (int probes = 0; probes < 100; probes++) {
        check_equal(decision_after(&lock, QUIET), 0);
    }
    check_free_and_destroy(&lock);
}

TEST(two_long_probes_leave_the_slots_and_one_does_not) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock);
    check_equal(decision_after(&lock, QUIET), 0); /* the first probe */
    for (int times = 0; times < 10; times++) {
        check_equal(decision_after(&lock, LOUD), 0);
        for (int probes = 0; probes < 8; probes++) {
            check_equal(decision_after(&lock, QUIET), 0);
        }
    }
    check_equal(decision_after(&lock, LOUD), 0);
    check_equal(decision_after(&lock, LOUD), ILK__RWLOCK_MODE);
    check_free_and_destroy(&lock);
}

/* Two reads a write are not worth the other thread's cache line. */
/* Tries decide nothing, so only they count so far. */
TEST(a_count_of_writes_that_wraps_changes_nothing_else) {
    static const uint32_t full[] = {UINT32_C(0x00FFFFFF), UINT32_C(0x0FFFFFFF), UINT32_C(0xEFFFFFFF)};
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock);
    const uint32_t before = lock.mode_state;
    for (size_t i = 0; i < sizeof full / sizeof *full; i++) {
        lock.mode_state = full[i];
        check(ilk_rwlock_try_write_lock(&lock));
        check_equal(lock.mode_state, full[i] & ~UINT32_C(0x00FFFFFF));
        check(!ilk__mode_is_plain(&lock));
        ilk_rwlock_write_unlock(&lock);
    }
    lock.mode_state = before;
    check_free_and_destroy(&lock);
}

TEST(reads_of_several_threads_must_outnumber_writes) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock);
    check_equal(decision_after(&lock, QUIET), 0); /* the first probe */
    for (int probes = 0; probes < 20; probes++) {
        read_much(&lock); /* as many in the writer's own slot keep the slots */
        check_equal(decision_after(&lock, QUIET), 0);
    }
    read_much_elsewhere(&lock);
    uint32_t first = decision_after(&lock, QUIET);
    read_much_elsewhere(&lock);
    check_equal(first | decision_after(&lock, QUIET), ILK__RWLOCK_MODE);
    check_free_and_destroy(&lock);
}

/* ---- Between the modes ---- */

static void needs_membarrier(void) {
    skip_if(!membarrier_works(), "membarrier(2) is refused here, so that no lock becomes fence-free");
}

TEST(many_reads_leave_the_fence_out) {
    needs_membarrier();
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    for (int reads = 0; reads < 60000; reads++) {
        ilk_rwlock_read_lock(&lock);
        ilk_rwlock_read_unlock(&lock);
    }
    check_equal(mode_of(&lock), ILK__RWLOCK_SLOTS); /* not after so few */
    move_to_fence_free(&lock);
    check_free_and_destroy(&lock);
}

TEST(writes_close_together_bring_the_fence_back) {
    needs_membarrier();
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_fence_free(&lock);
    for (int writes = 0; mode_of(&lock) == ILK__RWLOCK_MODE; writes++) {
        check(writes < 10000);
        ilk_rwlock_write_lock(&lock);
        ilk_rwlock_write_unlock(&lock);
    }
    check((word_of(&lock) & ILK__RWLOCK_FENCE_FREE) == 0);
    write_beside_a_reader(&lock);
    check_free_and_destroy(&lock);
}

struct alternation {
    ilk_rwlock lock;
    ILK_ATOMIC(int) stop;
};

static void read_on(void *context) {
    struct alternation *self = context;
    while (ilk_atomic_load(&self->stop, memory_order_relaxed) == 0) {
        ilk_rwlock_read_lock(&self->lock);
        for (int i = 0; i < 100; i++) {
            ilk_cpu_relax();
        }
        ilk_rwlock_read_unlock(&self->lock);
    }
}

TEST(writes_as_frequent_as_reads_bring_it_back_to_the_word) {
    struct alternation shared = {.lock = ILK_RWLOCK_INIT};
    move_to_slots(&shared.lock);
    struct thread reader;
    thread_start(&reader, read_on, &shared);
    for (int writes = 0; mode_of(&shared.lock) != 0; writes++) {
        check(writes < 1000000);
        ilk_rwlock_write_lock(&shared.lock);
        ilk_rwlock_write_unlock(&shared.lock);
        for (int i = 0; i < 100; i++) {
            ilk_cpu_relax(); /* the reader's turn: it is met in its slot */
        }
    }
    ilk_atomic_store(&shared.stop, 1, memory_order_relaxed);
    thread_join(&reader);
    check_free_and_destroy(&shared.lock);
}

TEST(the_fence_is_left_out_only_where_membarrier_is_granted) {
    /* Asked again, the kernel answers as it did before main. */
    bool granted = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
    check_equal(membarrier_works(), granted);
}
