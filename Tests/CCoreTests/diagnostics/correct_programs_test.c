/* SPDX-License-Identifier: Apache-2.0
 *
 * Correct programs are silent: a report of one that cannot deadlock is a defect. Each pattern runs in several threads.
 */
/* contract: diagnostics.h */
#include "diagnostics/objects.h"
#include "diagnostics/reports.h"
#include "diagnostics/tables.h"
#include "support/rwlock_mode.h"
#include <interlock/inline/diagnose.h>
#include <interlock/mutex.h>
#include <interlock/rwlock.h>
#include <interlock/semaphore.h>
#include <interlock/spsc.h>
#include <signal.h>
#include <stdlib.h>

enum { THREADS = 4 };

/* Runs `body` in several threads, and expects no report. */
static void expect_silence(thread_body *body, void *context) {
    struct thread threads[THREADS];
    for (int index = 0; index < THREADS; index++) {
        thread_start(&threads[index], body, context);
    }
    for (int index = 0; index < THREADS; index++) {
        thread_join(&threads[index]);
    }
    if (reports.count != 0) {
        fprintf(stderr, "%s", reports.text);
    }
    check_equal(reports.count, 0);
}

/* ---- Hierarchies by address ---- */

enum { LOCKS = 16 };
static ilk_mutex locks[LOCKS];
static ILK_ATOMIC(uint32_t) seeds = 1;

static void lock_by_address(void *unused) {
    uint32_t random = ilk_atomic_fetch_add(&seeds, 1, memory_order_relaxed) * 2654435761U | 1;
    for (int round = stress_rounds(2000); round > 0; round--) {
        unsigned one = next_random(&random) % LOCKS;
        unsigned other = next_random(&random) % LOCKS;
        if (one == other) {
            continue;
        }
        ilk_mutex *low = &locks[one < other ? one : other];
        ilk_mutex *high = &locks[one < other ? other : one];
        ilk_mutex_lock(low);
        ilk_mutex_lock(high);
        ilk_mutex_unlock(low);
        ilk_mutex_unlock(high);
    }
}

TEST(hierarchies_by_address_are_silent) {
    begin_reports();
    for (unsigned index = 0; index < LOCKS; index++) {
        ilk_mutex_init(&locks[index], index % 2 == 0);
    }
    expect_silence(lock_by_address, NULL);
}

/* ---- Reading again ---- */

static ilk_rwlock read_again;

static void read_in_nests(void *unused) {
    for (int round = stress_rounds(2000); round > 0; round--) {
        ilk_rwlock_read_lock(&read_again);
        ilk_rwlock_read_lock(&read_again);
        ilk_rwlock_read_unlock(&read_again);
        ilk_rwlock_read_unlock(&read_again);
    }
}

TEST(reading_again_without_a_writer_is_silent) {
    begin_reports();
    ilk_rwlock_init(&read_again);
    expect_silence(read_in_nests, NULL);
    ilk_rwlock_destroy(&read_again);
}

TEST(reading_again_what_was_written_before_is_silent) {
    begin_reports();
    ilk_rwlock_init(&read_again);
    ilk_rwlock_write_lock(&read_again);
    ilk_rwlock_write_unlock(&read_again);
    expect_silence(read_in_nests, NULL);
    ilk_rwlock_destroy(&read_again);
}

/* ---- Back-off by trying ---- */

static ilk_mutex tried[2];

static void lock_or_back_off(void *unused) {
    for (int round = stress_rounds(2000); round > 0; round--) {
        unsigned first = (unsigned)round % 2;
        for (;;) {
            ilk_mutex_lock(&tried[first]);
            if (ilk_mutex_try_lock(&tried[1 - first])) {
                break;
            }
            ilk_mutex_unlock(&tried[first]);
            first = 1 - first;
        }
        ilk_mutex_unlock(&tried[0]);
        ilk_mutex_unlock(&tried[1]);
    }
}

TEST(backing_off_by_trying_is_silent) {
    begin_reports();
    ilk_mutex_init(&tried[0], false);
    ilk_mutex_init(&tried[1], false);
    expect_silence(lock_or_back_off, NULL);
}

static void lock_or_give_up(void *unused) {
    for (int round = stress_rounds(2000); round > 0; round--) {
        const unsigned first = (unsigned)round % 2;
        ilk_mutex_lock(&tried[first]);
        if (ilk_mutex_lock_until(&tried[1 - first], ilk_deadline_in_ns(1000)) == ILK_OK) {
            ilk_mutex_unlock(&tried[1 - first]);
        }
        ilk_mutex_unlock(&tried[first]);
    }
}

TEST(waits_with_a_limit_are_silent) {
    begin_reports();
    ilk_mutex_init(&tried[0], false);
    ilk_mutex_init(&tried[1], false);
    expect_silence(lock_or_give_up, NULL);
}

/* ---- Hand over hand ---- */

