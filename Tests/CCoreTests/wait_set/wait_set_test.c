/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_wait_set: each kind of member wakes the thread that waits; answers are level-triggered and fair. The linker puts
 * the function below before the core's ilk_park_wait (CMakeLists.txt).
 */
#include "wait_set/members.h"

/* ---- Each kind ---- */

static const struct {
    void (*add)(struct members *members);
    void (*happens)(struct members *members);
} kinds[] = {
    {add_elements_of_spsc, push_to_spsc},
    {add_elements_of_spsc, close_spsc},
    {add_room_of_spsc, pop_from_spsc},
    {add_room_of_spsc, close_spsc},
    {add_elements_of_mpmc, push_to_mpmc},
    {add_elements_of_mpmc, overwrite_mpmc},
    {add_elements_of_mpmc, close_mpmc},
    {add_room_of_mpmc, pop_from_mpmc},
    {add_room_of_mpmc, close_mpmc},
    {add_semaphore, signal_semaphore},
    {add_latch, open_latch},
};

enum { KINDS = sizeof kinds / sizeof *kinds };

/* contract: ilk_wait_set_add_spsc, ilk_wait_set_add_mpmc, ilk_wait_set_add_semaphore, ilk_wait_set_add_latch */
TEST(each_kind_of_member_wakes_the_waiting_thread) {
    for (int kind = 0; kind < KINDS; kind++) {
        struct members members;
        begin(&members);
        kinds[kind].add(&members);
        struct set_waiter waiter;
        start_waiting(&waiter, members.set);
        kinds[kind].happens(&members);
        ends_with(&waiter, &members);
        end(&members);
    }
}
/* contract: ilk_wait_set_wait_until, wait_set.A */
TEST(each_kind_of_member_is_answered_that_was_ready_before) {
    for (int kind = 0; kind < KINDS; kind++) {
        struct members members;
        begin(&members);
        kinds[kind].add(&members);
        check(!is_ready(members.set, &members));
        kinds[kind].happens(&members);
        check(is_ready(members.set, &members));
        end(&members);
        begin(&members);
        kinds[kind].add(&members);
        kinds[kind].happens(&members); /* before the first wait */
        check(is_ready(members.set, &members));
        end(&members);
    }
}
/* A thread that waits is told of a member that comes. */
TEST(a_member_added_beside_a_wait_wakes_it) {
    for (int kind = 0; kind < KINDS; kind++) {
        struct members members;
        begin(&members);
        struct set_waiter waiter;
        start_waiting(&waiter, members.set);
        kinds[kind].add(&members);
        kinds[kind].happens(&members);
        ends_with(&waiter, &members);
        end(&members);
    }
}

/* ---- Answers ---- */

