/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_wait_set: permits go to one owner; removal, wakes and destruction beside a wait end it as promised; sets, hooks
 * and sleepers live side by side. The linker puts functions of this file before two of the core's (CMakeLists.txt).
 */
#include "wait/watchers.h"
#include "wait_set/members.h"
#include <interlock/park.h>
#include <stdlib.h>

/* ---- Semaphores ---- */

static void wait_on_semaphore(void *semaphore) {
    ilk_semaphore_wait(semaphore);
}
/* contract: wait_set.C */
TEST(a_set_waits_its_turn_for_a_permit) {
    struct members members;
    begin(&members);
    add_semaphore(&members);
    struct thread first, third;
    struct set_waiter second;
    thread_start(&first, wait_on_semaphore, &members.semaphore);
    thread_await_sleep(&first);
    start_waiting(&second, members.set);
    thread_start(&third, wait_on_semaphore, &members.semaphore);
    thread_await_sleep(&third);
    check_equal(ilk_semaphore_value(&members.semaphore), -3);
    signal_semaphore(&members);
    thread_join(&first);
    check(!thread_is_done(&second.thread));
    signal_semaphore(&members);
    ends_with(&second, &members);
    check(!thread_is_done(&third));
    signal_semaphore(&members);
    thread_join(&third);
    check_equal(ilk_semaphore_value(&members.semaphore), 0);
    end(&members);
}
/* A place in the queue without a thread cannot be called: it is handed its permit. */
/* contract: semaphore.F */
TEST(a_set_gets_a_permit_of_a_semaphore_that_barges) {
    struct members members;
    begin(&members);
    ilk_semaphore_init_barging(&members.semaphore, 0);
    add_semaphore(&members);
    struct thread first;
    struct set_waiter second;
    thread_start(&first, wait_on_semaphore, &members.semaphore);
    thread_await_sleep(&first);
    start_waiting(&second, members.set);
    ilk_semaphore_signal(&members.semaphore, 2);
    ends_with(&second, &members);
    thread_join(&first);
    check_equal(ilk_semaphore_value(&members.semaphore), 0);
    end(&members);
}
/* contract: wait_set.C */
TEST(an_answered_permit_is_the_callers_and_the_next_waits_for_the_next_wait) {
    struct members members;
    begin(&members);
    add_semaphore(&members);
    ilk_semaphore_signal(&members.semaphore, 2);
    check(is_ready(members.set, &members));
    check_equal(ilk_semaphore_value(&members.semaphore), 1); /* not in the queue until the next wait */
    check(is_ready(members.set, &members));
    check_equal(ilk_semaphore_value(&members.semaphore), 0);
    check(!is_ready(members.set, &members));
    check_equal(ilk_semaphore_value(&members.semaphore), -1); /* it keeps its place */
    signal_semaphore(&members);
    check_equal(ilk_semaphore_value(&members.semaphore), 0);
    check(!ilk_semaphore_try_wait(&members.semaphore)); /* kept for the next wait */
    check(is_ready(members.set, &members));
    end(&members);
}
/* contract: wait_set.C, ilk_wait_set_remove, ilk_wait_set_destroy */
TEST(a_permit_that_was_not_answered_goes_back) {
    for (int destroys = 0; destroys <= 1; destroys++) {
        for (int served = 0; served <= 1; served++) {
            ilk_wait_set *set = new_set();
            ilk_semaphore semaphore = ILK_SEMAPHORE_INIT(0);
            check_equal(ilk_wait_set_add_semaphore(set, &semaphore, NULL), ILK_OK);
            check(!is_ready(set, NULL));
            if (served) {
                ilk_semaphore_signal(&semaphore, 1);
                check_equal(ilk_semaphore_value(&semaphore), 0);
            }
            if (!destroys) {
                check(ilk_wait_set_remove(set, NULL));
                check(!is_ready(set, NULL));
            }
            ilk_wait_set_destroy(set);
            check_equal(ilk_semaphore_value(&semaphore), served);
            ilk_semaphore_destroy(&semaphore);
        }
    }
}

/* ---- Removal, wakes ---- */