static void walk_hand_over_hand(void *unused) {
    for (int round = stress_rounds(500); round > 0; round--) {
        ilk_mutex_lock(&locks[0]);
        for (unsigned index = 1; index < LOCKS; index++) {
            ilk_mutex_lock(&locks[index]);
            ilk_mutex_unlock(&locks[index - 1]);
        }
        ilk_mutex_unlock(&locks[LOCKS - 1]);
    }
}

TEST(walking_a_list_hand_over_hand_is_silent) {
    begin_reports();
    for (unsigned index = 0; index < LOCKS; index++) {
        ilk_mutex_init(&locks[index], false);
    }
    expect_silence(walk_hand_over_hand, NULL);
}

/* ---- Semaphores as signals ---- */

/* A buffer of one: the producer takes what the consumer gives, and the other way round. */
static struct {
    ilk_semaphore room, full;
    ilk_mutex mutex;
    int passed;
} buffer;

static void produce(void *unused) {
    for (int round = 0; round < 1000; round++) {
        ilk_semaphore_wait(&buffer.room);
        ilk_mutex_lock(&buffer.mutex);
        buffer.passed++;
        ilk_mutex_unlock(&buffer.mutex);
        ilk_semaphore_signal(&buffer.full, 1);
    }
}
static void consume(void *unused) {
    for (int round = 0; round < 1000; round++) {
        ilk_semaphore_wait(&buffer.full);
        ilk_mutex_lock(&buffer.mutex);
        buffer.passed--;
        ilk_semaphore_signal(&buffer.room, 1);
        ilk_mutex_unlock(&buffer.mutex);
    }
}

TEST(semaphores_as_signals_are_silent) {
    begin_reports();
    ilk_semaphore_init(&buffer.room, 1);
    ilk_semaphore_init(&buffer.full, 0);
    ilk_mutex_init(&buffer.mutex, false);
    struct thread producer, consumer;
    thread_start(&producer, produce, NULL);
    thread_start(&consumer, consume, NULL);
    thread_join(&producer);
    thread_join(&consumer);
    check_equal(reports.count, 0);
    ilk_semaphore_destroy(&buffer.room);
    ilk_semaphore_destroy(&buffer.full);
}

/* A thread that never took a permit hands one to a waiter, as FIFOSemaphore does: the semaphore is no lock. */
static void hand_over_and_take_in_the_other_order(void *unused) {
    ilk__facade_give(&buffer.room);
    ilk_mutex_lock(&buffer.mutex);
    ilk_semaphore_wait(&buffer.room);
    ilk_semaphore_signal(&buffer.room, 1);
    ilk_mutex_unlock(&buffer.mutex);
}

TEST(permits_that_the_facade_hands_over_are_silent) {
    begin_reports();
    ilk_semaphore_init(&buffer.room, 1);
    ilk_mutex_init(&buffer.mutex, false);
    for (int round = 0; round < 2; round++) {
        ilk_semaphore_wait(&buffer.room);
        ilk_mutex_lock(&buffer.mutex);
        ilk_mutex_unlock(&buffer.mutex);
        ilk_semaphore_signal(&buffer.room, 1);
    }
    struct thread other;
    thread_start(&other, hand_over_and_take_in_the_other_order, NULL);
    thread_join(&other);
    check_equal(reports.count, 0);
    ilk_semaphore_destroy(&buffer.room);
}

/* Taken in one thread and given back in another, which semaphores allow. */
static struct stage baton = STAGE_INIT;
static void give_back(void *unused) {
    for (int round = 0; round < 100; round++) {
        stage_await(&baton, 2 * round + 1);
        ilk_mutex_lock(&buffer.mutex);
        ilk_semaphore_signal(&buffer.room, 1);
        ilk_mutex_unlock(&buffer.mutex);
        stage_advance(&baton);
    }
}

TEST(permits_given_back_by_another_thread_are_silent) {
    begin_reports();
    ilk_semaphore_init(&buffer.room, 1);
    ilk_mutex_init(&buffer.mutex, false);
    struct thread other;
    thread_start(&other, give_back, NULL);
    for (int round = 0; round < 100; round++) {
        ilk_semaphore_wait(&buffer.room);
        ilk_mutex_lock(&buffer.mutex);
        ilk_mutex_unlock(&buffer.mutex);
        stage_advance(&baton);
        stage_await(&baton, 2 * round + 2);
    }
    thread_join(&other);
    check_equal(reports.count, 0);
    ilk_semaphore_destroy(&buffer.room);
}

static void wait_under_mutex(void *unused) {
    ilk_mutex_lock(&buffer.mutex);
    ilk_semaphore_wait(&buffer.room);
    ilk_mutex_unlock(&buffer.mutex);
}
static void signal_room(void *unused) {
    ilk_semaphore_signal(&buffer.room, 1);
}

static void signal_one(void *permit) {
    ilk_semaphore_signal(permit, 1);
}

