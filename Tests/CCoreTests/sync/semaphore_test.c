/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_semaphore: order of service, hand-off, deadlines, destruction by the last one served, and load.
 */
#include "support/test.h"
#include <interlock/diagnostics.h>
#include <interlock/semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint32_t word_of(ilk_semaphore *semaphore) {
    return ilk_atomic_load(&semaphore->word, memory_order_relaxed);
}

struct user {
    ilk_semaphore *semaphore;
    uint64_t deadline_ns;
    ilk_status status;
    struct stage *served;
    int place;
    struct thread thread;
};

static void wait_for_permit(void *context) {
    struct user *user = context;
    if (user->deadline_ns == ILK_FOREVER) {
        ilk_semaphore_wait(user->semaphore);
    } else {
        user->status = ilk_semaphore_wait_until(user->semaphore, user->deadline_ns);
    }
    if (user->status == ILK_OK && user->served != NULL) {
        stage_advance(user->served);
        user->place = stage_now(user->served);
    }
}

static void user_start(struct user *user, ilk_semaphore *semaphore, uint64_t deadline_ns,
                       struct stage *served) {
    *user = (struct user){.semaphore = semaphore, .deadline_ns = deadline_ns, .served = served};
    thread_start(&user->thread, wait_for_permit, user);
}

/* Starts it; returns when it stands in line. */
static void user_queue(struct user *user, ilk_semaphore *semaphore, struct stage *served) {
    int64_t before = ilk_semaphore_value(semaphore);
    user_start(user, semaphore, ILK_FOREVER, served);
    while (ilk_semaphore_value(semaphore) != before - 1) {
        check(!thread_is_done(&user->thread));
    }
    thread_await_sleep(&user->thread);
}
/* contract: ilk_semaphore_init */
TEST(all_initialisers_give_the_permits_asked_for) {
    static ilk_semaphore zeroed;
    ilk_semaphore at_definition = ILK_SEMAPHORE_INIT(3), initialised;
    memset(&initialised, 0xA5, sizeof initialised);
    ilk_semaphore_init(&initialised, ILK_SEMAPHORE_MAX);
    check_equal(ilk_semaphore_value(&zeroed), 0);
    check_equal(ilk_semaphore_value(&at_definition), 3);
    check_equal(ilk_semaphore_value(&initialised), ILK_SEMAPHORE_MAX);
    check(!ilk_semaphore_try_wait(&zeroed));
    for (int i = 0; i < 3; i++) {
        check(ilk_semaphore_try_wait(&at_definition));
    }
    check(!ilk_semaphore_try_wait(&at_definition));
    ilk_semaphore_destroy(&zeroed);
    ilk_semaphore_destroy(&at_definition);
    ilk_semaphore_destroy(&initialised);
}

