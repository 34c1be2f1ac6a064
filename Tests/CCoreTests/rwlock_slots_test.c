/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_rwlock with its readers in slots: who waits for whom, and how a lock comes to its mode. Every
 * schedule is forced; "asleep" below is the kernel's word. What ends (threads, fork, signals, misuse) is
 * in rwlock_slots_ends_test.c, load in rwlock_slots_stress_test.c.
 *
 * Each claim about waiting is made in both modes that use slots. rwlock_refused_test runs this program
 * once more where the system refuses membarrier(2).
 */
#include "rwlock/mode.h"
#include "support/rwlock_actor.h"
#include "support/rwlock_mode.h"
#include "support/test.h"
#include <interlock/inline/fence.h>
#include <linux/membarrier.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MILLISECONDS(count) ((uint64_t)(count)*1000000)

/* Runs a body on a lock with slots, then on one without fences, where there can be one. */
static void in_both_modes(void (*body)(ilk_rwlock *lock)) {
    ilk_rwlock fenced = ILK_RWLOCK_INIT;
    move_to_slots(&fenced);
    body(&fenced);
    check_free_and_destroy(&fenced);
    if (!membarrier_works()) {
        printf("no membarrier(2) here: in the fenced mode only\n");
        return;
    }
    ilk_rwlock fence_free = ILK_RWLOCK_INIT;
    move_to_fence_free(&fence_free);
    body(&fence_free);
    check_free_and_destroy(&fence_free);
}

/* Waits until a thread that holds WRITER already, by a write or an upgrade, sleeps for the slots. */
static void await_drain(struct actor *writer) {
    while ((word_of(writer->lock) & ILK__RWLOCK_WRITER) == 0) {
        sched_yield();
    }
    thread_await_sleep(&writer->thread);
}

/* ---- Into the slots ---- */

static void it_is_as_small_as_promised(void **state) {
    (void)state;
    check(sizeof(ilk_rwlock) <= 16);
    check(sizeof(struct ilk__slot_block) <= 256);
}