/* Until a thread has given back what it took, a semaphore may be a signal. */
TEST(a_permit_that_no_thread_has_given_back_is_no_lock_yet) {
    begin_reports();
    ilk_semaphore_init(&buffer.room, 1);
    ilk_mutex_init(&buffer.mutex, false);
    ilk_semaphore_wait(&buffer.room);
    ilk_mutex_lock(&buffer.mutex);
    ilk_mutex_unlock(&buffer.mutex);
    struct thread waiter, signaller;
    thread_start(&waiter, wait_under_mutex, NULL);
    thread_await_sleep(&waiter);
    thread_start(&signaller, signal_room, NULL);
    thread_join(&signaller);
    thread_join(&waiter);
    check_equal(reports.count, 0);
    ilk_semaphore_destroy(&buffer.room);
}

/* Locked with once, and then given by another thread: it is a signal after all, though our thread took it. */
TEST(a_semaphore_that_was_a_lock_may_become_a_signal) {
    begin_reports();
    ilk_semaphore_init(&buffer.room, 1);
    ilk_mutex_init(&buffer.mutex, false);
    ilk_semaphore_wait(&buffer.room);
    ilk_semaphore_signal(&buffer.room, 1);
    ilk_semaphore_wait(&buffer.room);
    struct thread signaller;
    thread_start(&signaller, signal_room, NULL);
    thread_join(&signaller);
    ilk_mutex_lock(&buffer.mutex);
    ilk_mutex_unlock(&buffer.mutex);
    wait_under_mutex(NULL);
    check_equal(reports.count, 0);
    ilk_semaphore_destroy(&buffer.room);
}

static void lock_in_both_orders(void (*take)(void), void (*give)(void)) {
    take();
    ilk_mutex_lock(&buffer.mutex);
    ilk_mutex_unlock(&buffer.mutex);
    give();
    ilk_mutex_lock(&buffer.mutex);
    take();
    give();
    ilk_mutex_unlock(&buffer.mutex);
}
static void wait_for_room(void) {
    ilk_semaphore_wait(&buffer.room);
}
static void give_one(void) {
    ilk_semaphore_signal(&buffer.room, 1);
}
static void try_to_give_one(void) {
    check(ilk_semaphore_try_signal(&buffer.room, 1));
}

/* As many as are there, and once more by a thread that gives two where it took one. */
TEST(semaphores_of_more_than_one_permit_are_silent) {
    begin_reports();
    ilk_mutex_init(&buffer.mutex, false);
    for (uint32_t permits = 1; permits <= 3; permits++) {
        ilk_semaphore_init(&buffer.room, permits);
        if (permits == 1) {
            ilk_semaphore_wait(&buffer.room);
            ilk_semaphore_signal(&buffer.room, 2);
        }
        lock_in_both_orders(wait_for_room, give_one);
        lock_in_both_orders(wait_for_room, try_to_give_one);
        check_equal(reports.count, 0);
        ilk_semaphore_wait(&buffer.room);
        ilk_semaphore_wait(&buffer.room);
        check_equal(reports.count, 0);
        ilk_semaphore_destroy(&buffer.room);
    }
}

static void try_for_room(void) {
    check(ilk_semaphore_try_wait(&buffer.room));
}

/* One that this thread holds leaves the other, which is given back first. */
TEST(semaphores_of_two_permits_are_silent_though_diagnosis_met_them_late) {
    static void (*const takes[])(void) = {wait_for_room, try_for_room};
    static const ilk_semaphore two = ILK_SEMAPHORE_INIT(2);
    ilk_mutex_init(&buffer.mutex, false);
    for (unsigned index = 0; index < sizeof takes / sizeof *takes; index++) {
        begin_reports();
        ilk_mutex_init(&buffer.mutex, false);
        memcpy(&buffer.room, &two, sizeof two);
        check_equal(ilk_semaphore_observe(&buffer.room, ILK_DIAGNOSE_ORDER), ILK_OK);
        takes[index]();
        lock_in_both_orders(wait_for_room, give_one);
        check_equal(reports.count, 0);
        ilk_semaphore_destroy(&buffer.room);
    }
}

static struct stage taken = STAGE_INIT;
static void keep_room(void *unused) {
    ilk_semaphore_wait(&buffer.room);
}
static void take_and_give_room(void *unused) {
    ilk_semaphore_wait(&buffer.room);
    stage_await(&taken, 1);
    ilk_semaphore_signal(&buffer.room, 1);
}

/* Both permits go to waiters: none is left beside the one that is given back. */
TEST(a_semaphore_is_no_lock_once_a_thread_gave_two_permits) {
    begin_reports();
    ilk_semaphore_init(&buffer.room, 1);
    ilk_mutex_init(&buffer.mutex, false);
    ilk_semaphore_wait(&buffer.room);
    struct thread keeper, giver;
    thread_start(&keeper, keep_room, NULL);
    thread_start(&giver, take_and_give_room, NULL);
    thread_await_sleep(&keeper);
    thread_await_sleep(&giver);
    ilk_semaphore_signal(&buffer.room, 2);
    thread_join(&keeper);
    stage_reach(&taken, 1);
    thread_join(&giver);
    lock_in_both_orders(wait_for_room, give_one);
    check_equal(reports.count, 0);
    ilk_semaphore_destroy(&buffer.room);
}