/* The textbooks' trace of the counter: 1 0 -1 -2 -1 0 1. */
/* contract: ilk_semaphore_try_wait, ilk_semaphore_value */
TEST(the_counter_of_three_users_of_one_permit) {
    ilk_semaphore semaphore = ILK_SEMAPHORE_INIT(1);
    check_equal(ilk_semaphore_value(&semaphore), 1);
    ilk_semaphore_wait(&semaphore);
    check_equal(ilk_semaphore_value(&semaphore), 0);
    struct user second, third;
    user_queue(&second, &semaphore, NULL);
    check_equal(ilk_semaphore_value(&semaphore), -1);
    user_queue(&third, &semaphore, NULL);
    check_equal(ilk_semaphore_value(&semaphore), -2);
    ilk_semaphore_signal(&semaphore, 1);
    check_equal(ilk_semaphore_value(&semaphore), -1);
    ilk_semaphore_signal(&semaphore, 1);
    check_equal(ilk_semaphore_value(&semaphore), 0);
    ilk_semaphore_signal(&semaphore, 1);
    check_equal(ilk_semaphore_value(&semaphore), 1);
    thread_join(&second.thread);
    thread_join(&third.thread);
    ilk_semaphore_destroy(&semaphore);
}
/* contract: ilk_semaphore_signal, semaphore.A */
TEST(permits_are_handed_over_in_order_of_arrival) {
    enum { COUNT = 8 };
    ilk_semaphore semaphore = ILK_SEMAPHORE_INIT(0);
    struct stage served = STAGE_INIT;
    struct user users[COUNT];
    for (int i = 0; i < COUNT; i++) {
        user_queue(&users[i], &semaphore, &served);
    }
    for (int i = 0; i < COUNT; i++) {
        ilk_semaphore_signal(&semaphore, 1);
        stage_await(&served, i + 1);
        thread_join(&users[i].thread); /* it is that one and no other */
        check_equal(users[i].place, i + 1);
    }
    check_equal(word_of(&semaphore), 0);
    ilk_semaphore_destroy(&semaphore);
}
/* contract: ilk_semaphore_signal, semaphore.A */
TEST(a_signal_serves_exactly_as_many_as_it_has_permits) {
    enum { COUNT = 5 };
    ilk_semaphore semaphore = ILK_SEMAPHORE_INIT(0);
    struct user users[COUNT];
    for (int i = 0; i < COUNT; i++) {
        user_queue(&users[i], &semaphore, NULL);
    }
    ilk_semaphore_signal(&semaphore, 3);
    for (int i = 0; i < 3; i++) {
        thread_join(&users[i].thread);
    }
    check(thread_sleeps(&users[3].thread) && thread_sleeps(&users[4].thread));
    check_equal(ilk_semaphore_value(&semaphore), -2);
    ilk_semaphore_signal(&semaphore, 6);
    thread_join(&users[3].thread);
    thread_join(&users[4].thread);
    check_equal(ilk_semaphore_value(&semaphore), 4);
    ilk_semaphore_destroy(&semaphore);
}

/* The permit belongs to the signalled sleeper, though it has not run yet. */
/* contract: semaphore.A */
TEST(a_permit_handed_over_cannot_be_stolen) {
    for (int round = 0; round < stress_rounds(300); round++) {
        ilk_semaphore semaphore = ILK_SEMAPHORE_INIT(0);
        struct user user;
        user_queue(&user, &semaphore, NULL);
        ilk_semaphore_signal(&semaphore, 1);
        check(!ilk_semaphore_try_wait(&semaphore));
        check_equal(ilk_semaphore_wait_until(&semaphore, 0), ILK_TIMEDOUT);
        thread_join(&user.thread);
        ilk_semaphore_destroy(&semaphore);
    }
}
/* contract: ilk_semaphore_signal */
TEST(a_signal_of_none_does_nothing) {
    ilk_semaphore semaphore = ILK_SEMAPHORE_INIT(0);
    ilk_semaphore_signal(&semaphore, 0);
    check_equal(ilk_semaphore_value(&semaphore), 0);
    struct user user;
    user_queue(&user, &semaphore, NULL);
    ilk_semaphore_signal(&semaphore, 0);
    check_equal(ilk_semaphore_value(&semaphore), -1);
    check(thread_sleeps(&user.thread));
    ilk_semaphore_signal(&semaphore, 1);
    thread_join(&user.thread);
    ilk_semaphore_destroy(&semaphore);
}
/* contract: ilk_semaphore_init */
TEST(it_holds_up_to_its_maximum) {
    ilk_semaphore semaphore = ILK_SEMAPHORE_INIT(ILK_SEMAPHORE_MAX - 1);
    ilk_semaphore_signal(&semaphore, 1);
    check_equal(ilk_semaphore_value(&semaphore), ILK_SEMAPHORE_MAX);
    ilk_semaphore_wait(&semaphore);
    check_equal(ilk_semaphore_value(&semaphore), ILK_SEMAPHORE_MAX - 1);
    ilk_semaphore_destroy(&semaphore);
}