/* contract: wait_set.B */
TEST(a_member_is_answered_for_as_long_as_it_is_ready) {
    ilk_wait_set *set = new_set();
    ilk_spsc *ring = new_spsc(2);
    check_equal(ilk_wait_set_add_spsc(set, ring, ILK_READABLE, ring), ILK_OK);
    check_equal(ilk_wait_set_add_spsc(set, ring, ILK_WRITABLE, set), ILK_OK);
    check(!is_ready(set, ring));
    check(is_ready(set, set));
    push_spsc(ring);
    push_spsc(ring);
    check(is_ready(set, ring));
    check(!is_ready(set, set));
    pop_spsc(ring);
    check(is_ready(set, ring));
    check(is_ready(set, set));
    pop_spsc(ring);
    check(!is_ready(set, ring));
    ilk_spsc_close(ring);
    for (int i = 0; i < 3; i++) {
        check(is_ready(set, ring));
    }
    ilk_wait_set_destroy(set);
    ilk_spsc_destroy(ring);
}
/* contract: wait_set.B */
TEST(each_of_many_ready_members_has_its_turn) {
    enum { RINGS = 7, TURNS = 700 };
    ilk_wait_set *set = new_set();
    ilk_mpmc *rings[RINGS];
    int latest[RINGS]; /* the wait that answered it */
    for (int i = 0; i < RINGS; i++) {
        rings[i] = new_mpmc(1);
        push_mpmc(rings[i]);
        check_equal(ilk_wait_set_add_mpmc(set, rings[i], ILK_READABLE, &latest[i]), ILK_OK);
        latest[i] = -1;
    }
    for (int capacity = 1; capacity <= RINGS + 1; capacity++) {
        const int bound = (RINGS + capacity - 1) / capacity;
        for (int i = 0; i < RINGS; i++) {
            latest[i] = -1;
        }
        for (int turn = 0; turn < TURNS; turn++) {
            void *keys[RINGS + 1];
            const int count = poll_set(set, keys, (size_t)capacity);
            check_equal(count, capacity < RINGS ? capacity : RINGS);
            for (int i = 0; i < count; i++) {
                *(int *)keys[i] = turn;
            }
            for (int i = 0; i < RINGS; i++) {
                check(turn - latest[i] < bound);
            }
        }
    }
    ilk_wait_set_destroy(set);
    for (int i = 0; i < RINGS; i++) {
        ilk_mpmc_destroy(rings[i]);
    }
}
/* contract: ilk_wait_set_wait_until */
TEST(a_wait_ends_at_its_deadline_and_survives_signals) {
    thread_allow_interrupts();
    struct members members;
    begin(&members);
    add_elements_of_spsc(&members);
    struct set_waiter waiter = {.set = members.set, .deadline_ns = ilk_deadline_in_ns(MILLISECONDS(30))};
    thread_start(&waiter.thread, wait_on_set, &waiter);
    while (!thread_is_done(&waiter.thread)) {
        thread_interrupt(&waiter.thread);
    }
    thread_join(&waiter.thread);
    check_equal(waiter.status, ILK_TIMEDOUT);
    check_equal(waiter.count, 0);
    check(ilk_now_ns() >= waiter.deadline_ns);
    push_to_spsc(&members);
    check(is_ready(members.set, &members)); /* a passed deadline */
    end(&members);
}

/* The next sleep of this thread ends with its time, as this comes. */
static __thread struct {
    void (*happens)(struct members *members);
    struct members *members;
} as_time_runs_out;

ilk_status __real_ilk_park_wait(const ILK_ATOMIC(uint32_t) * word, uint32_t expected, uint64_t deadline_ns);
ilk_status __wrap_ilk_park_wait(const ILK_ATOMIC(uint32_t) * word, uint32_t expected, uint64_t deadline_ns);
ilk_status __wrap_ilk_park_wait(const ILK_ATOMIC(uint32_t) * word, uint32_t expected, uint64_t deadline_ns) {
    void (*happens)(struct members * members) = as_time_runs_out.happens;
    if (happens == NULL) {
        return __real_ilk_park_wait(word, expected, deadline_ns);
    }
    as_time_runs_out.happens = NULL;
    happens(as_time_runs_out.members);
    return ILK_TIMEDOUT;
}