static void wait_a_while_for_room(void) {
    check_equal(ilk_semaphore_wait_until(&buffer.room, ilk_deadline_in_ns(MILLISECONDS(600000))), ILK_OK);
}

TEST(waits_for_a_permit_with_a_limit_are_silent) {
    begin_reports();
    ilk_semaphore_init(&buffer.room, 1);
    ilk_mutex_init(&buffer.mutex, false);
    for (int round = 0; round < 2; round++) {
        lock_in_both_orders(wait_a_while_for_room, give_one);
    }
    check_equal(reports.count, 0);
    ilk_semaphore_destroy(&buffer.room);
}

/* A signal in the middle of a cycle of three. */
TEST(a_cycle_through_a_signal_is_silent) {
    begin_reports();
    static ilk_mutex a, b;
    ilk_mutex_init(&a, false);
    ilk_mutex_init(&b, false);
    ilk_semaphore_init(&buffer.room, 1);
    ilk_mutex_lock(&a);
    ilk_semaphore_wait(&buffer.room);
    ilk_mutex_unlock(&a);
    ilk_mutex_lock(&b);
    ilk_mutex_unlock(&b);
    ilk_mutex_lock(&b);
    ilk_mutex_lock(&a);
    check_equal(reports.count, 0);
    ilk_mutex_unlock(&a);
    ilk_mutex_unlock(&b);
    ilk_semaphore_destroy(&buffer.room);
}

/* A thread is known to hold the first 32: permits that others have given back are not among them. */
TEST(permits_given_back_by_others_leave_room_for_locks) {
    enum { HELD_MOST = 32 };
    static ilk_semaphore permits[HELD_MOST];
    static ilk_mutex a, b;
    begin_reports();
    for (unsigned index = 0; index < HELD_MOST; index++) {
        ilk_semaphore_init(&permits[index], 1);
        ilk_semaphore_wait(&permits[index]);
    }
    for (unsigned index = 0; index < HELD_MOST; index++) {
        struct thread other;
        ilk_semaphore *permit = &permits[index];
        thread_start(&other, signal_one, permit);
        thread_join(&other);
    }
    ilk_mutex_init(&a, false);
    ilk_mutex_init(&b, false);
    lock_both(&a, &b);
    check_equal(reports.count, 0);
    lock_both(&b, &a);
    check_equal(reports.count, 1);
}

/* ---- Plain locks, which another thread than took them may give up ---- */

static ilk_rwlock plain;

static void write_plain(void) {
    ilk_rwlock_write_lock(&plain);
}
static void give_plain(void) {
    ilk_rwlock_write_unlock(&plain);
}
static void give_plain_up(void *unused) {
    ilk_rwlock_write_unlock(&plain);
}
static void read_plain_on(void *unused) {
    ilk_rwlock_downgrade(&plain);
    ilk_rwlock_read_unlock(&plain);
}
static void give_plain_up_to_the_sleeper(void *sleeper) {
    thread_await_sleep(sleeper);
    ilk_rwlock_write_unlock(&plain);
}
static void write_plain_twice(void *unused) {
    ilk_rwlock_write_lock(&plain);
    ilk_rwlock_write_lock(&plain);
    ilk_rwlock_write_unlock(&plain);
}

TEST(plain_locks_that_another_thread_gives_up_are_silent) {
    static thread_body *const gives[] = {give_plain_up, read_plain_on};
    begin_reports();
    ilk_mutex_init(&buffer.mutex, false);
    for (unsigned index = 0; index < sizeof gives / sizeof *gives; index++) {
        ilk_rwlock_init_plain(&plain);
        ilk_rwlock_write_lock(&plain);
        ilk_rwlock_write_unlock(&plain);
        ilk_rwlock_write_lock(&plain);
        struct thread other;
        thread_start(&other, gives[index], NULL);
        thread_join(&other);
        lock_in_both_orders(write_plain, give_plain); /* it may be held, as far as is known */
        check_equal(reports.count, 0);
        ilk_rwlock_destroy(&plain);
    }
    struct thread other, sleeper;
    ilk_rwlock_init_plain(&plain);
    thread_start(&sleeper, write_plain_twice, NULL);
    thread_start(&other, give_plain_up_to_the_sleeper, &sleeper);
    thread_join(&sleeper);
    thread_join(&other);
    check_equal(reports.count, 0);
    ilk_rwlock_destroy(&plain);
}

/* What a try takes may be given up by another thread as well. */
TEST(a_plain_lock_that_was_tried_first_is_silent_once_another_thread_gave_it_up) {
    begin_reports();
    ilk_mutex_init(&buffer.mutex, false);
    ilk_mutex_lock(&buffer.mutex); /* a try records nothing of a thread that is not known yet */
    ilk_mutex_unlock(&buffer.mutex);
    ilk_rwlock_init_plain(&plain);
    check(ilk_rwlock_try_write_lock(&plain));
    struct thread other;
    thread_start(&other, give_plain_up, NULL);
    thread_join(&other);
    lock_in_both_orders(write_plain, give_plain);
    check_equal(reports.count, 0);
    ilk_rwlock_destroy(&plain);
}

