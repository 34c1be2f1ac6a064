/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_rwlock with its readers in slots: which thread waits for which, in both modes that use slots. Every
 * schedule is forced; "asleep" is the kernel's word. rwlock_refused_test runs this program without
 * membarrier(2).
 */
#include "rwlock/slots_schedules.h"
#include <interlock/inline/fence.h>
#include <interlock/inline/owned_rwlock.h>
#include <interlock/inline/read_section.h>
#include <stdlib.h>
#include <time.h>
/* contract: ilk_rwlock_init */
TEST(it_is_as_small_as_promised) {
    check(sizeof(ilk_rwlock) <= 16);
    check(sizeof(struct ilk__slot_block) <= 256);
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
/* contract: ilk_rwlock_read_lock */
TEST(reads_in_slots_leave_the_word_alone) {
    in_both_modes(read_in_a_slot);
}

/* The inner read finds its slot taken and is counted. Either order of unlocking. */
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

TEST(a_read_within_a_read_holds_it_until_both_have_ended) {
    in_both_modes(read_within_a_read);
}

/* ---- Writers wait for slots ---- */
/* contract: ilk_rwlock_write_lock */
TEST(a_writer_sleeps_until_the_last_slot_is_free) {
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
/* contract: rwlock.A */
TEST(readers_that_met_a_writer_come_in_before_the_next) {
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
/* contract: ilk_rwlock_try_write_lock */
TEST(a_try_to_write_beside_a_slot_answers_false_and_changes_nothing) {
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

    /* Long enough for the others to fall asleep, which is checked. */
    actor_start_until(&late, lock, WRITE, ilk_deadline_in_ns(MILLISECONDS(1500)));
    await_drain(&late);
    actor_queue(&waiting, lock, READ, NULL);
    actor_queue(&next, lock, WRITE, NULL);
    actor_join_timed_out(&late);
    actor_await_inside(&waiting); /* though the first reader is inside and another writer waits */
    check(!actor_is_inside(&next));
    actor_leave(&waiting);
    thread_await_sleep(&next.thread); /* for the slot now */
    check(!actor_is_inside(&next));
    actor_leave(&reader);
    actor_await_inside(&next);
    actor_leave(&next);
}
/* contract: rwlock.D */
TEST(a_writer_that_times_out_for_a_slot_lets_those_behind_it_in) {
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
/* contract: ilk_rwlock_read_lock_until, ilk_rwlock_upgradable_lock_until, ilk_rwlock_write_lock_until */
TEST(a_timed_writer_comes_in_when_the_slot_is_freed_in_time) {
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
/* contract: ilk_rwlock_upgradable_lock, ilk_rwlock_upgradable_unlock */
TEST(an_upgradable_is_beside_readers_in_slots) {
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

/* The other's upgradable lock will be given up: no wait for oneself. */
static void read_then_wait_for_upgradable(void *context) {
    ilk_rwlock *lock = context;
    ilk_rwlock_read_lock(lock);
    ilk_rwlock_upgradable_lock(lock);
    ilk_rwlock_upgradable_unlock(lock);
    ilk_rwlock_read_unlock(lock);
}

TEST(a_reader_in_a_slot_waits_for_the_upgradable_lock_of_another_thread) {
    skip_if(IS_CHECKED, "a checked build reports the wait");
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    move_to_slots(&lock);
    struct actor other;
    actor_enter(&other, &lock, UPGRADABLE);
    struct thread thread;
    thread_start(&thread, read_then_wait_for_upgradable, &lock);
    thread_await_sleep(&thread);
    actor_leave(&other);
    thread_join(&thread);
    ilk_rwlock_destroy(&lock);
}

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
/* contract: ilk_rwlock_upgrade */
TEST(an_upgrade_sleeps_until_the_slots_are_free) {
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

static void downgrade_beside_no_thread(ilk_rwlock *lock) {
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

TEST(a_downgraded_lock_has_counted_readers_beside_slots) {
    in_both_modes(downgrade_beside_a_queue);
    in_both_modes(downgrade_beside_no_thread);
}

/* ---- Several locks, one thread ---- */

enum { LOCKS = 256 };

/* The first read is in the slot that both locks share, the second is counted. */
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
    ilk_rwlock_read_lock(left); /* counted if the slot is the other's */
    check_equal(is_in_a_slot(left), in_order);
    ilk_rwlock_read_unlock(held);
    actor_await_inside(&writer);
    actor_leave(&writer);
    ilk_rwlock_read_unlock(left);
}

TEST(two_locks_of_one_slot_are_held_at_once) {
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

TEST(more_locks_than_slots_are_held_at_once) {
    enum { HELD = 3 * ILK__SLOT_COUNT };
    ilk_rwlock *locks = calloc(HELD, sizeof *locks);
    check(locks != NULL);
    int in_slots = 0;
    for (int i = 0; i < HELD; i++) {
        move_to_slots(&locks[i]); /* before any is held, so that none lacks a slot */
    }
    for (int i = 0; i < HELD; i++) {
        ilk_rwlock_read_lock(&locks[i]);
        in_slots += is_in_a_slot(&locks[i]) ? 1 : 0;
        check_equal(counted_readers(&locks[i]), is_in_a_slot(&locks[i]) ? 0 : 1);
    }
    check(in_slots > 1 && in_slots <= ILK__SLOT_COUNT);
    for (int i = 0; i < HELD; i++) {
        int next = i * 7 % HELD; /* 7 and 24 are coprime: each once, not in order */
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

/* ---- Without membarrier ---- */

TEST(without_membarrier_it_never_leaves_the_fence_out) {
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

/* The span is measured; nothing is hoped to happen in it. */
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

TEST(waiting_for_a_slot_burns_no_processor_time) {
    in_both_modes(wait_idly);
}

/* As many further reads as a slot counts; then a try fails, and a call that may wait is counted. */
static void read_further(ilk_rwlock *lock) {
    enum { FURTHER = 2047 };
    ilk_rwlock_read_lock(lock);
    for (int reads = 0; reads < FURTHER; reads++) {
        check(ilk_rwlock_try_read_lock(lock));
    }
    check_equal(counted_readers(lock), 0);
    check(!ilk_rwlock_try_read_lock(lock));
    ilk_rwlock_read_lock(lock);
    check_equal(counted_readers(lock), 1);
    for (int reads = FURTHER; reads >= 0; reads--) {
        check(is_in_a_slot(lock));
        check(!ilk_rwlock_try_write_lock(lock));
        ilk_rwlock_read_unlock(lock);
    }
    check(!is_in_a_slot(lock));
    check(!ilk_rwlock_try_write_lock(lock)); /* the counted one */
    ilk_rwlock_read_unlock(lock);
    check(ilk_rwlock_try_write_lock(lock));
    ilk_rwlock_write_unlock(lock);
}
/* contract: ilk_rwlock_try_read_lock */
TEST(a_thread_tries_to_read_further_in_its_slot) {
    in_both_modes(read_further);
}

/* A further read is not let in behind a waiting writer, and leaves the first in place. */
static void try_further_behind_a_writer(ilk_rwlock *lock) {
    struct actor writer;
    ilk_rwlock_read_lock(lock);
    actor_queue(&writer, lock, WRITE, NULL);
    check(!ilk_rwlock_try_read_lock(lock));
    check(!actor_is_inside(&writer));
    check(is_in_a_slot(lock));
    ilk_rwlock_read_unlock(lock);
    actor_await_inside(&writer);
    actor_leave(&writer);
}

/* The same where the writer waits in the queue: the second read is counted, so WRITER is not up, READERS_HELD is. */
static void try_further_behind_a_queued_writer(ilk_rwlock *lock) {
    struct actor writer;
    ilk_rwlock_read_lock(lock);
    ilk_rwlock_read_lock(lock);
    check_equal(counted_readers(lock), 1);
    actor_queue(&writer, lock, WRITE, NULL);
    check_equal(word_of(lock) & ILK__RWLOCK_WRITER, 0);
    check(!ilk_rwlock_try_read_lock(lock));
    check(is_in_a_slot(lock));
    ilk_rwlock_read_unlock(lock);
    check(!actor_is_inside(&writer));
    ilk_rwlock_read_unlock(lock);
    actor_await_inside(&writer);
    actor_leave(&writer);
}

TEST(a_waiting_writer_holds_back_further_reads) {
    in_both_modes(try_further_behind_a_writer);
    in_both_modes(try_further_behind_a_queued_writer);
}

/* ---- The facade's lock ---- */

static void write_once(void *context) {
    ilk__owned_rwlock *owned = context;
    ilk__owned_write_lock(owned, "the call");
    ilk__owned_write_unlock(owned);
}
static void read_once(void *context) {
    ilk_rwlock *lock = context;
    ilk__read_section_end(lock, ilk__read_section_begin(lock));
}

TEST(sections_of_the_facade_and_its_writers_wait_for_each_other) {
    static ilk__owned_rwlock owned;
    ilk_rwlock *const lock = &owned.lock;
    struct thread writer, reader;
    ilk__read_section inner;
    move_to_slots(lock);
    const ilk__read_section section = ilk__read_section_begin(lock);
    check(is_in_a_slot(lock));
    check(ilk__read_section_try(lock, &inner)); /* the slot is taken */
    check_equal(counted_readers(lock), 1);
    ilk__read_section_end(lock, inner);
    check(is_in_a_slot(lock));
    thread_start(&writer, write_once, &owned);
    thread_await_sleep(&writer);
    check(!ilk__read_section_try(lock, &inner));
    ilk__read_section_end(lock, section);
    thread_join(&writer);
    ilk__owned_write_lock(&owned, "the call");
    thread_start(&reader, read_once, lock);
    thread_await_sleep(&reader);
    ilk__owned_write_unlock(&owned);
    thread_join(&reader);
    check(ilk__read_section_try(lock, &inner));
    ilk__read_section_end(lock, inner);
    check_free_and_destroy(lock);
}