/* contract: ilk_wait_set_wait_until */
TEST(what_comes_as_time_runs_out_is_answered) {
    for (int kind = 0; kind < KINDS; kind++) {
        struct members members;
        begin(&members);
        kinds[kind].add(&members);
        as_time_runs_out.happens = kinds[kind].happens;
        as_time_runs_out.members = &members;
        void *keys[1];
        size_t count;
        const uint64_t late = ilk_deadline_in_ns(MILLISECONDS(600000));
        check_equal(ilk_wait_set_wait_until(members.set, keys, 1, &count, late), ILK_OK);
        check(as_time_runs_out.happens == NULL);
        check_equal(count, 1);
        check(keys[0] == &members);
        end(&members);
    }
}
/* contract: ilk_wait_set_create, ilk_wait_set_add_spsc, ilk_wait_set_wait_until */
TEST(what_a_call_does_not_accept_changes_nothing) {
    struct members members;
    begin(&members);
    add_elements_of_spsc(&members);
    check_equal(ilk_wait_set_add_spsc(members.set, members.spsc, ILK_WRITABLE, &members), ILK_INVALID);
    check_equal(ilk_wait_set_add_latch(members.set, &members.latch, &members), ILK_INVALID);
    check_equal(ilk_wait_set_add_mpmc(members.set, members.mpmc, (ilk_ring_event)3, NULL), ILK_INVALID);
    check_equal(ilk_wait_set_add_spsc(members.set, members.spsc, (ilk_ring_event)0, NULL), ILK_INVALID);
    void *keys[1];
    size_t count = 5;
    check_equal(ilk_wait_set_wait_until(members.set, keys, 0, &count, 0), ILK_INVALID);
    check_equal(count, 5);
    check(!ilk_wait_set_remove(members.set, NULL));
    check(!is_ready(members.set, NULL));
    end(&members);
}
TEST(a_closed_spsc_is_ready_once_its_reservation_ends) {
    for (int commits = 0; commits <= 1; commits++) {
        struct members members;
        begin(&members);
        add_elements_of_spsc(&members);
        size_t count = 1;
        int *slot = ilk_spsc_reserve(members.spsc, &count);
        check(slot != NULL);
        *slot = 1;
        ilk_spsc_close(members.spsc);
        struct set_waiter waiter;
        start_waiting(&waiter, members.set);
        ilk_spsc_commit(members.spsc, (size_t)commits);
        ends_with(&waiter, &members);
        end(&members);
    }
}

/* contract: wait_set.B, wait_set.C */
TEST(a_semaphore_has_its_turn_beside_what_stays_ready) {
    ilk_wait_set *set = new_set();
    ilk_latch open;
    ilk_latch_init(&open, 0);
    ilk_semaphore permits = ILK_SEMAPHORE_INIT(5);
    check_equal(ilk_wait_set_add_latch(set, &open, &open), ILK_OK);
    check_equal(ilk_wait_set_add_semaphore(set, &permits, &permits), ILK_OK);
    for (int left = 4; left >= 0; left--) {
        check(is_ready(set, &permits));
        check_equal(ilk_semaphore_value(&permits), left);
    }
    check(!is_ready(set, &permits));
    ilk_semaphore_signal(&permits, 1); /* the set stands in the queue */
    check_equal(ilk_semaphore_value(&permits), 0);
    check(is_ready(set, &permits));
    ilk_wait_set_destroy(set);
    ilk_semaphore_destroy(&permits);
}

/* contract: wait_set.C */
TEST(a_set_queues_at_a_semaphore_once_a_wait_comes_to_it) {
    ilk_wait_set *set;
    ilk_semaphore permits = ILK_SEMAPHORE_INIT(0);
    ilk_latch latch;
    void *keys[2];
    size_t count;
    ilk_latch_init(&latch, 0); /* open */
    check_equal(ilk_wait_set_create(&set), ILK_OK);
    check_equal(ilk_wait_set_add_latch(set, &latch, &latch), ILK_OK);
    check_equal(ilk_wait_set_add_semaphore(set, &permits, &permits), ILK_OK);
    check_equal(ilk_wait_set_wait_until(set, keys, 1, &count, 0), ILK_OK); /* the latch fills it */
    check_equal(ilk_semaphore_value(&permits), 0);
    check_equal(ilk_wait_set_wait_until(set, keys, 2, &count, 0), ILK_OK);
    check(count == 1 && keys[0] == &latch);
    check_equal(ilk_semaphore_value(&permits), -1);
    ilk_semaphore_signal(&permits, 1);
    check(!ilk_semaphore_try_wait(&permits)); /* it is kept for the set */
    check_equal(ilk_wait_set_wait_until(set, keys, 2, &count, 0), ILK_OK);
    check_equal(count, 2);
    ilk_wait_set_destroy(set);
    ilk_semaphore_destroy(&permits);
}