static void downgrade_plain(void *unused) {
    ilk_rwlock_downgrade(&plain);
}

/* Its reader lets others read. */
TEST(reading_a_plain_lock_that_another_thread_downgraded_is_silent) {
    begin_reports();
    ilk_rwlock_init_plain(&plain);
    ilk_rwlock_write_lock(&plain);
    ilk_rwlock_write_unlock(&plain);
    ilk_rwlock_write_lock(&plain);
    struct thread other;
    thread_start(&other, downgrade_plain, NULL);
    thread_join(&other);
    ilk_rwlock_read_lock(&plain);
    check_equal(reports.count, 0);
    ilk_rwlock_read_unlock(&plain);
    ilk_rwlock_read_unlock(&plain);
    ilk_rwlock_destroy(&plain);
}

static struct thread plain_writer;
static ILK_ATOMIC(bool) reads_again;
static void write_plain_once(void *unused) {
    ilk_rwlock_write_lock(&plain);
    ilk_rwlock_write_unlock(&plain);
}
static void read_plain_behind_a_writer(void *unused) {
    ilk_rwlock_read_lock(&plain);
    thread_start(&plain_writer, write_plain_once, NULL);
    thread_await_sleep(&plain_writer);
    ilk_atomic_store(&reads_again, true, memory_order_release);
    ilk_rwlock_read_lock(&plain);
    ilk_rwlock_read_unlock(&plain);
}

/* Another thread gives the first read up, which lets the writer in, and then the reader. */
TEST(reading_a_plain_lock_again_behind_a_writer_is_silent) {
    begin_reports();
    ilk_rwlock_init_plain(&plain);
    struct thread reader;
    thread_start(&reader, read_plain_behind_a_writer, NULL);
    yield_while(!ilk_atomic_load(&reads_again, memory_order_acquire));
    thread_await_sleep(&reader);
    ilk_rwlock_read_unlock(&plain);
    thread_join(&reader);
    thread_join(&plain_writer);
    check_equal(reports.count, 0);
    ilk_rwlock_destroy(&plain);
}

/* ---- Upgrades ---- */

/* No writer comes between the thread that holds the lock upgradable and a reader: upgrades alone write it. */
TEST(readers_beside_what_only_upgrades_write_are_silent) {
    begin_reports();
    static ilk_rwlock a;
    ilk_rwlock_init(&a);
    ilk_mutex_init(&buffer.mutex, false);
    for (int round = 0; round < 2; round++) {
        ilk_rwlock_upgradable_lock(&a);
        ilk_mutex_lock(&buffer.mutex);
        ilk_mutex_unlock(&buffer.mutex);
        ilk_rwlock_upgrade(&a);
        ilk_rwlock_write_unlock(&a);
        ilk_mutex_lock(&buffer.mutex);
        ilk_rwlock_read_lock(&a);
        ilk_rwlock_read_unlock(&a);
        ilk_mutex_unlock(&buffer.mutex);
    }
    check_equal(reports.count, 0);
    ilk_rwlock_destroy(&a);
}

/* The read is given up, and the upgrade has nothing to wait for. */
TEST(an_upgrade_after_a_read_of_the_same_thread_is_silent) {
    begin_reports();
    static ilk_rwlock a;
    ilk_rwlock_init(&a);
    ilk_rwlock_read_lock(&a);
    ilk_rwlock_upgradable_lock(&a);
    ilk_rwlock_read_unlock(&a);
    ilk_rwlock_upgrade(&a);
    check_equal(reports.count, 0);
    ilk_rwlock_write_unlock(&a);
    ilk_rwlock_destroy(&a);
}

static ilk_rwlock slotted;
static struct stage in_slot = STAGE_INIT;
static void read_in_a_slot(void *unused) {
    ilk_rwlock_read_lock(&slotted);
    check(is_in_a_slot(&slotted));
    stage_reach(&in_slot, 1);
    stage_await(&in_slot, 2);
    ilk_rwlock_read_unlock(&slotted);
}
static void upgrade_slotted(void *unused) {
    ilk_rwlock_upgradable_lock(&slotted);
    ilk_rwlock_upgrade(&slotted);
    ilk_rwlock_write_unlock(&slotted);
}

/* It waits for the reader, which waits for nothing. */
TEST(an_upgrade_that_waits_for_a_reader_in_a_slot_is_silent) {
    ilk_rwlock_init(&slotted);
    move_to_slots(&slotted);
    struct thread reader, upgrader;
    thread_start(&reader, read_in_a_slot, NULL);
    stage_await(&in_slot, 1);
    begin_reports();
    check_equal(ilk_rwlock_observe(&slotted, ILK_DIAGNOSE_ORDER), ILK_OK);
    thread_start(&upgrader, upgrade_slotted, NULL);
    thread_await_sleep(&upgrader);
    check_equal(reports.count, 0);
    stage_reach(&in_slot, 2);
    thread_join(&reader);
    thread_join(&upgrader);
    check_equal(reports.count, 0);
    ilk_rwlock_destroy(&slotted);
}