/* ---- Deadlines ---- */
/* contract: ilk_semaphore_wait, ilk_semaphore_wait_until */
TEST(a_passed_deadline_still_takes_a_permit_that_is_there) {
    ilk_semaphore semaphore = ILK_SEMAPHORE_INIT(2);
    check_equal(ilk_semaphore_wait_until(&semaphore, 0), ILK_OK);
    check_equal(ilk_semaphore_wait_until(&semaphore, ilk_now_ns()), ILK_OK);
    check_equal(ilk_semaphore_wait_until(&semaphore, 0), ILK_TIMEDOUT);
    check_equal(word_of(&semaphore), 0);
    ilk_semaphore_destroy(&semaphore);
}
/* contract: semaphore.C */
TEST(a_timed_out_wait_was_not_early_and_leaves_the_line) {
    ilk_semaphore semaphore = ILK_SEMAPHORE_INIT(0);
    uint64_t deadline = ilk_deadline_in_ns(MILLISECONDS(3));
    check_equal(ilk_semaphore_wait_until(&semaphore, deadline), ILK_TIMEDOUT);
    check(ilk_now_ns() >= deadline);
    check_equal(ilk_semaphore_value(&semaphore), 0);
    ilk_semaphore_signal(&semaphore, 1); /* goes to no waiter */
    check_equal(ilk_semaphore_value(&semaphore), 1);
    check(ilk_semaphore_try_wait(&semaphore));
    ilk_semaphore_destroy(&semaphore);
}

/*    first queues, for ever
 *                second queues, with a deadline
 *                            third queues, for ever
 *                second's time is up
 *    signal 1: first
 *                            signal 1: third, though it came behind the one that left     */
/* contract: semaphore.C */
TEST(one_that_times_out_leaves_the_others_in_order) {
    bool forced = false;
    /* The deadline passed too early: more time. */
    for (unsigned wait_ms = 20; !forced; wait_ms *= 2) {
        ilk_semaphore semaphore = ILK_SEMAPHORE_INIT(0);
        struct user first, second, third;
        user_queue(&first, &semaphore, NULL);
        user_start(&second, &semaphore, ilk_deadline_in_ns(MILLISECONDS(wait_ms)), NULL);
        while (ilk_semaphore_value(&semaphore) != -2 && !thread_is_done(&second.thread)) {
        }
        user_start(&third, &semaphore, ILK_FOREVER, NULL);
        while (!forced && !thread_is_done(&second.thread)) {
            forced = ilk_semaphore_value(&semaphore) == -3;
        }
        thread_join(&second.thread);
        check_equal(second.status, ILK_TIMEDOUT);
        while (ilk_semaphore_value(&semaphore) != -2) {
        }
        ilk_semaphore_signal(&semaphore, 1);
        thread_join(&first.thread);
        check(!thread_is_done(&third.thread));
        ilk_semaphore_signal(&semaphore, 1);
        thread_join(&third.thread);
        check_equal(word_of(&semaphore), 0);
        ilk_semaphore_destroy(&semaphore);
    }
}

static void wait_without_end(void *context) {
    struct user *user = context;
    user->status = ilk_semaphore_wait_until(user->semaphore, ILK_FOREVER);
}
/* contract: ilk_semaphore_wait, ilk_semaphore_wait_until */
TEST(a_wait_until_forever_is_a_wait) {
    ilk_semaphore semaphore = ILK_SEMAPHORE_INIT(0);
    struct user user = {.semaphore = &semaphore, .status = ILK_TIMEDOUT};
    thread_start(&user.thread, wait_without_end, &user);
    while (ilk_semaphore_value(&semaphore) != -1) {
        check(!thread_is_done(&user.thread));
    }
    thread_await_sleep(&user.thread);
    ilk_semaphore_signal(&semaphore, 1);
    thread_join(&user.thread);
    check_equal(user.status, ILK_OK);
    check_equal(word_of(&semaphore), 0);
    ilk_semaphore_destroy(&semaphore);
}

/* Queues behind `before` others; false if one of the leavers has left. */
static bool queues_behind(ilk_semaphore *semaphore, int before, struct user *leavers, int started) {
    while (ilk_semaphore_value(semaphore) != -(int64_t)before - 1) {
        for (int i = 0; i < started; i++) {
            if (thread_is_done(&leavers[i].thread)) {
                return false;
            }
        }
    }
    return true;
}

static int count_done(struct user *users, int count) {
    int done = 0;
    for (int i = 0; i < count; i++) {
        done += thread_is_done(&users[i].thread) ? 1 : 0;
    }
    return done;
}

