/* SPDX-License-Identifier: Apache-2.0
 *
 * A thread may free at once what let it in. The schedule that breaks a careless release, forced:
 *
 *     releaser                                  the thread let in
 *       gives up, lets the other in
 *       (stops here)                              has it; gives it up; unmaps the memory
 *       goes on: any touch is a fault
 *
 * The linker puts the functions below in front of those that tell a waiter, and of the wait (--wrap): a releaser stops
 * right behind one, or right before the wake-up by address; a waiter right behind its wait. The object lies in an
 * unmapped page of its own, so a touch ends the program in every build.
 */
#include "support/test.h"
#include <interlock/interlock.h>
#include <sys/mman.h>
#include <unistd.h>

struct ilk__waiter;
void __real_ilk__waiter_grant(struct ilk__waiter *waiter);
void __wrap_ilk__waiter_grant(struct ilk__waiter *waiter);
void __real_ilk_park_wake(const ILK_ATOMIC(uint32_t) * word, uint32_t count);
void __wrap_ilk_park_wake(const ILK_ATOMIC(uint32_t) * word, uint32_t count);
ilk_status __real_ilk_park_wait(ILK_ATOMIC(uint32_t) * word, uint32_t expected, uint64_t deadline_ns);
ilk_status __wrap_ilk_park_wait(ILK_ATOMIC(uint32_t) * word, uint32_t expected, uint64_t deadline_ns);

/* Where the calling thread stops, until the stage is 1; NULL: nowhere. */
static _Thread_local struct stage *behind_grant, *before_wake, *behind_wait;
static _Thread_local int stops;

void __wrap_ilk__waiter_grant(struct ilk__waiter *waiter) {
    __real_ilk__waiter_grant(waiter);
    if (behind_grant != NULL) {
        stops++;
        stage_await(behind_grant, 1);
    }
}

void __wrap_ilk_park_wake(const ILK_ATOMIC(uint32_t) * word, uint32_t count) {
    if (before_wake != NULL) {
        stops++;
        stage_await(before_wake, 1);
    }
    __real_ilk_park_wake(word, count);
}

ilk_status __wrap_ilk_park_wait(ILK_ATOMIC(uint32_t) * word, uint32_t expected, uint64_t deadline_ns) {
    const ilk_status status = __real_ilk_park_wait(word, expected, deadline_ns);
    if (behind_wait != NULL) {
        stage_await(behind_wait, 1);
    }
    return status;
}

static void *map_page(void) {
    void *page =
        mmap(NULL, (size_t)sysconf(_SC_PAGESIZE), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    check(page != MAP_FAILED);
    return page;
}

static void unmap_page(void *page) {
    check_equal(munmap(page, (size_t)sysconf(_SC_PAGESIZE)), 0);
}

struct heir {
    void *object;
    struct stage *gone;
    int mode;
    struct thread thread;
};

/* ---- rwlock ---- */

enum { READ, WRITE, UPGRADABLE, UPGRADE };

static void inherit_lock(void *context) {
    struct heir *heir = context;
    ilk_rwlock *lock = heir->object;
    if (heir->mode == READ) {
        ilk_rwlock_read_lock(lock);
        ilk_rwlock_read_unlock(lock);
    } else if (heir->mode == WRITE) {
        ilk_rwlock_write_lock(lock);
        ilk_rwlock_write_unlock(lock);
    } else {
        ilk_rwlock_upgradable_lock(lock);
        if (heir->mode == UPGRADE) {
            ilk_rwlock_upgrade(lock);
            ilk_rwlock_write_unlock(lock);
        } else {
            ilk_rwlock_upgradable_unlock(lock);
        }
    }
    ilk_rwlock_destroy(lock);
    unmap_page(lock);
    stage_reach(heir->gone, 1);
}

static void release_lock(ilk_rwlock *lock, int mode) {
    if (mode == READ) {
        ilk_rwlock_read_unlock(lock);
    } else if (mode == WRITE) {
        ilk_rwlock_write_unlock(lock);
    } else {
        ilk_rwlock_upgradable_unlock(lock);
    }
}
/* contract: rwlock.E */
TEST(an_unlock_does_not_touch_the_lock_it_handed_over) {
    /* What this thread holds, and what the heir waits for. */
    const int pairs[][2] = {{WRITE, WRITE},           {WRITE, READ},        {WRITE, UPGRADABLE},
                            {WRITE, UPGRADE},         {READ, WRITE},        {UPGRADABLE, WRITE},
                            {UPGRADABLE, UPGRADABLE}, {UPGRADABLE, UPGRADE}};
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        ilk_rwlock *lock = map_page();
        struct stage gone = STAGE_INIT;
        if (pairs[i][0] == READ) {
            ilk_rwlock_read_lock(lock);
        } else if (pairs[i][0] == WRITE) {
            ilk_rwlock_write_lock(lock);
        } else {
            ilk_rwlock_upgradable_lock(lock);
        }
        struct heir heir = {.object = lock, .gone = &gone, .mode = pairs[i][1]};
        thread_start(&heir.thread, inherit_lock, &heir);
        thread_await_sleep(&heir.thread);
        behind_grant = &gone;
        stops = 0;
        release_lock(lock, pairs[i][0]);
        behind_grant = NULL;
        check_equal(stops, 1); /* it was handed over, and we stopped */
        thread_join(&heir.thread);
    }
}