/* ---- Guards ---- */

/* With each share that keeps threads apart. */
TEST(orders_behind_a_guard_that_is_held_upgradable_are_silent) {
    static void (*const takes[])(ilk_rwlock *) = {ilk_rwlock_upgradable_lock, ilk_rwlock_write_lock};
    static void (*const gives[])(ilk_rwlock *) = {ilk_rwlock_upgradable_unlock, ilk_rwlock_write_unlock};
    static ilk_rwlock keeper;
    static ilk_mutex a, b;
    begin_reports();
    ilk_rwlock_init(&keeper);
    ilk_mutex_init(&a, false);
    ilk_mutex_init(&b, false);
    for (unsigned round = 0; round < 4; round++) {
        takes[round / 2](&keeper);
        lock_both(round % 2 == 0 ? &a : &b, round % 2 == 0 ? &b : &a);
        gives[round / 2](&keeper);
    }
    check_equal(reports.count, 0);
    ilk_rwlock_destroy(&keeper);
}

static ilk_rwlock shared;
static ilk_mutex beside;
static void upgradable_then_mutex(void) {
    ilk_rwlock_upgradable_lock(&shared);
    ilk_mutex_lock(&beside);
    ilk_mutex_unlock(&beside);
    ilk_rwlock_upgradable_unlock(&shared);
}

/* A share that keeps no other waiting is met without the guard: the orders of the others had it each time. */
TEST(a_reader_without_the_guard_takes_it_from_no_other_share) {
    begin_reports();
    static ilk_mutex keeper;
    ilk_rwlock_init(&shared);
    ilk_mutex_init(&beside, false);
    ilk_mutex_init(&keeper, false);
    for (int round = 0; round < 2; round++) {
        ilk_mutex_lock(&keeper);
        upgradable_then_mutex();
        ilk_mutex_lock(&beside);
        ilk_rwlock_upgradable_lock(&shared);
        ilk_rwlock_upgradable_unlock(&shared);
        ilk_mutex_unlock(&beside);
        ilk_mutex_unlock(&keeper);
        ilk_rwlock_read_lock(&shared);
        ilk_mutex_lock(&beside);
        ilk_mutex_unlock(&beside);
        ilk_rwlock_read_unlock(&shared);
    }
    check_equal(reports.count, 0);
    upgradable_then_mutex(); /* without the guard it may deadlock */
    check_equal(reports.count, 1);
    ilk_rwlock_destroy(&shared);
}

static ilk_mutex guard;

static void lock_behind_guard(void *unused) {
    for (int round = stress_rounds(1000); round > 0; round--) {
        const unsigned first = (unsigned)round % 2;
        ilk_mutex_lock(&guard);
        ilk_mutex_lock(&tried[first]);
        ilk_mutex_lock(&tried[1 - first]);
        ilk_mutex_unlock(&tried[0]);
        ilk_mutex_unlock(&tried[1]);
        ilk_mutex_unlock(&guard);
    }
}

TEST(orders_behind_a_common_guard_are_silent) {
    begin_reports();
    ilk_mutex_init(&guard, false);
    ilk_mutex_init(&tried[0], false);
    ilk_mutex_init(&tried[1], false);
    expect_silence(lock_behind_guard, NULL);
    /* Once without the guard, they may deadlock. */
    ilk_mutex_lock(&tried[0]);
    ilk_mutex_lock(&tried[1]);
    ilk_mutex_unlock(&tried[1]);
    ilk_mutex_unlock(&tried[0]);
    check_equal(reports.count, 1);
}

/* ---- Objects that end ---- */

static void use_locks_of_the_moment(void *unused) {
    for (int round = stress_rounds(1000); round > 0; round--) {
        ilk_rwlock pair[2]; /* at the same addresses each time */
        ilk_rwlock_init(&pair[0]);
        ilk_rwlock_init(&pair[1]);
        const unsigned first = (unsigned)round % 2;
        ilk_rwlock_write_lock(&pair[first]);
        ilk_rwlock_write_lock(&pair[1 - first]);
        ilk_rwlock_write_unlock(&pair[1 - first]);
        ilk_rwlock_write_unlock(&pair[first]);
        ilk_rwlock_destroy(&pair[0]);
        ilk_rwlock_destroy(&pair[1]);
    }
}

TEST(orders_of_locks_that_have_ended_are_forgotten) {
    begin_reports();
    expect_silence(use_locks_of_the_moment, NULL);
}