/* contract: ilk_wait_set_remove, wait_set.D */
TEST(a_member_removed_beside_a_wait_may_be_freed) {
    ilk_wait_set *set = new_set();
    ilk_spsc *ring = new_spsc(2);
    ilk_mpmc *other = new_mpmc(2), *third = new_mpmc(1);
    ilk_semaphore *semaphore = malloc(sizeof *semaphore);
    ilk_latch *latch = malloc(sizeof *latch);
    check(semaphore != NULL && latch != NULL);
    ilk_semaphore_init(semaphore, 0);
    ilk_latch_init(latch, 1);
    check_equal(ilk_wait_set_add_spsc(set, ring, ILK_READABLE, ring), ILK_OK);
    check_equal(ilk_wait_set_add_mpmc(set, other, ILK_READABLE, other), ILK_OK);
    check_equal(ilk_wait_set_add_semaphore(set, semaphore, semaphore), ILK_OK);
    check_equal(ilk_wait_set_add_latch(set, latch, latch), ILK_OK);
    check_equal(ilk_wait_set_add_mpmc(set, third, ILK_READABLE, third), ILK_OK);
    struct set_waiter waiter;
    start_waiting(&waiter, set);
    check(ilk_wait_set_remove(set, other));
    push_mpmc(other);
    ilk_mpmc_destroy(other);
    check(ilk_wait_set_remove(set, ring));
    push_spsc(ring);
    ilk_spsc_destroy(ring);
    check(ilk_wait_set_remove(set, semaphore));
    ilk_semaphore_signal(semaphore, 1);
    check_equal(ilk_semaphore_value(semaphore), 1);
    ilk_semaphore_destroy(semaphore);
    free(semaphore);
    check(ilk_wait_set_remove(set, latch));
    ilk_latch_count_down(latch);
    free(latch);
    check(!ilk_wait_set_remove(set, ring));
    thread_await_sleep(&waiter.thread);
    push_mpmc(third);
    ends_with(&waiter, third);
    ilk_wait_set_destroy(set);
    ilk_mpmc_destroy(third);
}
/* contract: ilk_wait_set_wake, wait_set.E */
TEST(a_wake_ends_the_wait_or_the_next_one) {
    struct members members;
    begin(&members);
    add_elements_of_mpmc(&members);
    struct set_waiter waiter;
    start_waiting(&waiter, members.set);
    ilk_wait_set_wake(members.set);
    ends_with(&waiter, NULL);
    void *keys[1];
    check_equal(poll_set(members.set, keys, 1), -1); /* it is answered */
    ilk_wait_set_wake(members.set);
    ilk_wait_set_wake(members.set); /* one with the first */
    check_equal(poll_set(members.set, keys, 1), 0);
    check_equal(poll_set(members.set, keys, 1), -1);
    push_to_mpmc(&members);
    ilk_wait_set_wake(members.set);
    check_equal(poll_set(members.set, keys, 1), 1); /* with what is ready */
    pop_mpmc(members.mpmc);
    check_equal(poll_set(members.set, keys, 1), -1);
    end(&members);
}

static void destroy_when_woken(void *context) {
    struct set_waiter *self = context;
    wait_on_set(self);
    ilk_wait_set_destroy(self->set);
}
/* A waker may still be in its call. */
/* contract: ilk_wait_set_destroy */
TEST(a_set_may_be_destroyed_by_the_thread_that_was_woken) {
    for (int round = stress_rounds(20000); round > 0; round--) {
        struct set_waiter waiter = {.set = new_set(), .deadline_ns = ILK_FOREVER};
        thread_start(&waiter.thread, destroy_when_woken, &waiter);
        ilk_wait_set_wake(waiter.set);
        ends_with(&waiter, NULL);
    }
    ilk_wait_set_destroy(NULL);
}

/* ---- What it costs others ---- */

/* Calls of this thread. */
static __thread int wakes, notifications;

void __real_ilk_park_wake(const ILK_ATOMIC(uint32_t) * word, uint32_t count);
void __wrap_ilk_park_wake(const ILK_ATOMIC(uint32_t) * word, uint32_t count);
void __wrap_ilk_park_wake(const ILK_ATOMIC(uint32_t) * word, uint32_t count) {
    wakes++;
    __real_ilk_park_wake(word, count);
}
void __real_ilk__watchers_notify(const void *address);
void __wrap_ilk__watchers_notify(const void *address);
void __wrap_ilk__watchers_notify(const void *address) {
    notifications++;
    __real_ilk__watchers_notify(address);
}

/* Also once a thread has slept and sleeps no more. */
/* contract: ilk_wait_set_wake */
TEST(a_wake_calls_the_system_only_for_a_thread_that_sleeps) {
    struct members members;
    begin(&members);
    wakes = 0;
    for (int round = 0; round < 3; round++) {
        void *keys[1];
        check_equal(poll_set(members.set, keys, 1), -1); /* the next wake is the first since */
        ilk_wait_set_wake(members.set);
        check_equal(wakes, round);
        check_equal(poll_set(members.set, keys, 1), 0);
        struct set_waiter waiter;
        start_waiting(&waiter, members.set);
        ilk_wait_set_wake(members.set);
        check_equal(wakes, round + 1);
        ends_with(&waiter, NULL);
    }
    end(&members);
}