/* Waiters time out at the front, in the middle and at the end of the queue. */
/* contract: semaphore.C */
TEST(many_that_time_out_leave_the_others_in_order) {
    enum { STAY = 6, LEAVE = 7 };
    bool forced = false;
    /* As above, before all have queued. */
    for (unsigned wait_ms = 20; !forced; wait_ms *= 2) {
        ilk_semaphore semaphore = ILK_SEMAPHORE_INIT(0);
        struct user stayers[STAY], leavers[LEAVE];
        const uint64_t deadline = ilk_deadline_in_ns(MILLISECONDS(wait_ms));
        forced = true;
        for (int i = 0; i < STAY + LEAVE; i++) { /* alternating, a leaver first and last */
            if (i % 2 == 0) {
                user_start(&leavers[i / 2], &semaphore, deadline, NULL);
            } else {
                user_start(&stayers[i / 2], &semaphore, ILK_FOREVER, NULL);
            }
            forced = forced && queues_behind(&semaphore, i, leavers, i / 2 + 1);
        }
        for (int i = 0; i < LEAVE; i++) {
            thread_join(&leavers[i].thread);
            check_equal(leavers[i].status, ILK_TIMEDOUT);
        }
        while (ilk_semaphore_value(&semaphore) != -STAY) {
        }
        for (int i = 0; i < STAY; i++) {
            ilk_semaphore_signal(&semaphore, 1);
            while (count_done(stayers, STAY) != i + 1) {
            }
            check(!forced || thread_is_done(&stayers[i].thread));
        }
        for (int i = 0; i < STAY; i++) {
            thread_join(&stayers[i].thread);
        }
        check_equal(word_of(&semaphore), 0);
        ilk_semaphore_destroy(&semaphore);
    }
}
/* contract: ilk_semaphore_wait, semaphore.C */
TEST(signals_do_not_move_the_deadline) {
    thread_allow_interrupts();
    ilk_semaphore semaphore = ILK_SEMAPHORE_INIT(0);
    struct user user;
    uint64_t deadline = ilk_deadline_in_ns(MILLISECONDS(30));
    user_start(&user, &semaphore, deadline, NULL);
    while (!thread_is_done(&user.thread)) {
        thread_interrupt(&user.thread);
    }
    thread_join(&user.thread);
    check(ilk_now_ns() >= deadline);
    check_equal(user.status, ILK_TIMEDOUT);
    ilk_semaphore_destroy(&semaphore);
}

/* ---- Load ---- */

/* With one permit only the hand-off guards the plain counters inside: ThreadSanitizer sees a missing
 * order. */
struct room {
    ilk_semaphore semaphore;
    int capacity;
    ILK_ATOMIC(int) inside;
    uint64_t plain; /* written inside; only with capacity 1 */
    ILK_ATOMIC(uint64_t) entries;
};

struct visitor {
    struct room *room;
    uint32_t random;
    int rounds;
};

static void visit(void *context) {
    struct visitor *self = context;
    struct room *room = self->room;
    for (int round = 0; round < self->rounds; round++) {
        bool in = true;
        switch (any_manner(&self->random)) {
        case TRIES:
            in = ilk_semaphore_try_wait(&room->semaphore);
            break;
        case LIMITED:
            in = ilk_semaphore_wait_until(&room->semaphore,
                                          ilk_deadline_in_ns(next_random(&self->random) % 20000)) == ILK_OK;
            break;
        case WAITS:
            ilk_semaphore_wait(&room->semaphore);
        }
        if (!in) {
            continue;
        }
        int now = ilk_atomic_fetch_add(&room->inside, 1, memory_order_relaxed) + 1;
        check(now >= 1 && now <= room->capacity);
        if (room->capacity == 1) {
            room->plain++;
        }
        ilk_atomic_fetch_add(&room->entries, 1, memory_order_relaxed);
        ilk_atomic_fetch_sub(&room->inside, 1, memory_order_relaxed);
        ilk_semaphore_signal(&room->semaphore, 1);
    }
}