static void define_locks_of_the_moment(void *unused) {
    for (unsigned round = 0; round < 1000; round++) {
        const unsigned first = round % 2;
        ilk_rwlock pair[2] = {ILK_RWLOCK_INIT, ILK_RWLOCK_INIT}; /* never destroyed */
        ilk_rwlock_write_lock(&pair[first]);
        ilk_rwlock_write_lock(&pair[1 - first]);
        ilk_rwlock_write_unlock(&pair[1 - first]);
        ilk_rwlock_write_unlock(&pair[first]);
        ilk_mutex mutexes[2] = {ILK_MUTEX_INIT, ILK_MUTEX_INIT};
        ilk_mutex_lock(&mutexes[first]);
        ilk_mutex_lock(&mutexes[1 - first]);
        ilk_mutex_unlock(&mutexes[1 - first]);
        ilk_mutex_unlock(&mutexes[first]);
    }
}

TEST(locks_defined_anew_at_an_address_are_others) {
    begin_reports();
    expect_silence(define_locks_of_the_moment, NULL);
}

static union {
    ilk_mutex mutex;
    ilk_semaphore permit;
} place;

TEST(a_semaphore_defined_where_a_mutex_was_has_none_of_its_orders) {
    static const ilk_semaphore defined = ILK_SEMAPHORE_INIT(1);
    static ilk_mutex other;
    begin_reports();
    ilk_mutex_init(&place.mutex, false);
    ilk_mutex_init(&other, false);
    lock_both(&place.mutex, &other);
    memcpy(&place.permit, &defined, sizeof defined);
    ilk_semaphore_wait(&place.permit);
    ilk_semaphore_signal(&place.permit, 1); /* it is a lock from here on */
    ilk_mutex_lock(&other);
    ilk_semaphore_wait(&place.permit);
    check_equal(reports.count, 0);
    ilk_semaphore_signal(&place.permit, 1);
    ilk_mutex_unlock(&other);
    const uint64_t id = ilk__object_id(ilk__object_find(&place.permit));
    memcpy(&place.permit, &defined, sizeof defined); /* the one before it was not destroyed */
    ilk_semaphore_wait(&place.permit);
    check_equal(ilk__object_id(ilk__object_find(&place.permit)), id);
    ilk_semaphore_destroy(&place.permit);
}

static ilk_rwlock tried_lock;
static void write_tried_lock(void) {
    ilk_rwlock_write_lock(&tried_lock);
    ilk_rwlock_write_unlock(&tried_lock);
}

/* Diagnosis has not met the new ones yet: another thread has the tables. */
TEST(what_a_first_try_takes_is_not_held_of_the_lock_that_was_there) {
    static ilk_mutex other;
    sigset_t before;
    begin_reports();
    ilk_mutex_init(&other, false);
    ilk_mutex_init(&tried[0], false);
    ilk_rwlock_init(&tried_lock);
    lock_both(&other, &tried[0]);
    ilk_mutex_lock(&other);
    write_tried_lock();
    ilk_mutex_unlock(&other);
    tried[0] = (ilk_mutex)ILK_MUTEX_INIT;
    tried_lock = (ilk_rwlock)ILK_RWLOCK_INIT;
    ilk__tables_lock(&before);
    check(ilk_mutex_try_lock(&tried[0]));
    check(ilk_rwlock_try_write_lock(&tried_lock));
    ilk__tables_unlock(&before);
    ilk_mutex_lock(&other);
    check_equal(reports.count, 0);
    ilk_mutex_unlock(&other);
}

/* ---- Switching ---- */

static struct {
    ilk_rwlock lock;
    ilk_mutex mutex;
    ilk_semaphore permit;
} switched;

static void use_switched(void (*pause)(void)) {
    ilk_rwlock_write_lock(&switched.lock);
    ilk_mutex_lock(&switched.mutex);
    ilk_semaphore_wait(&switched.permit);
    sigset_t before;
    pause();
    ilk__tables_lock(&before); /* as a report or a search has them */
    ilk_semaphore_signal(&switched.permit, 1);
    ilk_mutex_unlock(&switched.mutex);
    ilk_rwlock_write_unlock(&switched.lock);
    ilk__tables_unlock(&before);
}
static void go_on(void) {}
static void switch_off(void) {
    ilk_diagnose(0);
}

/* What is given up while diagnosis is off is not held when it is on again. */
TEST(locks_given_up_while_diagnosis_is_off_are_silent) {
    begin_reports();
    ilk_rwlock_init(&switched.lock);
    ilk_mutex_init(&switched.mutex, false);
    ilk_semaphore_init(&switched.permit, 1);
    use_switched(go_on);
    use_switched(switch_off);
    ilk_diagnose(ILK_DIAGNOSE_ORDER);
    use_switched(go_on);
    check_equal(reports.count, 0);
    ilk_semaphore_destroy(&switched.permit);
    ilk_rwlock_destroy(&switched.lock);
}

static void use_first(ilk_rwlock *lock, ilk_mutex *mutex, ilk_semaphore *permit) {
    ilk_rwlock_write_lock(lock);
    ilk_mutex_lock(mutex);
    ilk_semaphore_wait(permit);
    ilk_semaphore_signal(permit, 1);
    ilk_mutex_unlock(mutex);
    ilk_rwlock_write_unlock(lock);
}

