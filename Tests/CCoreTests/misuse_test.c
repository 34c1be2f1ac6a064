/* SPDX-License-Identifier: Apache-2.0
 *
 * Misuse, call by call: each ends a child process with SIGABRT after one sentence that names the call,
 * the object and the state seen. A table per primitive: what is done, and what must be said.
 */
#include "support/rwlock_mode.h"
#include "support/test.h"
#include <interlock/inline/owned_rwlock.h>
#include <interlock/interlock.h>
#include <stdlib.h>
#include <string.h>

struct misuse {
    void (*body)(void *context);
    const char *call;
    const char *text;
};

static void expect_all(const struct misuse *table, size_t count) {
    for (size_t i = 0; i < count; i++) {
        expect_misuse(table[i].body, NULL, table[i].call, table[i].text);
    }
}

#define EXPECT_ALL(table) expect_all(table, sizeof(table) / sizeof *(table))

/* A thread that keeps holding, or waiting, until the child has ended. */
static void on_another_thread(thread_body *body, void *context) {
    static struct thread thread;
    thread_start(&thread, body, context);
    thread_await_sleep(&thread);
}

/* ---- rwlock ---- */

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
        {upgrade_free, "ilk_rwlock_upgrade", "nobody holds the lock upgradable; the lock is free"},
        {upgrade_read, "ilk_rwlock_upgrade", "the lock is held by 1 reader"},
        {destroy_read, "ilk_rwlock_destroy", "destroyed while in use; the lock is held by 1 reader"},
        {destroy_written, "ilk_rwlock_destroy", "destroyed while in use; the lock is held for writing"},
        {destroy_upgradable, "ilk_rwlock_destroy", "destroyed while in use; the lock is held upgradable"},
        {one_reader_too_many, "ilk_rwlock_read_lock", "131071 readers"},
    };
    EXPECT_ALL(table);
}

/* Waits for oneself. A reader's slot tells of them in every build. */

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
    on_another_thread(take_for_writing, &lock);
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
    print_message("skipped: only a checked build notes what a thread holds (-DINTERLOCK_CHECKED=ON)\n");
    skip();
#endif
}

/* The facade's lock, in every build: what the thread holds for writing or upgradable, taken again. */
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
    on_another_thread(write_owned, &owned);
    (void)ilk__owned_read_lock(&owned, "the call");
}

static void taking_an_owned_lock_again_is_reported(void **state) {
    (void)state;
    const struct misuse table[] = {
        {owned_write_in_write, "the call", section},
        {owned_read_in_write, "the call", section},
        {owned_upgradable_in_write, "the call", section},
        {owned_write_in_upgradable, "the call", section},
        {owned_read_in_upgradable_behind_a_writer, "the call", section},
    };
    EXPECT_ALL(table);
    /* Nobody's after each end, and a read beside one's own upgradable access waits for nobody. */
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

/* Each takes a share on one thread and gives one up on another. */
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
    on_another_thread(unlock_read, &lock);
}
static void unlock_a_write_elsewhere(void *context) {
    (void)context;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_rwlock_write_lock(&lock);
    on_another_thread(unlock_write, &lock);
}
static void unlock_upgradable_elsewhere(void *context) {
    (void)context;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_rwlock_upgradable_lock(&lock);
    on_another_thread(unlock_upgradable, &lock);
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
    /* Balanced, though more locks are held at once than are listed. */
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
    print_message("skipped: only a checked build lists what a thread holds (-DINTERLOCK_CHECKED=ON)\n");
    skip();
#endif
}