/*    main reads
 *                writer queues, with a deadline
 *                            reader queues behind it
 *                its time is up: lets the reader in
 *                (stops here)
 *    out                     in, out
 *    unmaps the lock
 *                goes on                                                                              */
static void wait_until_late(void *context) {
    struct heir *heir = context;
    behind_grant = heir->gone;
    stops = 0;
    check_equal(ilk_rwlock_write_lock_until(heir->object, ilk_deadline_in_ns((uint64_t)heir->mode * 1000000)),
                ILK_TIMEDOUT);
    heir->mode = stops;
}

static void read_once(void *context) {
    struct heir *heir = context;
    ilk_rwlock_read_lock(heir->object);
    ilk_rwlock_read_unlock(heir->object);
}
/* contract: rwlock.E */
TEST(a_time_out_does_not_touch_the_lock_it_handed_over) {
    bool forced = false;
    /* The deadline passed too early: more time. */
    for (int wait_ms = 30; !forced; wait_ms *= 2) {
        ilk_rwlock *lock = map_page();
        struct stage unmapped = STAGE_INIT;
        struct heir writer = {.object = lock, .gone = &unmapped, .mode = wait_ms}, reader = {.object = lock};
        ilk_rwlock_read_lock(lock);
        thread_start(&writer.thread, wait_until_late, &writer);
        while (!thread_sleeps(&writer.thread) && !thread_is_done(&writer.thread)) {
        }
        thread_start(&reader.thread, read_once, &reader);
        while (!forced && !thread_is_done(&reader.thread)) {
            forced = thread_sleeps(&reader.thread);
        }
        thread_join(&reader.thread); /* let in by the writer's time-out, if not before it */
        ilk_rwlock_read_unlock(lock);
        if (forced) {
            unmap_page(lock);
        }
        stage_reach(&unmapped, 1);
        thread_join(&writer.thread);
        check(!forced || writer.mode == 1);
        if (!forced) {
            unmap_page(lock);
        }
    }
}

/* ---- semaphore ---- */

static void inherit_semaphore(void *context) {
    struct heir *heir = context;
    ilk_semaphore_wait(heir->object);
    ilk_semaphore_destroy(heir->object);
    unmap_page(heir->object);
    stage_reach(heir->gone, 1);
}
/* contract: semaphore.D */
TEST(a_signal_does_not_touch_the_semaphore_it_handed_over) {
    ilk_semaphore *semaphore = map_page();
    struct stage gone = STAGE_INIT;
    struct heir heir = {.object = semaphore, .gone = &gone};
    thread_start(&heir.thread, inherit_semaphore, &heir);
    thread_await_sleep(&heir.thread);
    behind_grant = &gone;
    stops = 0;
    ilk_semaphore_signal(semaphore, 1);
    behind_grant = NULL;
    check_equal(stops, 1);
    thread_join(&heir.thread);
}

/* ---- latch and mutex: a spurious wake-up comes before the wake-up ---- */

/* Several short waits are as good as a spurious wake-up. */
static void inherit_latch(void *context) {
    struct heir *heir = context;
    while (ilk_latch_wait_until(heir->object, ilk_deadline_in_ns(2000000)) != ILK_OK) {
    }
    unmap_page(heir->object);
    stage_reach(heir->gone, 1);
}
/* contract: ilk_latch_try_wait, latch.A, latch.B */
TEST(a_count_down_only_wakes_by_address) {
    ilk_latch *latch = map_page();
    ilk_latch_init(latch, 1);
    struct stage gone = STAGE_INIT;
    struct heir heir = {.object = latch, .gone = &gone};
    thread_start(&heir.thread, inherit_latch, &heir);
    while (ilk_atomic_load(&latch->word, memory_order_relaxed) % 2 == 0) {
        check(!thread_is_done(&heir.thread)); /* until the bit for sleepers is up */
    }
    before_wake = &gone;
    stops = 0;
    ilk_latch_count_down(latch);
    before_wake = NULL;
    check_equal(stops, 1);
    thread_join(&heir.thread);
}