/* A thread has the tables as it forks, and its handlers may wait for another that makes such a call. */
TEST(first_calls_wait_for_no_table_while_nothing_is_watched) {
    for (int was_watched = 0; was_watched < 2; was_watched++) {
        ilk_rwlock lock = ILK_RWLOCK_INIT;
        ilk_mutex mutex = ILK_MUTEX_INIT;
        ilk_semaphore permit = ILK_SEMAPHORE_INIT(1);
        if (was_watched != 0) {
            begin_reports();
            ilk_rwlock_init(&switched.lock);
            ilk_diagnose(0);
        }
        sigset_t before;
        ilk__tables_lock(&before);
        use_first(&lock, &mutex, &permit);
        ilk__tables_unlock(&before);
        use_first(&lock, &mutex, &permit);
        use_first(&lock, &mutex, &permit);
        /* And nothing sends them to diagnosis any more. */
        check_equal(ilk_atomic_load(&permit.word, memory_order_relaxed), ILK__SEMAPHORE_ONE_PERMIT);
        check_equal(ilk_atomic_load(&lock.word, memory_order_relaxed), 0);
        check_equal(ilk_atomic_load(&mutex.word, memory_order_relaxed), 0);
    }
}

static void try_switched(ilk_mutex *mutex) {
    check(ilk_mutex_try_lock(mutex));
    ilk_mutex_unlock(mutex);
}
static void observe_switched(ilk_mutex *mutex) {
    check_equal(ilk_mutex_observe(mutex, ILK_DIAGNOSE_ORDER), ILK_OK);
}
static void lock_switched(ilk_mutex *mutex) {
    ilk_mutex_lock(mutex);
    ilk_mutex_unlock(mutex);
}

TEST(a_mutex_defined_where_one_was_watched_has_none_of_its_orders_whatever_call_is_first) {
    static void (*const calls[])(ilk_mutex *) = {try_switched, observe_switched, lock_switched};
    static const ilk_mutex defined = ILK_MUTEX_INIT;
    static ilk_mutex a, b;
    for (unsigned index = 0; index < 2 * sizeof calls / sizeof *calls; index++) {
        begin_reports();
        ilk_diagnose(index % 2 == 0 ? 0 : ILK_DIAGNOSE_ORDER);
        ilk_mutex_init(&a, false);
        ilk_mutex_init(&b, false);
        observe_switched(&a);
        observe_switched(&b);
        lock_both(&a, &b);
        memcpy(&a, &defined, sizeof a);
        calls[index / 2](&a);
        lock_both(&b, &a);
        check_equal(reports.count, 0);
    }
    ilk_mutex_init(&a, false);
    observe_switched(&a);
    memcpy(&a, &defined, sizeof a);
    ilk_diagnose(0);
    lock_switched(&a);
    check(!ilk__object_is_watched_at(&a)); /* what was watched of the one before it is not watched of it */
}

/* contract: ilk_rwlock_observe, ilk_semaphore_observe */
TEST(a_lock_or_semaphore_leaves_as_its_own_call_switches_it_off) {
    ilk_diagnose(0);
    ilk_rwlock_init(&switched.lock);
    ilk_semaphore_init(&switched.permit, 1);
    check_equal(ilk_rwlock_observe(&switched.lock, ILK_DIAGNOSE_ORDER), ILK_OK);
    check_equal(ilk_semaphore_observe(&switched.permit, ILK_DIAGNOSE_ORDER), ILK_OK);
    check(ilk__object_is_watched_at(&switched.lock) && ilk__object_is_watched_at(&switched.permit));
    check_equal(ilk_rwlock_observe(&switched.lock, 0), ILK_OK);
    check_equal(ilk_semaphore_observe(&switched.permit, 0), ILK_OK);
    check(ilk__object_find(&switched.lock) == NULL && ilk__object_find(&switched.permit) == NULL);
    check_equal(ilk_atomic_load(&switched.lock.word, memory_order_relaxed), 0);
    check_equal(ilk_atomic_load(&switched.permit.word, memory_order_relaxed), 0x10);
    ilk_semaphore_destroy(&switched.permit);
    ilk_rwlock_destroy(&switched.lock);
}

/* What an object's own call has switched on ends with the object. */
/* contract: ilk_mutex_observe */
TEST(orders_are_not_watched_of_a_lock_that_follows_one_whose_orders_were) {
    static const ilk_mutex defined = ILK_MUTEX_INIT;
    static ilk_mutex a, b;
    begin_reports();
    ilk_diagnose(0);
    ilk_mutex_init(&a, false);
    ilk_mutex_init(&b, false);
    observe_switched(&a);
    observe_switched(&b);
    memcpy(&a, &defined, sizeof a);
    memcpy(&b, &defined, sizeof b);
    ilk_diagnose(ILK_DIAGNOSE_CONTENTION);
    lock_both(&a, &b);
    lock_both(&b, &a);
    check_equal(reports.count, 0);
}