/* contract: wait_set.A, wait_set.C, wait_set.D */
TEST(an_object_may_be_in_a_set_twice) {
    enum { RING, RING_AGAIN, PERMIT, PERMIT_AGAIN, KEYS };
    static char keys[KEYS];
    ilk_wait_set *set = new_set();
    ilk_mpmc *ring = new_mpmc(1);
    ilk_semaphore permits = ILK_SEMAPHORE_INIT(0);
    for (int again = 0; again <= 1; again++) {
        check_equal(ilk_wait_set_add_mpmc(set, ring, ILK_READABLE, &keys[RING + again]), ILK_OK);
        check_equal(ilk_wait_set_add_semaphore(set, &permits, &keys[PERMIT + again]), ILK_OK);
    }
    check(!is_ready(set, NULL)); /* all stand in their queues */
    push_mpmc(ring);
    ilk_semaphore_signal(&permits, 2);
    int answered[KEYS] = {0};
    void *found[MOST_KEYS];
    check_equal(poll_set(set, found, MOST_KEYS), KEYS);
    for (int i = 0; i < KEYS; i++) {
        answered[(char *)found[i] - keys]++;
    }
    for (int i = 0; i < KEYS; i++) {
        check_equal(answered[i], 1);
    }
    check_equal(ilk_semaphore_value(&permits), 0); /* each has got its own */
    check(ilk_wait_set_remove(set, &keys[RING]));
    check(!is_ready(set, &keys[RING]));
    check(is_ready(set, &keys[RING_AGAIN]));
    ilk_wait_set_destroy(set);
    ilk_mpmc_destroy(ring);
    ilk_semaphore_destroy(&permits);
}

/* A wait probes what may be ready: idle members beside a busy one are armed by the second wait. */
/* contract: wait_set.h */
TEST(idle_members_beside_a_ready_one_are_armed) {
    ilk_wait_set *set = new_set();
    ilk_spsc *busy = new_spsc(4), *idle = new_spsc(4);
    check_equal(ilk_wait_set_add_spsc(set, busy, ILK_READABLE, busy), ILK_OK);
    check_equal(ilk_wait_set_add_spsc(set, idle, ILK_READABLE, idle), ILK_OK);
    push_spsc(busy);
    void *keys[2];
    const uint32_t armed = ILK__SPSC_CONSUMER_WATCHED;
    check_equal(poll_set(set, keys, 2), 1);
    check_equal(ilk_atomic_load(&idle->flags, memory_order_relaxed) & armed, 0);
    check_equal(poll_set(set, keys, 2), 1);
    check_equal(ilk_atomic_load(&idle->flags, memory_order_relaxed) & armed, armed);
    push_spsc(idle);
    check_equal(poll_set(set, keys, 2), 2);
    ilk_wait_set_destroy(set);
    ilk_spsc_destroy(busy);
    ilk_spsc_destroy(idle);
}

struct sharer {
    ilk_mpmc *ring;
    ilk_wait_set *set;
};
static void serve_until_closed(void *context) {
    struct sharer *self = context;
    void *key;
    size_t count;
    int element;
    while (!ilk_mpmc_is_closed(self->ring)) {
        check_equal(ilk_wait_set_wait_until(self->set, &key, 1, &count, ILK_FOREVER), ILK_OK);
        while (ilk_mpmc_try_pop(self->ring, &element, sizeof element)) {
        }
    }
}
/* contract: wait_set.F */
TEST(a_push_notifies_each_of_many_sets_once) {
    enum { SETS = 24, ELEMENTS = 60 };
    ilk_mpmc *ring = new_mpmc(64);
    struct sharer sharers[SETS];
    struct thread threads[SETS];
    for (int i = 0; i < SETS; i++) {
        sharers[i] = (struct sharer){ring, new_set()};
        check_equal(ilk_wait_set_add_mpmc(sharers[i].set, ring, ILK_READABLE, ring), ILK_OK);
        thread_start(&threads[i], serve_until_closed, &sharers[i]);
    }
    for (int i = 0; i < ELEMENTS; i++) {
        for (int set = 0; set < SETS; set++) {
            thread_await_sleep(&threads[set]);
        }
        check_equal(ilk_mpmc_push_until(ring, &i, sizeof i, ILK_FOREVER), ILK_OK);
    }
    ilk_mpmc_close(ring);
    for (int i = 0; i < SETS; i++) {
        thread_join(&threads[i]);
        ilk_wait_set_destroy(sharers[i].set);
    }
    ilk_mpmc_destroy(ring);
}