static void run_room(int capacity, int threads, uint32_t watches) {
    struct room room = {.capacity = capacity};
    ilk_semaphore_init(&room.semaphore, (uint32_t)capacity);
    check_equal(ilk_semaphore_observe(&room.semaphore, watches), ILK_OK);
    uint32_t before = word_of(&room.semaphore);
    struct visitor visitors[8];
    uint32_t seed = (uint32_t)ilk_now_ns();
    printf("%d permits, %d threads, seed %u\n", capacity, threads, (unsigned)seed);
    fflush(stdout);
    for (int i = 0; i < threads; i++) {
        visitors[i] =
            (struct visitor){&room, (seed + (uint32_t)i * 2654435761U) | 1, stress_rounds(40000 / threads)};
    }
    threads_run(threads, visit, visitors, sizeof *visitors);
    check_equal(word_of(&room.semaphore), before);
    check_equal(ilk_semaphore_value(&room.semaphore), capacity);
    if (capacity == 1) {
        check_equal(room.plain, ilk_atomic_load(&room.entries, memory_order_relaxed));
    }
    ilk_semaphore_destroy(&room.semaphore);
}
/* contract: semaphore.A */
TEST(permits_are_never_lost_or_doubled) {
    run_room(1, 2, 0);
    run_room(1, 6, 0);
    run_room(3, 8, 0);
}
/* contract: ilk_diagnose, ilk_diagnosed, ilk_mpmc_observe, ilk_mutex_observe, ilk_rwlock_observe */
/* contract: ilk_semaphore_observe, ilk_spsc_observe */
TEST(an_observed_semaphore_behaves_the_same) {
    run_room(1, 4, ILK_DIAGNOSE_ALL);
    run_room(2, 4, ILK_DIAGNOSE_ALL);
}

struct sums {
    ilk_semaphore semaphore;
    int rounds;
};

static void signal_in_groups(void *context) {
    struct sums *sums = context;
    uint32_t random = 12345;
    for (int left = sums->rounds; left > 0;) {
        uint32_t group = next_random(&random) % 5 + 1;
        group = group < (uint32_t)left ? group : (uint32_t)left;
        ilk_semaphore_signal(&sums->semaphore, group);
        left -= (int)group;
    }
}

static void wait_half(void *context) {
    struct sums *sums = context;
    for (int i = 0; i < sums->rounds / 2; i++) {
        ilk_semaphore_wait(&sums->semaphore);
    }
}
static void take_each_permit_once(void (*init)(ilk_semaphore *semaphore, uint32_t permits)) {
    struct sums sums = {.rounds = stress_rounds(40000)};
    init(&sums.semaphore, 0);
    struct thread signaller, waiters[2];
    thread_start(&waiters[0], wait_half, &sums);
    thread_start(&waiters[1], wait_half, &sums);
    thread_start(&signaller, signal_in_groups, &sums);
    thread_join(&signaller);
    thread_join(&waiters[0]);
    thread_join(&waiters[1]);
    check_equal(ilk_semaphore_value(&sums.semaphore), 0);
    check_equal(word_of(&sums.semaphore), 0);
    ilk_semaphore_destroy(&sums.semaphore);
}
/* contract: semaphore.A */
TEST(every_permit_signalled_is_taken_once) {
    take_each_permit_once(ilk_semaphore_init);
}

/* Guarantee D: the waiter frees a request's semaphore as soon as the wait returns; AddressSanitizer sees a
 * later touch. */
struct request {
    ilk_semaphore *semaphores[64];
    ILK_ATOMIC(int) ready; /* how many of them the other side may signal */
    int rounds;
};