static void thirty_one_reads_move_it_to_slots(void **state) {
    (void)state;
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

static void writes_between_them_do_not_hide_reads(void **state) {
    (void)state;
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

/* A writer looks at what slots cost it every so many writes while that is in doubt (rwlock/mode.h). */
enum { LOOK = ILK__WRITES_PER_PROBE };

/* Writes through several looks, which all find the slots empty at once; false if the lock left them. */
static bool writes_stay_in_slots(void) {
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock);
    const uint32_t before = lock.mode_state;
    bool stays = true;
    for (uint32_t writes = 0; stays && writes < 4 * LOOK; writes++) {
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

/* Nobody else reads, so that a look costs next to nothing. Several attempts, since one may be interrupted in
 * two of its looks, which the lock takes for readers in the way. */
static void one_threads_writes_stay_in_slots(void **state) {
    (void)state;
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
    print_message(
        "skipped: under ThreadSanitizer a look at a slot takes as long as one that meets readers\n");
    skip();
#endif
#endif
    int attempts = 1;
    while (!writes_stay_in_slots()) {
        check(attempts++ < 20);
    }
}

/* What a writer decides that has drained the lock within so many ticks, a look's number of writes later. */
static uint32_t decision_after(ilk_rwlock *lock, uint32_t drained_in) {
    lock->mode_state += LOOK;
    return ilk__mode_to_leave(lock, word_of(lock), 0, drained_in);
}

static void *read_much(void *lock) {
    for (int reads = 0; reads < 2 * LOOK; reads++) {
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

static void short_probes_keep_the_slots(void **state) {
    (void)state;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock);
    for (int looks = 0; looks < 100; looks++) {
        check_equal(decision_after(&lock, QUIET), 0);
    }
    check_free_and_destroy(&lock);
}

static void two_long_probes_leave_them_and_one_does_not(void **state) {
    (void)state;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock);
    check_equal(decision_after(&lock, QUIET), 0); /* begins to watch */
    for (int times = 0; times < 10; times++) {
        check_equal(decision_after(&lock, LOUD), 0);
        for (int looks = 0; looks < 8; looks++) {
            check_equal(decision_after(&lock, QUIET), 0);
        }
    }
    check_equal(decision_after(&lock, LOUD), 0);
    check_equal(decision_after(&lock, LOUD), ILK__RWLOCK_MODE);
    check_free_and_destroy(&lock);
}

/* Two reads a write, in another thread's slot: not worth its line, however quick the looks. */
static void reads_of_several_threads_must_outnumber_writes(void **state) {
    (void)state;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock);
    check_equal(decision_after(&lock, QUIET), 0); /* begins to watch */
    for (int looks = 0; looks < 20; looks++) {
        read_much(&lock); /* as many in one's own slot are fine */
        check_equal(decision_after(&lock, QUIET), 0);
    }
    read_much_elsewhere(&lock);
    uint32_t first = decision_after(&lock, QUIET);
    read_much_elsewhere(&lock);
    check_equal(first | decision_after(&lock, QUIET), ILK__RWLOCK_MODE);
    check_free_and_destroy(&lock);
}

static void read_in_a_slot(ilk_rwlock *lock) {
    const uint32_t before = word_of(lock);
    struct actor others[3];
    for (int i = 0; i < 3; i++) {
        actor_enter(&others[i], lock, READ);
    }
    ilk_rwlock_read_lock(lock);
    check_equal(word_of(lock), before);
    for (int i = 0; i < 3; i++) {
        actor_leave(&others[i]);
        check_equal(word_of(lock), before);
        check(is_in_a_slot(lock));
    }
    ilk_rwlock_read_unlock(lock);
    check_equal(word_of(lock), before);
    check(!is_in_a_slot(lock));
}

static void reads_in_slots_leave_the_word_alone(void **state) {
    (void)state;
    in_both_modes(read_in_a_slot);
}

/* A read inside a read of the same lock finds its slot taken and is counted. Either order of unlocking. */
static void read_within_a_read(ilk_rwlock *lock) {
    ilk_rwlock_read_lock(lock);
    ilk_rwlock_read_lock(lock);
    check_equal(counted_readers(lock), 1);
    check(is_in_a_slot(lock));
    ilk_rwlock_read_unlock(lock);
    check(!ilk_rwlock_try_write_lock(lock));
    ilk_rwlock_read_unlock(lock);
    check(ilk_rwlock_try_write_lock(lock));
    ilk_rwlock_write_unlock(lock);
}

static void a_read_within_a_read_holds_it_until_both_have_ended(void **state) {
    (void)state;
    in_both_modes(read_within_a_read);
}

/* ---- Writers wait for slots ---- */

static void write_beside_a_reader(ilk_rwlock *lock) {
    struct actor reader, second, writer;
    actor_enter(&reader, lock, READ);
    actor_enter(&second, lock, READ);
    check(is_in_a_slot(lock));
    check_equal(counted_readers(lock), 0);
    actor_queue(&writer, lock, WRITE, NULL);
    actor_leave(&second); /* wakes the writer, or not; the other reader is still there */
    thread_await_sleep(&writer.thread);
    check(!actor_is_inside(&writer));
    actor_leave(&reader);
    actor_await_inside(&writer);
    check(!ilk_rwlock_try_read_lock(lock));
    actor_leave(&writer);
}

static void a_writer_sleeps_until_the_last_slot_is_free(void **state) {
    (void)state;
    in_both_modes(write_beside_a_reader);
}

/*      first    writer   met      next
 *      in slot
 *               asleep for the slot
 *                        asleep in the queue
 *                                 asleep in the queue
 *      leaves
 *               in, out
 *                        in, counted
 *                                 still asleep
 *                        leaves
 *                                 in */
static void meet_the_writer(ilk_rwlock *lock) {
    struct actor first, writer, met, also_met, next;
    actor_enter(&first, lock, READ);
    actor_queue(&writer, lock, WRITE, NULL);
    actor_queue(&met, lock, READ, NULL);
    actor_queue(&next, lock, WRITE, NULL);
    actor_queue(&also_met, lock, READ, NULL); /* behind the next writer, and yet before it */
    check(!ilk_rwlock_try_read_lock(lock));
    actor_leave(&first);
    actor_await_inside(&writer);
    actor_leave(&writer);
    actor_await_inside(&met);
    actor_await_inside(&also_met);
    check_equal(counted_readers(lock), 2);
    check(thread_sleeps(&next.thread));
    check(!actor_is_inside(&next));
    actor_leave(&met);
    actor_leave(&also_met);
    actor_await_inside(&next);
    actor_leave(&next);
}

static void readers_that_met_a_writer_come_in_before_the_next(void **state) {
    (void)state;
    in_both_modes(meet_the_writer);
}

static void try_beside_a_reader(ilk_rwlock *lock) {
    struct actor reader, second, writer;
    actor_enter(&reader, lock, READ);
    const uint32_t before = word_of(lock);
    for (int times = 0; times < 100; times++) {
        check(!ilk_rwlock_try_write_lock(lock));
        check_equal(word_of(lock) & ~ILK__RWLOCK_MODE, before & ~ILK__RWLOCK_MODE);
    }
    actor_enter(&second, lock, READ);
    actor_queue(&writer, lock, WRITE, NULL);
    check(!ilk_rwlock_try_write_lock(lock)); /* nor beside a writer that waits */
    actor_leave(&reader);
    actor_leave(&second);
    actor_await_inside(&writer);
    actor_leave(&writer);
}

static void a_try_to_write_beside_a_slot_answers_false_and_changes_nothing(void **state) {
    (void)state;
    in_both_modes(try_beside_a_reader);
}

static void time_out_beside_a_reader(ilk_rwlock *lock) {
    struct actor reader, late, waiting, next;
    actor_enter(&reader, lock, READ);
    check_equal(ilk_rwlock_write_lock_until(lock, 0), ILK_TIMEDOUT);
    uint64_t deadline = ilk_deadline_in_ns(MILLISECONDS(20));
    check_equal(ilk_rwlock_write_lock_until(lock, deadline), ILK_TIMEDOUT);
    check(ilk_now_ns() >= deadline);
    check(ilk__rwlock_is_idle(word_of(lock)));
    check(ilk_rwlock_try_read_lock(lock));
    ilk_rwlock_read_unlock(lock);

    /* Long enough for the others to fall asleep behind it, which is checked. */
    actor_start_until(&late, lock, WRITE, ilk_deadline_in_ns(MILLISECONDS(1500)));
    await_drain(&late);
    actor_queue(&waiting, lock, READ, NULL);
    actor_queue(&next, lock, WRITE, NULL);
    actor_join_timed_out(&late);
    actor_await_inside(&waiting); /* though the first reader has not left and another writer waits */
    check(!actor_is_inside(&next));
    actor_leave(&waiting);
    thread_await_sleep(&next.thread); /* for the slot now */
    check(!actor_is_inside(&next));
    actor_leave(&reader);
    actor_await_inside(&next);
    actor_leave(&next);
}

static void a_writer_that_times_out_for_a_slot_lets_those_behind_it_in(void **state) {
    (void)state;
    in_both_modes(time_out_beside_a_reader);
}

static void be_served_in_time(ilk_rwlock *lock) {
    struct actor reader, writer;
    actor_enter(&reader, lock, READ);
    actor_start_until(&writer, lock, WRITE, ilk_deadline_in_ns(MILLISECONDS(100000)));
    await_drain(&writer);
    actor_leave(&reader);
    actor_await_inside(&writer);
    check_equal(writer.status, ILK_OK);
    actor_leave(&writer);
}

static void a_timed_writer_comes_in_when_the_slot_is_freed_in_time(void **state) {
    (void)state;
    in_both_modes(be_served_in_time);
}

/* ---- Upgradable, upgrade, downgrade ---- */

static void hold_upgradable(ilk_rwlock *lock) {
    struct actor before, upgradable, after;
    actor_enter(&before, lock, READ);
    actor_enter(&upgradable, lock, UPGRADABLE);
    actor_enter(&after, lock, READ);
    check_equal(counted_readers(lock), 0);
    check(!ilk_rwlock_try_write_lock(lock));
    actor_leave(&before);
    check(!ilk_rwlock_try_write_lock(lock));
    actor_leave(&upgradable);
    check(!ilk_rwlock_try_write_lock(lock));
    actor_leave(&after);
}

static void an_upgradable_is_beside_readers_in_slots(void **state) {
    (void)state;
    in_both_modes(hold_upgradable);
}

static void upgrade_beside_a_reader(ilk_rwlock *lock) {
    struct actor reader, upgradable, writer, late;
    actor_enter(&reader, lock, READ);
    actor_enter(&upgradable, lock, UPGRADABLE);
    actor_queue(&writer, lock, WRITE, NULL);
    actor_begin_upgrade(&upgradable);
    await_drain(&upgradable);
    check(stage_now(&upgradable.inside) < 2);
    actor_queue(&late, lock, READ, NULL); /* held back by the upgrade */
    actor_leave(&reader);
    actor_await_upgraded(&upgradable);
    check(!actor_is_inside(&writer));
    check(!actor_is_inside(&late));
    actor_leave(&upgradable);
    actor_await_inside(&late);
    check(!actor_is_inside(&writer));
    actor_leave(&late);
    actor_await_inside(&writer);
    actor_leave(&writer);
}

/* With nobody queued the upgrade takes the fast path, and drains from there. */
static void upgrade_beside_nothing_but_a_reader(ilk_rwlock *lock) {
    struct actor reader, upgradable;
    actor_enter(&reader, lock, READ);
    actor_enter(&upgradable, lock, UPGRADABLE);
    actor_begin_upgrade(&upgradable);
    await_drain(&upgradable);
    check(stage_now(&upgradable.inside) < 2);
    actor_leave(&reader);
    actor_await_upgraded(&upgradable);
    actor_leave(&upgradable);
}

static void an_upgrade_sleeps_until_the_slots_are_free(void **state) {
    (void)state;
    in_both_modes(upgrade_beside_a_reader);
    in_both_modes(upgrade_beside_nothing_but_a_reader);
}

static void downgrade_beside_a_queue(ilk_rwlock *lock) {
    struct actor waiting, fresh, writer;
    ilk_rwlock_write_lock(lock);
    actor_queue(&waiting, lock, READ, NULL);
    ilk_rwlock_downgrade(lock);
    actor_await_inside(&waiting);
    actor_enter(&fresh, lock, READ);
    check(is_in_a_slot(lock));
    check_equal(counted_readers(lock), 2); /* this thread and the one that waited */
    actor_queue(&writer, lock, WRITE, NULL);
    actor_leave(&waiting);
    ilk_rwlock_read_unlock(lock);
    await_drain(&writer); /* handed the lock by the last counted reader, it finds the slot taken */
    check(!actor_is_inside(&writer));
    actor_leave(&fresh);
    actor_await_inside(&writer);
    actor_leave(&writer);
}

static void downgrade_beside_nobody(ilk_rwlock *lock) {
    struct actor reader;
    ilk_rwlock_write_lock(lock);
    ilk_rwlock_downgrade(lock);
    check_equal(counted_readers(lock), 1);
    actor_enter(&reader, lock, READ);
    check(is_in_a_slot(lock));
    ilk_rwlock_read_unlock(lock);
    check(!ilk_rwlock_try_write_lock(lock));
    actor_leave(&reader);
}

static void a_downgraded_lock_has_counted_readers_beside_slots(void **state) {
    (void)state;
    in_both_modes(downgrade_beside_a_queue);
    in_both_modes(downgrade_beside_nobody);
}

/* ---- Several locks, one thread ---- */

enum { LOCKS = 256 };

/* Locks whose slots have one number: the first read is in the slot, the second counted. */
static void hold_two_that_collide(ilk_rwlock *first, ilk_rwlock *second, bool in_order) {
    ilk_rwlock_read_lock(first);
    ilk_rwlock_read_lock(second);
    check(is_in_a_slot(first) && !is_in_a_slot(second));
    check_equal(counted_readers(second), 1);
    check(!ilk_rwlock_try_write_lock(first) && !ilk_rwlock_try_write_lock(second));
    ilk_rwlock *left = in_order ? first : second;
    ilk_rwlock *held = in_order ? second : first;
    ilk_rwlock_read_unlock(left);
    check(ilk_rwlock_try_write_lock(left));
    ilk_rwlock_write_unlock(left);
    check(!ilk_rwlock_try_write_lock(held));
    struct actor writer;
    actor_queue(&writer, held, WRITE, NULL);
    ilk_rwlock_read_lock(left); /* in the slot, or counted if that is the other's */
    check_equal(is_in_a_slot(left), in_order);
    ilk_rwlock_read_unlock(held);
    actor_await_inside(&writer);
    actor_leave(&writer);
    ilk_rwlock_read_unlock(left);
}

static void two_locks_of_one_slot_are_held_at_once(void **state) {
    (void)state;
    ilk_rwlock *locks = calloc(LOCKS, sizeof *locks);
    check(locks != NULL);
    ilk_rwlock *first = &locks[0];
    ilk_rwlock *second = &locks[find_colliding(locks, LOCKS, 1, first)];
    move_to_slots(first);
    move_to_slots(second);
    hold_two_that_collide(first, second, true);
    hold_two_that_collide(first, second, false);
    if (membarrier_works()) {
        move_to_fence_free(first);
        hold_two_that_collide(first, second, true); /* one of each mode */
        hold_two_that_collide(second, first, false);
    }
    check_free_and_destroy(first);
    check_free_and_destroy(second);
    free(locks);
}

static void more_locks_than_slots_are_held_at_once(void **state) {
    (void)state;
    enum { HELD = 3 * ILK__SLOT_COUNT };
    ilk_rwlock *locks = calloc(HELD, sizeof *locks);
    check(locks != NULL);
    int in_slots = 0;
    for (int i = 0; i < HELD; i++) {
        move_to_slots(&locks[i]); /* before any is held, so that none is here for want of a slot */
    }
    for (int i = 0; i < HELD; i++) {
        ilk_rwlock_read_lock(&locks[i]);
        in_slots += is_in_a_slot(&locks[i]) ? 1 : 0;
        check_equal(counted_readers(&locks[i]), is_in_a_slot(&locks[i]) ? 0 : 1);
    }
    check(in_slots > 1 && in_slots <= ILK__SLOT_COUNT);
    for (int i = 0; i < HELD; i++) {
        int next = i * 7 % HELD; /* 7 and 24 have no common factor: each once, not in order */
        for (int other = 0; other < HELD; other++) {
            bool is_held = true;
            for (int left = 0; left < i; left++) {
                is_held = is_held && left * 7 % HELD != other;
            }
            check_equal(ilk_rwlock_try_write_lock(&locks[other]), !is_held);
            if (!is_held) {
                ilk_rwlock_write_unlock(&locks[other]);
            }
        }
        ilk_rwlock_read_unlock(&locks[next]);
    }
    for (int i = 0; i < HELD; i++) {
        check_free_and_destroy(&locks[i]);
    }
    free(locks);
}

/* ---- Between the modes ---- */

static void needs_membarrier(void) {
    if (!membarrier_works()) {
        print_message("membarrier(2) is refused here, so that no lock becomes fence-free\n");
        skip();
    }
}

static void many_reads_leave_the_fence_out(void **state) {
    (void)state;
    needs_membarrier();
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    for (int reads = 0; reads < 60000; reads++) {
        ilk_rwlock_read_lock(&lock);
        ilk_rwlock_read_unlock(&lock);
    }
    check_equal(mode_of(&lock), ILK__RWLOCK_SLOTS); /* not on so little evidence */
    move_to_fence_free(&lock);
    check_free_and_destroy(&lock);
}

static void writes_close_together_bring_the_fence_back(void **state) {
    (void)state;
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

static void writes_as_frequent_as_reads_bring_it_back_to_the_word(void **state) {
    (void)state;
    struct alternation shared = {.lock = ILK_RWLOCK_INIT};
    move_to_slots(&shared.lock);
    struct thread reader;
    thread_start(&reader, read_on, &shared);
    for (int writes = 0; mode_of(&shared.lock) != 0; writes++) {
        check(writes < 1000000);
        ilk_rwlock_write_lock(&shared.lock);
        ilk_rwlock_write_unlock(&shared.lock);
        for (int i = 0; i < 100; i++) {
            ilk_cpu_relax(); /* the reader's turn, who is then met in its slot */
        }
    }
    ilk_atomic_store(&shared.stop, 1, memory_order_relaxed);
    thread_join(&reader);
    check_free_and_destroy(&shared.lock);
}

static void the_fence_is_left_out_only_where_membarrier_is_granted(void **state) {
    (void)state;
    /* Asked again, the kernel answers as it did before main. */
    bool granted = syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0) == 0;
    check_equal(membarrier_works(), granted);
}

static void without_membarrier_it_never_leaves_the_fence_out(void **state) {
    (void)state;
    ilk_atomic_store(&ilk__membarrier_works, false, memory_order_relaxed); /* no other thread runs yet */
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    for (int reads = 0; reads < 1 << 21; reads++) {
        ilk_rwlock_read_lock(&lock);
        check((word_of(&lock) & ILK__RWLOCK_FENCE_FREE) == 0);
        ilk_rwlock_read_unlock(&lock);
    }
    check_equal(mode_of(&lock), ILK__RWLOCK_SLOTS);
    write_beside_a_reader(&lock);
    meet_the_writer(&lock);
    try_beside_a_reader(&lock);
    upgrade_beside_a_reader(&lock);
    check_free_and_destroy(&lock);
}

/* ---- Idle waiting ---- */

static uint64_t processor_time_of(const struct thread *thread) {
    clockid_t clock;
    struct timespec time;
    check_equal(pthread_getcpuclockid(thread->id, &clock), 0);
    check_equal(clock_gettime(clock, &time), 0);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

/* The span is what is measured; nothing is hoped to happen in it. */
static void wait_idly(ilk_rwlock *lock) {
    struct actor reader, writer, held_back;
    actor_enter(&reader, lock, READ);
    actor_queue(&writer, lock, WRITE, NULL);
    actor_queue(&held_back, lock, READ, NULL);
    uint64_t before_writer = processor_time_of(&writer.thread);
    uint64_t before_reader = processor_time_of(&held_back.thread);
    const struct timespec span = {.tv_nsec = (long)MILLISECONDS(200)};
    nanosleep(&span, NULL);
    check(processor_time_of(&writer.thread) - before_writer < MILLISECONDS(3));
    check(processor_time_of(&held_back.thread) - before_reader < MILLISECONDS(3));
    actor_leave(&reader);
    actor_await_inside(&writer);
    actor_leave(&writer);
    actor_leave(&held_back);
}

static void waiting_for_a_slot_burns_no_processor_time(void **state) {
    (void)state;
    in_both_modes(wait_idly);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(it_is_as_small_as_promised),
    cmocka_unit_test(thirty_one_reads_move_it_to_slots),
    cmocka_unit_test(writes_between_them_do_not_hide_reads),
    cmocka_unit_test(one_threads_writes_stay_in_slots),
    cmocka_unit_test(short_probes_keep_the_slots),
    cmocka_unit_test(two_long_probes_leave_them_and_one_does_not),
    cmocka_unit_test(reads_of_several_threads_must_outnumber_writes),
    cmocka_unit_test(reads_in_slots_leave_the_word_alone),
    cmocka_unit_test(a_read_within_a_read_holds_it_until_both_have_ended),
    cmocka_unit_test(a_writer_sleeps_until_the_last_slot_is_free),
    cmocka_unit_test(readers_that_met_a_writer_come_in_before_the_next),
    cmocka_unit_test(a_try_to_write_beside_a_slot_answers_false_and_changes_nothing),
    cmocka_unit_test(a_writer_that_times_out_for_a_slot_lets_those_behind_it_in),
    cmocka_unit_test(a_timed_writer_comes_in_when_the_slot_is_freed_in_time),
    cmocka_unit_test(an_upgradable_is_beside_readers_in_slots),
    cmocka_unit_test(an_upgrade_sleeps_until_the_slots_are_free),
    cmocka_unit_test(a_downgraded_lock_has_counted_readers_beside_slots),
    cmocka_unit_test(two_locks_of_one_slot_are_held_at_once),
    cmocka_unit_test(more_locks_than_slots_are_held_at_once),
    cmocka_unit_test(many_reads_leave_the_fence_out),
    cmocka_unit_test(writes_close_together_bring_the_fence_back),
    cmocka_unit_test(writes_as_frequent_as_reads_bring_it_back_to_the_word),
    cmocka_unit_test(the_fence_is_left_out_only_where_membarrier_is_granted),
    cmocka_unit_test(without_membarrier_it_never_leaves_the_fence_out),
    cmocka_unit_test(waiting_for_a_slot_burns_no_processor_time),
};

TEST_MAIN(tests)