static void recursion_that_need_not_wait_is_let_be(void **state) {
    (void)state;
    ilk_rwlock lock = ILK_RWLOCK_INIT;
    ilk_rwlock_read_lock(&lock);
    ilk_rwlock_read_lock(&lock);
    check(!ilk_rwlock_try_write_lock(&lock));
    check_equal(ilk_rwlock_write_lock_until(&lock, 0),
                ILK_TIMEDOUT); /* a wait with an end is none for ever */
    ilk_rwlock_read_unlock(&lock);
    ilk_rwlock_read_unlock(&lock);
    ilk_rwlock_write_lock(&lock); /* what was held is no longer noted */
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

/* ---- semaphore, latch, barrier, mutex ---- */

static void semaphore_init_too_many(void *context) {
    (void)context;
    ilk_semaphore semaphore;
    ilk_semaphore_init(&semaphore, ILK_SEMAPHORE_MAX + 1);
}

static void semaphore_signal_too_many(void *context) {
    (void)context;
    ilk_semaphore semaphore = ILK_SEMAPHORE_INIT(ILK_SEMAPHORE_MAX);
    ilk_semaphore_signal(&semaphore, 1);
}

static void semaphore_signal_far_too_many(void *context) {
    (void)context;
    ilk_semaphore semaphore = ILK_SEMAPHORE_INIT(5);
    ilk_semaphore_signal(&semaphore, UINT32_MAX); /* 32 bits would wrap */
}

static void wait_on_semaphore(void *context) {
    ilk_semaphore_wait(context);
}

static void semaphore_destroy_waited_for(void *context) {
    (void)context;
    static ilk_semaphore semaphore;
    on_another_thread(wait_on_semaphore, &semaphore);
    ilk_semaphore_destroy(&semaphore);
}

static void semaphore_signal_too_many_with_a_waiter(void *context) {
    (void)context;
    static ilk_semaphore semaphore;
    on_another_thread(wait_on_semaphore, &semaphore);
    ilk_semaphore_signal(&semaphore, ILK_SEMAPHORE_MAX + 2); /* one goes to the waiter */
}

static void latch_init_too_many(void *context) {
    (void)context;
    ilk_latch latch;
    ilk_latch_init(&latch, ILK_LATCH_MAX + 1);
}

static void latch_below_zero(void *context) {
    (void)context;
    ilk_latch latch;
    ilk_latch_init(&latch, 1);
    ilk_latch_count_down(&latch);
    ilk_latch_count_down(&latch);
}

static void barrier_for_nobody(void *context) {
    (void)context;
    ilk_barrier barrier;
    ilk_barrier_init(&barrier, 0);
}

static void mutex_lock_twice(void *context) {
    (void)context;
    ilk_mutex mutex;
    ilk_mutex_init(&mutex, false);
    ilk_mutex_lock(&mutex);
    ilk_mutex_lock(&mutex);
}

static void inheriting_mutex_lock_twice(void *context) {
    (void)context;
    ilk_mutex mutex;
    ilk_mutex_init(&mutex, true);
    ilk_mutex_lock(&mutex);
    (void)!ilk_mutex_lock_until(&mutex, 0);
}

static void mutex_lock_until_twice(void *context) {
    (void)context;
    ilk_mutex mutex;
    ilk_mutex_init(&mutex, false);
    check(ilk_mutex_try_lock(&mutex));
    (void)!ilk_mutex_lock_until(&mutex, ilk_deadline_in_ns(0));
}

static void mutex_unlock_twice(void *context) {
    (void)context;
    ilk_mutex mutex;
    ilk_mutex_init(&mutex, true);
    ilk_mutex_lock(&mutex);
    ilk_mutex_unlock(&mutex);
    ilk_mutex_unlock(&mutex);
}

static void mutex_unlock_free(void *context) {
    (void)context;
    ilk_mutex mutex;
    ilk_mutex_init(&mutex, false);
    ilk_mutex_unlock(&mutex);
}

static void lock_and_keep(void *context) {
    ilk_mutex_lock(context);
    static struct stage never = STAGE_INIT;
    stage_await(&never, 1);
}

static void mutex_unlock_by_another(void *context) {
    static ilk_mutex mutex;
    ilk_mutex_init(&mutex, context != NULL);
    on_another_thread(lock_and_keep, &mutex);
    ilk_mutex_unlock(&mutex);
}

/*   main                  other
 *   locks first
 *                         locks second
 *                         waits for first (asleep)
 *   waits for second: the kernel, which knows who waits for whom, refuses                              */
static ilk_mutex first_of_circle, second_of_circle;

static void close_circle(void *context) {
    (void)context;
    ilk_mutex_lock(&second_of_circle);
    ilk_mutex_lock(&first_of_circle);
}

static void wait_in_a_circle(void *context) {
    (void)context;
    ilk_mutex_init(&first_of_circle, true);
    ilk_mutex_init(&second_of_circle, true);
    ilk_mutex_lock(&first_of_circle);
    static struct thread other;
    thread_start(&other, close_circle, NULL);
    while (ilk_atomic_load(&first_of_circle.word, memory_order_relaxed) < UINT32_C(0x80000000)) {
        ilk_cpu_relax(); /* until the bit for sleepers is up */
    }
    ilk_mutex_lock(&second_of_circle);
}

static void owners_that_wait_for_each_other_are_reported_with_inheritance(void **state) {
    (void)state;
    ilk_mutex mutex;
    ilk_mutex_init(&mutex, true);
    if (mutex.inherits == 0) {
        print_message("skipped: there is no priority inheritance in this build\n");
        skip();
    }
    expect_misuse(wait_in_a_circle, NULL, "ilk_mutex_lock", "deadlock");
}

static void meeting_misuse_is_reported(void **state) {
    (void)state;
    static const struct misuse table[] = {
        {semaphore_init_too_many, "ilk_semaphore_init", "268435456 permits"},
        {semaphore_signal_too_many, "ilk_semaphore_signal", "the most is 268435455"},
        {semaphore_signal_far_too_many, "ilk_semaphore_signal", "4294967295 permits more than the 5"},
        {semaphore_signal_too_many_with_a_waiter, "ilk_semaphore_signal",
         "268435456 permits more than the 0"},
        {semaphore_destroy_waited_for, "ilk_semaphore_destroy", "while 1 thread"},
        {latch_init_too_many, "ilk_latch_init", "2147483648"},
        {latch_below_zero, "ilk_latch_count_down", "more often"},
        {barrier_for_nobody, "ilk_barrier_init", "0 parties"},
        {mutex_lock_twice, "ilk_mutex_lock", "locked again by its owner"},
        {inheriting_mutex_lock_twice, "ilk_mutex_lock_until", "locked again by its owner"},
        {mutex_lock_until_twice, "ilk_mutex_lock_until", "locked again by its owner"},
        {mutex_unlock_free, "ilk_mutex_unlock", "does not own it"},
        {mutex_unlock_twice, "ilk_mutex_unlock", "does not own it"},
        {mutex_unlock_by_another, "ilk_mutex_unlock", "does not own it"},
    };
    EXPECT_ALL(table);
    expect_misuse(mutex_unlock_by_another, (void *)1, "ilk_mutex_unlock", "does not own it");
}

/* ---- rings ---- */

static ilk_spsc *spsc(void) {
    ilk_spsc *ring = NULL;
    check_equal(ilk_spsc_create(&ring, 4, sizeof(uint64_t)), ILK_OK);
    return ring;
}

static const uint64_t element = 1;

static void spsc_push_wrong_size(void *context) {
    (void)context;
    (void)!ilk_spsc_try_push(spsc(), &element, 4);
}

static void spsc_pop_wrong_size(void *context) {
    (void)context;
    uint64_t out;
    (void)!ilk_spsc_try_pop(spsc(), &out, 4);
}

static void spsc_push_many_wrong_size(void *context) {
    (void)context;
    (void)!ilk_spsc_try_push_many(spsc(), &element, 1, 4);
}

static void spsc_pop_many_wrong_size(void *context) {
    (void)context;
    uint64_t out;
    (void)!ilk_spsc_try_pop_many(spsc(), &out, 1, 4);
}

static void spsc_push_until_wrong_size(void *context) {
    (void)context;
    (void)!ilk_spsc_push_until(spsc(), &element, 4, 0);
}

static void spsc_pop_until_wrong_size(void *context) {
    (void)context;
    uint64_t out;
    (void)!ilk_spsc_pop_until(spsc(), &out, 4, 0);
}

static void spsc_commit_unreserved(void *context) {
    (void)context;
    ilk_spsc_commit(spsc(), 1);
}

static void spsc_commit_too_many(void *context) {
    (void)context;
    ilk_spsc *ring = spsc();
    size_t count = 2;
    check(ilk_spsc_reserve(ring, &count) != NULL);
    ilk_spsc_commit(ring, 3);
}

static void spsc_release_too_many(void *context) {
    (void)context;
    ilk_spsc *ring = spsc();
    check(ilk_spsc_try_push(ring, &element, sizeof element));
    size_t count = 1;
    check(ilk_spsc_peek(ring, &count) != NULL);
    ilk_spsc_release(ring, 2);
}

static void spsc_release_known_but_unshown(void *context) {
    (void)context;
    ilk_spsc *ring = spsc();
    check(ilk_spsc_try_push(ring, &element, sizeof element));
    check(ilk_spsc_try_push(ring, &element, sizeof element));
    size_t count = 1;
    check(ilk_spsc_peek(ring, &count) != NULL);
    ilk_spsc_release(ring, 2); /* both are in the ring, and one has been shown */
}

static void spsc_release_popped(void *context) {
    (void)context;
    ilk_spsc *ring = spsc();
    uint64_t popped;
    for (int i = 0; i < 3; i++) {
        check(ilk_spsc_try_push(ring, &element, sizeof element));
    }
    size_t count = 2;
    check(ilk_spsc_peek(ring, &count) != NULL);
    ilk_spsc_release(ring, 1);
    check(ilk_spsc_try_pop(ring, &popped, sizeof popped)); /* ends what was shown */
    ilk_spsc_release(ring, 1);
}

/* Two of four slots reserved and two elements shown. `context` is not NULL: and then closed. */
static ilk_spsc *spsc_in_use(const void *context, bool reserved) {
    ilk_spsc *ring = spsc();
    size_t count = 2;
    check(ilk_spsc_try_push(ring, &element, sizeof element));
    check(ilk_spsc_try_push(ring, &element, sizeof element));
    check((reserved ? ilk_spsc_reserve(ring, &count) : ilk_spsc_peek(ring, &count)) != NULL);
    check_equal(count, 2);
    if (context != NULL) {
        ilk_spsc_close(ring);
    }
    return ring;
}

static void spsc_push_while_reserved(void *context) {
    (void)!ilk_spsc_try_push(spsc_in_use(context, true), &element, sizeof element);
}
static void spsc_push_many_while_reserved(void *context) {
    const uint64_t elements[2] = {1, 2};
    (void)!ilk_spsc_try_push_many(spsc_in_use(context, true), elements, 2, sizeof *elements);
}
static void spsc_push_until_while_reserved(void *context) {
    (void)!ilk_spsc_push_until(spsc_in_use(context, true), &element, sizeof element, ILK_FOREVER);
}
static void spsc_push_while_reserved_anew(void *context) {
    ilk_spsc *ring = spsc_in_use(context, true);
    size_t count = 1;
    check(ilk_spsc_reserve(ring, &count) != NULL);
    (void)!ilk_spsc_try_push(ring, &element, sizeof element);
}
static void spsc_pop_while_shown(void *context) {
    uint64_t out;
    (void)!ilk_spsc_try_pop(spsc_in_use(context, false), &out, sizeof out);
}
static void spsc_pop_many_while_shown(void *context) {
    uint64_t out[2];
    (void)!ilk_spsc_try_pop_many(spsc_in_use(context, false), out, 2, sizeof *out);
}
static void spsc_pop_until_while_shown(void *context) {
    uint64_t out;
    (void)!ilk_spsc_pop_until(spsc_in_use(context, false), &out, sizeof out, 0);
}
static void spsc_pop_while_shown_anew(void *context) {
    ilk_spsc *ring = spsc_in_use(context, false);
    size_t count = 1;
    check(ilk_spsc_peek(ring, &count) != NULL);
    uint64_t out;
    (void)!ilk_spsc_try_pop(ring, &out, sizeof out);
}
static void spsc_destroy_shown(void *context) {
    ilk_spsc_destroy(spsc_in_use(context, false));
}

/* The ring is as large as the reservation: on the thread's own account there is no room. */
static void spsc_push_while_all_is_reserved(void *context) {
    (void)context;
    ilk_spsc *ring = spsc();
    size_t count = 4;
    check(ilk_spsc_reserve(ring, &count) != NULL);
    (void)!ilk_spsc_try_push(ring, &element, sizeof element);
}

static void spsc_push_or_pop_beside_its_own_access_in_place_is_reported(void **state) {
    (void)state;
    static const struct misuse table[] = {
        {spsc_push_while_reserved, "ilk_spsc_try_push", "a push while a reservation of 2 slots is open"},
        {spsc_push_many_while_reserved, "ilk_spsc_try_push_many", "while a reservation of 2 slots is open"},
        {spsc_push_until_while_reserved, "ilk_spsc_push_until", "while a reservation of 2 slots is open"},
        {spsc_push_while_reserved_anew, "ilk_spsc_try_push", "while a reservation of 1 slots is open"},
        {spsc_push_while_all_is_reserved, "ilk_spsc_try_push", "while a reservation of 4 slots is open"},
        {spsc_pop_while_shown, "ilk_spsc_try_pop", "a pop while 2 elements are shown and not released"},
        {spsc_pop_many_while_shown, "ilk_spsc_try_pop_many", "while 2 elements are shown"},
        {spsc_pop_until_while_shown, "ilk_spsc_pop_until", "while 2 elements are shown"},
        {spsc_pop_while_shown_anew, "ilk_spsc_try_pop", "while 1 elements are shown"},
        {spsc_destroy_shown, "ilk_spsc_destroy", "with 2 elements shown and not released"},
    };
    EXPECT_ALL(table);
    /* On a closed ring too: what is misuse does not depend on when another thread closes. */
    static int closed;
    for (size_t row = 0; row < sizeof table / sizeof *table; row++) {
        expect_misuse(table[row].body, &closed, table[row].call, table[row].text);
    }
}

static void spsc_destroy_reserved(void *context) {
    (void)context;
    ilk_spsc *ring = spsc();
    size_t count = 2;
    check(ilk_spsc_reserve(ring, &count) != NULL);
    ilk_spsc_destroy(ring);
}

static void wait_in_spsc(void *context) {
    uint64_t out;
    (void)!ilk_spsc_pop_until(context, &out, sizeof out, ILK_FOREVER);
}

static void spsc_destroy_waited_in(void *context) {
    (void)context;
    ilk_spsc *ring = spsc();
    on_another_thread(wait_in_spsc, ring);
    ilk_spsc_destroy(ring);
}

static void fill_spsc_and_wait(void *context) {
    while (ilk_spsc_push_until(context, &element, sizeof element, ILK_FOREVER) == ILK_OK) {
    }
}

static void spsc_destroy_waited_in_by_its_producer(void *context) {
    (void)context;
    ilk_spsc *ring = spsc();
    on_another_thread(fill_spsc_and_wait, ring);
    ilk_spsc_destroy(ring);
}

static void spsc_commit_twice(void *context) {
    (void)context;
    ilk_spsc *ring = spsc();
    size_t count = 2;
    check(ilk_spsc_reserve(ring, &count) != NULL);
    ilk_spsc_commit(ring, 1); /* ends the reservation */
    ilk_spsc_commit(ring, 1);
}

static void spsc_misuse_is_reported(void **state) {
    (void)state;
    static const struct misuse table[] = {
        {spsc_push_wrong_size, "ilk_spsc_try_push", "an element of 4 bytes; the ring's are of 8"},
        {spsc_pop_wrong_size, "ilk_spsc_try_pop", "an element of 4 bytes; the ring's are of 8"},
        {spsc_push_many_wrong_size, "ilk_spsc_try_push_many", "of 4 bytes"},
        {spsc_pop_many_wrong_size, "ilk_spsc_try_pop_many", "of 4 bytes"},
        {spsc_push_until_wrong_size, "ilk_spsc_push_until", "of 4 bytes"},
        {spsc_pop_until_wrong_size, "ilk_spsc_pop_until", "of 4 bytes"},
        {spsc_commit_unreserved, "ilk_spsc_commit", "1 elements; 0 slots are reserved"},
        {spsc_commit_too_many, "ilk_spsc_commit", "3 elements; 2 slots are reserved"},
        {spsc_release_too_many, "ilk_spsc_release", "2 elements; 1 have been shown"},
        {spsc_release_known_but_unshown, "ilk_spsc_release", "2 elements; 1 have been shown"},
        {spsc_release_popped, "ilk_spsc_release", "1 elements; 0 have been shown"},
        {spsc_destroy_reserved, "ilk_spsc_destroy", "2 reserved slots"},
        {spsc_destroy_waited_in, "ilk_spsc_destroy", "while the consumer waits"},
        {spsc_destroy_waited_in_by_its_producer, "ilk_spsc_destroy", "while the producer waits"},
        {spsc_commit_twice, "ilk_spsc_commit", "1 elements; 0 slots are reserved"},
    };
    EXPECT_ALL(table);
}

static ilk_mpmc *mpmc(void) {
    ilk_mpmc *ring = NULL;
    check_equal(ilk_mpmc_create(&ring, 4, sizeof(uint64_t)), ILK_OK);
    return ring;
}

static void mpmc_push_wrong_size(void *context) {
    (void)context;
    (void)!ilk_mpmc_try_push(mpmc(), &element, 4);
}

static void mpmc_pop_wrong_size(void *context) {
    (void)context;
    uint64_t out;
    (void)!ilk_mpmc_try_pop(mpmc(), &out, 4);
}

static void mpmc_push_many_wrong_size(void *context) {
    (void)context;
    (void)!ilk_mpmc_try_push_many(mpmc(), &element, 1, 4);
}

static void mpmc_pop_many_wrong_size(void *context) {
    (void)context;
    uint64_t out;
    (void)!ilk_mpmc_try_pop_many(mpmc(), &out, 1, 4);
}

static void mpmc_overwrite_wrong_size(void *context) {
    (void)context;
    uint64_t out;
    (void)ilk_mpmc_push_overwriting(mpmc(), &element, 4, &out);
}

static void mpmc_push_until_wrong_size(void *context) {
    (void)context;
    (void)!ilk_mpmc_push_until(mpmc(), &element, 4, 0);
}

static void mpmc_pop_until_wrong_size(void *context) {
    (void)context;
    uint64_t out;
    (void)!ilk_mpmc_pop_until(mpmc(), &out, 4, 0);
}

static void mpmc_commit_unreserved(void *context) {
    (void)context;
    ilk_mpmc_commit(mpmc(), 1);
}

static void mpmc_commit_too_many(void *context) {
    (void)context;
    ilk_mpmc *ring = mpmc();
    size_t count = 2;
    check(ilk_mpmc_reserve(ring, &count) != NULL);
    ilk_mpmc_commit(ring, 3);
}

static void mpmc_release_unshown(void *context) {
    (void)context;
    ilk_mpmc_release(mpmc(), 1);
}

static void mpmc_reserve_twice(void *context) {
    (void)context;
    ilk_mpmc *ring = mpmc();
    size_t count = 1;
    check(ilk_mpmc_reserve(ring, &count) != NULL);
    (void)!ilk_mpmc_reserve(ring, &count);
}

static void mpmc_too_many_claims(void *context) {
    (void)context;
    for (int i = 0; i <= ILK_MPMC_MAX_CLAIMS; i++) {
        size_t count = 1;
        check(ilk_mpmc_reserve(mpmc(), &count) != NULL);
    }
}

static void mpmc_destroy_reserved(void *context) {
    (void)context;
    ilk_mpmc *ring = mpmc();
    size_t count = 2;
    check(ilk_mpmc_reserve(ring, &count) != NULL);
    ilk_mpmc_destroy(ring);
}

static void mpmc_destroy_shown(void *context) {
    (void)context;
    ilk_mpmc *ring = mpmc();
    check(ilk_mpmc_try_push(ring, &element, sizeof element));
    size_t count = 1;
    check(ilk_mpmc_peek(ring, &count) != NULL);
    ilk_mpmc_destroy(ring);
}

static void wait_in_mpmc(void *context) {
    uint64_t out;
    (void)!ilk_mpmc_pop_until(context, &out, sizeof out, ILK_FOREVER);
}

static void mpmc_destroy_waited_in(void *context) {
    (void)context;
    ilk_mpmc *ring = mpmc();
    on_another_thread(wait_in_mpmc, ring);
    ilk_mpmc_destroy(ring);
}

static void fill_mpmc_and_wait(void *context) {
    while (ilk_mpmc_push_until(context, &element, sizeof element, ILK_FOREVER) == ILK_OK) {
    }
}

static void mpmc_destroy_waited_in_by_a_producer(void *context) {
    (void)context;
    ilk_mpmc *ring = mpmc();
    on_another_thread(fill_mpmc_and_wait, ring);
    ilk_mpmc_destroy(ring);
}

static void mpmc_peek_twice(void *context) {
    (void)context;
    ilk_mpmc *ring = mpmc();
    check(ilk_mpmc_try_push(ring, &element, sizeof element));
    size_t count = 1;
    check(ilk_mpmc_peek(ring, &count) != NULL);
    (void)!ilk_mpmc_peek(ring, &count);
}

static void mpmc_too_many_claims_of_both_kinds(void *context) {
    (void)context;
    for (int i = 0; i <= ILK_MPMC_MAX_CLAIMS; i++) {
        ilk_mpmc *ring = mpmc();
        size_t count = 1;
        check(ilk_mpmc_try_push(ring, &element, sizeof element));
        if (i % 2 == 0) {
            check(ilk_mpmc_reserve(ring, &count) != NULL);
        } else {
            check(ilk_mpmc_peek(ring, &count) != NULL);
        }
    }
}

static void mpmc_release_too_many(void *context) {
    (void)context;
    ilk_mpmc *ring = mpmc();
    check(ilk_mpmc_try_push(ring, &element, sizeof element));
    check(ilk_mpmc_try_push(ring, &element, sizeof element));
    size_t count = 1;
    check(ilk_mpmc_peek(ring, &count) != NULL);
    ilk_mpmc_release(ring, 2);
}

/* A claim belongs to the thread that made it. */
static void reserve_and_keep(void *context) {
    size_t count = 1;
    check(ilk_mpmc_reserve(context, &count) != NULL);
    static struct stage never = STAGE_INIT;
    stage_await(&never, 1);
}

static void mpmc_commit_by_another(void *context) {
    (void)context;
    ilk_mpmc *ring = mpmc();
    on_another_thread(reserve_and_keep, ring);
    ilk_mpmc_commit(ring, 1);
}

static void mpmc_misuse_is_reported(void **state) {
    (void)state;
    static const struct misuse table[] = {
        {mpmc_push_wrong_size, "ilk_mpmc_try_push", "an element of 4 bytes; the ring's are of 8"},
        {mpmc_pop_wrong_size, "ilk_mpmc_try_pop", "an element of 4 bytes; the ring's are of 8"},
        {mpmc_push_many_wrong_size, "ilk_mpmc_try_push_many", "of 4 bytes"},
        {mpmc_pop_many_wrong_size, "ilk_mpmc_try_pop_many", "of 4 bytes"},
        {mpmc_overwrite_wrong_size, "ilk_mpmc_push_overwriting", "of 4 bytes"},
        {mpmc_push_until_wrong_size, "ilk_mpmc_push_until", "of 4 bytes"},
        {mpmc_pop_until_wrong_size, "ilk_mpmc_pop_until", "of 4 bytes"},
        {mpmc_commit_unreserved, "ilk_mpmc_commit", "this thread has 0 slots reserved"},
        {mpmc_commit_too_many, "ilk_mpmc_commit", "3 elements; this thread has 2 slots reserved"},
        {mpmc_release_unshown, "ilk_mpmc_release", "this thread has 0 slots shown"},
        {mpmc_reserve_twice, "ilk_mpmc_reserve", "open from an earlier call"},
        {mpmc_too_many_claims, "ilk_mpmc_reserve", "8 claims open"},
        {mpmc_destroy_reserved, "ilk_mpmc_destroy", "reserved"},
        {mpmc_destroy_shown, "ilk_mpmc_destroy", "slots reserved or shown and not given back"},
        {mpmc_destroy_waited_in, "ilk_mpmc_destroy", "while 1 consumers and 0 producers wait"},
        {mpmc_destroy_waited_in_by_a_producer, "ilk_mpmc_destroy", "while 0 consumers and 1 producers wait"},
        {mpmc_peek_twice, "ilk_mpmc_peek", "open from an earlier call"},
        {mpmc_too_many_claims_of_both_kinds, "ilk_mpmc_reserve", "8 claims open"},
        {mpmc_release_too_many, "ilk_mpmc_release", "2 elements; this thread has 1 slots shown"},
        {mpmc_commit_by_another, "ilk_mpmc_commit", "this thread has 0 slots reserved"},
    };
    EXPECT_ALL(table);
}

/* A ring of four: `pushed` elements, then `reserved` slots reserved by this thread. */
static ilk_mpmc *mpmc_reserved(size_t pushed, size_t reserved) {
    ilk_mpmc *ring = mpmc();
    for (size_t i = 0; i < pushed; i++) {
        check(ilk_mpmc_try_push(ring, &element, sizeof element));
    }
    size_t count = reserved;
    check(ilk_mpmc_reserve(ring, &count) != NULL);
    check_equal(count, reserved);
    return ring;
}

/* A full ring of four whose oldest element is shown to this thread. */
static ilk_mpmc *mpmc_shown(void) {
    ilk_mpmc *ring = mpmc();
    for (size_t i = 0; i < 4; i++) {
        check(ilk_mpmc_try_push(ring, &element, sizeof element));
    }
    size_t count = 1;
    check(ilk_mpmc_peek(ring, &count) != NULL);
    return ring;
}

static void mpmc_push_until_committed_by_itself(void *context) {
    (void)context;
    (void)!ilk_mpmc_push_until(mpmc_reserved(0, 4), &element, sizeof element, ILK_FOREVER);
}
static void mpmc_push_until_released_by_itself(void *context) {
    (void)context;
    (void)!ilk_mpmc_push_until(mpmc_shown(), &element, sizeof element, ILK_FOREVER);
}
static void mpmc_pop_until_committed_by_itself(void *context) {
    (void)context;
    uint64_t out;
    ilk_mpmc *ring = mpmc_reserved(1, 2);
    check(ilk_mpmc_pop_until(ring, &out, sizeof out, ILK_FOREVER) == ILK_OK);
    (void)!ilk_mpmc_pop_until(ring, &out, sizeof out, ILK_FOREVER);
}
static void mpmc_overwrite_what_is_reserved_by_itself(void *context) {
    (void)context;
    uint64_t out;
    (void)ilk_mpmc_push_overwriting(mpmc_reserved(0, 4), &element, sizeof element, &out);
}
static void mpmc_overwrite_what_is_shown_to_itself(void *context) {
    (void)context;
    uint64_t out;
    (void)ilk_mpmc_push_overwriting(mpmc_shown(), &element, sizeof element, &out);
}

static void mpmc_wait_for_a_slot_of_ones_own_is_reported(void **state) {
    (void)state;
    static const struct misuse table[] = {
        {mpmc_push_until_committed_by_itself, "ilk_mpmc_push_until", "reserved and not committed"},
        {mpmc_push_until_released_by_itself, "ilk_mpmc_push_until", "been shown and not released"},
        {mpmc_pop_until_committed_by_itself, "ilk_mpmc_pop_until", "reserved and not committed"},
        {mpmc_overwrite_what_is_reserved_by_itself, "ilk_mpmc_push_overwriting",
         "reserved and not committed"},
        {mpmc_overwrite_what_is_shown_to_itself, "ilk_mpmc_push_overwriting", "been shown and not released"},
    };
    EXPECT_ALL(table);
    /* With a deadline the answer is that time is up. */
    uint64_t out = 0;
    ilk_mpmc *ring = mpmc_reserved(0, 4);
    check_equal(ilk_mpmc_push_until(ring, &element, sizeof element, ilk_deadline_in_ns(1000)), ILK_TIMEDOUT);
    check_equal(ilk_mpmc_pop_until(ring, &out, sizeof out, ilk_deadline_in_ns(1000)), ILK_TIMEDOUT);
    ilk_mpmc_commit(ring, 4);
    ilk_mpmc_destroy(ring);
}

static void mpmc_overwrite_with_overlap(void *context) {
    uint64_t memory[2] = {1, 2};
    unsigned char *evicted = (unsigned char *)memory + (context == NULL ? 1 : 7);
    (void)ilk_mpmc_push_overwriting(mpmc(), memory, sizeof *memory, evicted);
}
static void mpmc_overwriting_across_overlapping_memory_is_reported(void **state) {
    (void)state;
    expect_misuse(mpmc_overwrite_with_overlap, NULL, "ilk_mpmc_push_overwriting", "overlap");
    static int further;
    expect_misuse(mpmc_overwrite_with_overlap, &further, "ilk_mpmc_push_overwriting", "overlap");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(rwlock_misuse_is_reported),
    cmocka_unit_test(waiting_for_oneself_in_a_slot_is_reported),
    cmocka_unit_test(waiting_for_oneself_is_reported_in_a_checked_build),
    cmocka_unit_test(unlocking_elsewhere_is_reported_in_a_checked_build),
    cmocka_unit_test(taking_an_owned_lock_again_is_reported),
    cmocka_unit_test(recursion_that_need_not_wait_is_let_be),
    cmocka_unit_test(misuse_names_the_object),
    cmocka_unit_test(meeting_misuse_is_reported),
    cmocka_unit_test(owners_that_wait_for_each_other_are_reported_with_inheritance),
    cmocka_unit_test(spsc_misuse_is_reported),
    cmocka_unit_test(spsc_push_or_pop_beside_its_own_access_in_place_is_reported),
    cmocka_unit_test(mpmc_misuse_is_reported),
    cmocka_unit_test(mpmc_wait_for_a_slot_of_ones_own_is_reported),
    cmocka_unit_test(mpmc_overwriting_across_overlapping_memory_is_reported),
};

TEST_MAIN(tests)