static void signal_requests(void *context) {
    struct request *request = context;
    for (int round = 0; round < request->rounds; round++) {
        while (ilk_atomic_load(&request->ready, memory_order_acquire) <= round) {
            ilk_cpu_relax();
        }
        ilk_semaphore_signal(request->semaphores[round % 64], 1);
    }
}
/* contract: semaphore.D */
TEST(the_one_served_may_free_it_at_once) {
    static struct request request;
    request.rounds = stress_rounds(20000);
    struct thread signaller;
    thread_start(&signaller, signal_requests, &request);
    for (int round = 0; round < request.rounds; round++) {
        ilk_semaphore *semaphore = malloc(sizeof *semaphore);
        check(semaphore != NULL);
        ilk_semaphore_init(semaphore, 0);
        request.semaphores[round % 64] = semaphore;
        ilk_atomic_store(&request.ready, round + 1, memory_order_release);
        if (round % 2 == 0) {
            ilk_semaphore_wait(semaphore);
        } else {
            while (ilk_semaphore_wait_until(semaphore, ilk_deadline_in_ns(500)) != ILK_OK) {
            }
        }
        ilk_semaphore_destroy(semaphore);
        free(semaphore);
    }
    thread_join(&signaller);
}
/* contract: ilk_semaphore_try_signal */
TEST(a_try_to_signal_answers_where_there_is_no_room) {
    ilk_semaphore semaphore = ILK_SEMAPHORE_INIT(ILK_SEMAPHORE_MAX - 2);
    check(ilk_semaphore_try_signal(&semaphore, 0));
    check(!ilk_semaphore_try_signal(&semaphore, 3));
    check(!ilk_semaphore_try_signal(&semaphore, UINT32_MAX)); /* 32 bits would wrap */
    check_equal(ilk_semaphore_value(&semaphore), ILK_SEMAPHORE_MAX - 2);
    check(ilk_semaphore_try_signal(&semaphore, 2));
    check_equal(ilk_semaphore_value(&semaphore), ILK_SEMAPHORE_MAX);
    check(!ilk_semaphore_try_signal(&semaphore, 1));
    ilk_semaphore_destroy(&semaphore);

    ilk_semaphore_init(&semaphore, 0);
    struct user first, second; /* what they take is not counted */
    user_queue(&first, &semaphore, NULL);
    user_queue(&second, &semaphore, NULL);
    check(!ilk_semaphore_try_signal(&semaphore, ILK_SEMAPHORE_MAX + 3));
    check_equal(ilk_semaphore_value(&semaphore), -2);
    check(ilk_semaphore_try_signal(&semaphore, 1));
    thread_join(&first.thread);
    check(ilk_semaphore_try_signal(&semaphore, ILK_SEMAPHORE_MAX + 1));
    thread_join(&second.thread);
    check_equal(ilk_semaphore_value(&semaphore), ILK_SEMAPHORE_MAX);
    ilk_semaphore_destroy(&semaphore);
}

/* ---- Barging ---- */

/* A thread that is awake takes permit after permit before one that sleeps, but not for ever. */
/* contract: ilk_semaphore_init_barging, semaphore.F */
TEST(one_that_is_passed_gets_a_permit) {
    ilk_semaphore semaphore;
    ilk_semaphore_init_barging(&semaphore, 0);
    struct user users[3];
    for (int i = 0; i < 3; i++) {
        user_queue(&users[i], &semaphore, NULL);
    }
    int held = 0;
    for (int i = 0; i < 3; i++) {
        while (!thread_is_done(&users[i].thread)) {
            if (held == 0) {
                ilk_semaphore_signal(&semaphore, 1);
                held = ilk_semaphore_try_wait(&semaphore);
            } else {
                held--;
                ilk_semaphore_signal(&semaphore, 1);
            }
        }
        thread_join(&users[i].thread);
    }
    while (ilk_semaphore_try_wait(&semaphore)) {
    }
    check_equal(word_of(&semaphore), 0);
    ilk_semaphore_destroy(&semaphore);
}

/* contract: semaphore.F */
TEST(a_barging_semaphore_has_time_limits_and_a_maximum) {
    ilk_semaphore semaphore;
    ilk_semaphore_init_barging(&semaphore, ILK_SEMAPHORE_MAX - 1);
    check(ilk_semaphore_try_signal(&semaphore, 1));
    check(!ilk_semaphore_try_signal(&semaphore, 1));
    check_equal(ilk_semaphore_value(&semaphore), ILK_SEMAPHORE_MAX);
    ilk_semaphore_init_barging(&semaphore, 0);
    const uint64_t deadline = ilk_deadline_in_ns(MILLISECONDS(5));
    check_equal(ilk_semaphore_wait_until(&semaphore, deadline), ILK_TIMEDOUT);
    check(ilk_now_ns() >= deadline);
    check_equal(word_of(&semaphore), 0);
    ilk_semaphore_signal(&semaphore, 1);
    check_equal(ilk_semaphore_wait_until(&semaphore, 0), ILK_OK);
    ilk_semaphore_destroy(&semaphore);
}

/* contract: semaphore.A, semaphore.F */
TEST(a_barging_semaphore_loses_no_permit) {
    take_each_permit_once(ilk_semaphore_init_barging);
}