static void wait_at_latch(void *latch) {
    check_equal(ilk_latch_wait_until(latch, ILK_FOREVER), ILK_OK);
}
/* So a handler may open it. */
/* contract: wait_set.h */
TEST(a_latch_notifies_no_set_once_none_has_a_latch) {
    for (int in_a_set = 1; in_a_set >= 0; in_a_set--) {
        struct members members;
        begin(&members);
        add_latch(&members);
        check(!is_ready(members.set, &members));
        if (!in_a_set) {
            check(ilk_wait_set_remove(members.set, &members));
        }
        ilk_latch other;
        ilk_latch_init(&other, 1);
        struct thread sleeper;
        thread_start(&sleeper, wait_at_latch, &other);
        thread_await_sleep(&sleeper);
        notifications = 0;
        ilk_latch_count_down(&other);
        check_equal(notifications, in_a_set);
        thread_join(&sleeper);
        end(&members);
    }
}

/* ---- Beside others ---- */

static void count_call(void *context, ilk_ring_event event) {
    *(int *)context += event == ILK_READABLE ? 1 : 100;
}

static void pop_one(void *ring) {
    int element;
    check_equal(ilk_mpmc_pop_until(ring, &element, sizeof element, ILK_FOREVER), ILK_OK);
}
/* contract: wait_set.F */
TEST(sets_a_hook_and_a_sleeper_are_told_of_one_element) {
    struct members members;
    begin(&members);
    ilk_wait_set *sets[11];
    struct set_waiter waiters[11];
    int calls = 0;
    ilk_mpmc_set_notify(members.mpmc, count_call, &calls);
    for (int i = 0; i < 11; i++) { /* more than a notifier remembers at a time */
        sets[i] = new_set();
        check_equal(ilk_wait_set_add_mpmc(sets[i], members.mpmc, ILK_READABLE, &sets[i]), ILK_OK);
        start_waiting(&waiters[i], sets[i]);
    }
    check(ilk_mpmc_arm_pop(members.mpmc));
    ilk_mpmc_set_notify(members.mpmc, count_call, &calls); /* takes the arm down, and the sets' not */
    check(ilk_mpmc_arm_pop(members.mpmc));
    push_mpmc(members.mpmc);
    check_equal(calls, 1);
    for (int i = 0; i < 11; i++) {
        ends_with(&waiters[i], &sets[i]);
    }
    struct thread sleeper;
    pop_mpmc(members.mpmc);
    thread_start(&sleeper, pop_one, members.mpmc);
    thread_await_sleep(&sleeper);
    for (int i = 0; i < 11; i++) {
        start_waiting(&waiters[i], sets[i]);
    }
    push_mpmc(members.mpmc);
    thread_join(&sleeper);
    for (int i = 0; i < 11; i++) { /* the element may be gone before they probe */
        ilk_wait_set_wake(sets[i]);
        thread_join(&waiters[i].thread);
        check_equal(waiters[i].status, ILK_OK);
        ilk_wait_set_destroy(sets[i]);
    }
    end(&members);
}

TEST(a_set_is_told_of_an_spsc_beside_its_hook_and_consumer) {
    struct members members;
    begin(&members);
    ilk_wait_set *second = new_set();
    int calls = 0;
    ilk_spsc_set_notify(members.spsc, count_call, &calls);
    add_elements_of_spsc(&members);
    check_equal(ilk_wait_set_add_spsc(second, members.spsc, ILK_READABLE, second), ILK_OK);
    for (int round = 0; round < 3; round++) {
        struct set_waiter first_waiter, second_waiter;
        start_waiting(&first_waiter, members.set);
        start_waiting(&second_waiter, second);
        check(ilk_spsc_arm_pop(members.spsc));
        ilk_spsc_set_notify(members.spsc, count_call, &calls);
        check(ilk_spsc_arm_pop(members.spsc));
        push_spsc(members.spsc);
        ends_with(&first_waiter, &members);
        ends_with(&second_waiter, second);
        check_equal(calls, round + 1);
        pop_spsc(members.spsc);
    }
    ilk_wait_set_destroy(second);
    end(&members);
}