static void inherit_mutex(void *context) {
    struct heir *heir = context;
    while (ilk_mutex_lock_until(heir->object, ilk_deadline_in_ns(2000000)) != ILK_OK) {
    }
    ilk_mutex_unlock(heir->object);
    unmap_page(heir->object);
    stage_reach(heir->gone, 1);
}
/* contract: mutex.D */
TEST(a_mutex_unlock_only_wakes_by_address) {
    ilk_mutex *mutex = map_page();
    ilk_mutex_init(mutex, false);
    ilk_mutex_lock(mutex);
    struct stage gone = STAGE_INIT;
    struct heir heir = {.object = mutex, .gone = &gone};
    thread_start(&heir.thread, inherit_mutex, &heir);
    while (ilk_atomic_load(&mutex->word, memory_order_relaxed) < 0x80000000) {
        check(!thread_is_done(&heir.thread)); /* until the bit for sleepers is up */
    }
    before_wake = &gone;
    stops = 0;
    ilk_mutex_unlock(mutex);
    before_wake = NULL;
    check_equal(stops, 1);
    thread_join(&heir.thread);
}

/* ---- barrier ---- */

static void inherit_barrier(void *context) {
    struct heir *heir = context;
    while (ilk_barrier_wait_until(heir->object, ilk_deadline_in_ns(20000000), NULL) != ILK_OK) {
    }
    stage_reach(heir->gone, 1); /* has seen the round complete */
    ilk_barrier_destroy(heir->object);
    unmap_page(heir->object);
    stage_reach(heir->gone, 2);
}

static unsigned barrier_arrived(ilk_barrier *barrier) {
    return (unsigned)(uint32_t)ilk_atomic_load(&barrier->state, memory_order_relaxed);
}

/*    heir waits
 *                    last completes the round
 *                    (stops here)
 *    its time is up, but its round is complete
 *    destroys, unmaps
 *                    wakes by address                                                                 */
/* contract: barrier.F, ilk_barrier_destroy, ilk_barrier_wait */
TEST(the_last_party_only_wakes_by_address) {
    for (bool forced = false; !forced;) {
        ilk_barrier *barrier = map_page();
        ilk_barrier_init(barrier, 2);
        struct stage gone = STAGE_INIT;
        struct heir heir = {.object = barrier, .gone = &gone};
        thread_start(&heir.thread, inherit_barrier, &heir);
        before_wake = &gone;
        stops = 0;
        for (bool met = false; !met;) {
            while (barrier_arrived(barrier) == 0) {
            }
            met = ilk_barrier_wait_until(barrier, 0, &forced) == ILK_OK;
        }
        before_wake = NULL;
        check(!forced || stops == 1);
        thread_join(&heir.thread);
    }
}

struct released {
    ilk_barrier *barrier;
    struct stage *goes_on;
    struct thread thread;
};

static void leave_slowly(void *context) {
    struct released *self = context;
    behind_wait = self->goes_on;
    check(!ilk_barrier_wait(self->barrier));
    behind_wait = NULL;
}

static void destroy_barrier(void *context) {
    struct heir *heir = context;
    ilk_barrier_destroy(heir->object);
    unmap_page(heir->object);
}

/*    a party waits, sleeps
 *                    last completes the round, wakes
 *    (stops here, awake)
 *                                    destroys: sleeps
 *    leaves
 *                                    unmaps                                                           */
/* contract: barrier.F, ilk_barrier_destroy, ilk_barrier_wait */
TEST(a_barriers_destroyer_waits_for_a_party_that_was_let_go) {
    ilk_barrier *barrier = map_page();
    ilk_barrier_init(barrier, 3);
    struct stage go_on = STAGE_INIT;
    struct released slow[2];
    for (int i = 0; i < 2; i++) {
        slow[i] = (struct released){.barrier = barrier, .goes_on = &go_on};
        thread_start(&slow[i].thread, leave_slowly, &slow[i]);
        thread_await_sleep(&slow[i].thread);
    }
    check(ilk_barrier_wait(barrier));
    struct heir heir = {.object = barrier};
    thread_start(&heir.thread, destroy_barrier, &heir);
    thread_await_sleep(&heir.thread);
    stage_reach(&go_on, 1);
    thread_join(&slow[0].thread);
    thread_join(&slow[1].thread);
    thread_join(&heir.thread);
}
