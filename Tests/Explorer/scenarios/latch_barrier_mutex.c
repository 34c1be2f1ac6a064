/* SPDX-License-Identifier: Apache-2.0
 *
 * The small primitives on one word each: ilk_latch, ilk_barrier, ilk_mutex. The data they guard is plain,
 * so a missing order is a race, and a lost wake-up ends in deadlock. What latch and mutex answer is checked
 * as a history: a mutex is a semaphore of one permit. A barrier's answers have no order to be put into; that
 * nobody leaves a round before all have come shows in the work they left.
 */
#include "../explorer.h"
#include "../history/models.h"
#include <interlock/barrier.h>
#include <interlock/latch.h>
#include <interlock/mutex.h>

static struct {
    ilk_latch latch;
    ilk_latch *heap;
    ilk_barrier barrier;
    ilk_mutex mutex;
    uint32_t work[3];
    uint32_t last; /* parties that were told they are last */
    uint32_t met, late;
    uint32_t expected;
} s;

enum { SOON = 5000 };

/* ---- Latch ---- */

static const uint32_t latch_count = 2;

static void setup_latch(void) {
    ex_history_reset();
    ilk_latch_init(&s.latch, latch_count);
    s.work[0] = s.work[1] = s.work[2] = 0;
}

static void do_work(unsigned which) {
    ilk_plain_write(&s.work[which], sizeof s.work[which]);
    s.work[which]++;
}
static void see_work(unsigned which, uint32_t at_least) {
    ilk_plain_read(&s.work[which], sizeof s.work[which]);
    ex_assert(s.work[which] >= at_least);
}

static void count_down(void) {
    size_t operation = ex_begin(EX_COUNT_DOWN, 0);
    ilk_latch_count_down(&s.latch);
    ex_end(operation, EX_DONE);
}
static void count_first(void) {
    do_work(0);
    count_down();
}
static void count_second(void) {
    do_work(1);
    count_down();
}
static void count_both(void) {
    count_first();
    count_second();
}
static void see_all_work(void) {
    see_work(0, 1);
    see_work(1, 1);
}
static void await_by(uint64_t deadline) {
    size_t operation = ex_begin(EX_AWAIT, 0);
    ilk_status status = ilk_latch_wait_until(&s.latch, deadline);
    ex_end(operation, status == ILK_OK ? EX_DONE : EX_TIMEDOUT);
    if (status == ILK_OK) {
        see_all_work();
    }
}
static void await_latch(void) {
    await_by(ILK_FOREVER);
}
static void await_latch_until(void) {
    await_by(SOON);
}
static void try_latch(void) {
    size_t operation = ex_begin(EX_AWAIT, 0);
    bool open = ilk_latch_try_wait(&s.latch);
    ex_end(operation, open ? EX_DONE : EX_REFUSED);
    if (open) {
        see_all_work();
    }
}
static void probe_and_try(void) {
    size_t operation = ex_begin(EX_PROBE, 0);
    uint32_t left = ilk_latch_count(&s.latch);
    ex_end(operation, left);
    try_latch();
}
static void check_latch(void) {
    ex_history_check(&ex_latch, &latch_count);
}

EX_SCENARIO(latch_three){
    .name = "latch-count-count-wait",
    .claim = "who passes the latch sees the work of all who counted",
    .setup = setup_latch,
    .threads = {count_first, count_second, await_latch},
    .check = check_latch,
    .spurious_wakeups = 1,
};
EX_SCENARIO(latch_try){
    .name = "latch-count-count-try",
    .claim = "a latch is shut until all have counted, and shows how many are left",
    .setup = setup_latch,
    .threads = {count_first, count_second, probe_and_try},
    .check = check_latch,
};
EX_SCENARIO(latch_late){
    .name = "latch-count-count-wait_until",
    .claim = "a wait that has timed out found the latch shut",
    .setup = setup_latch,
    .threads = {count_first, count_second, await_latch_until},
    .check = check_latch,
    .timeouts = 1,
    .spurious_wakeups = 1,
};
EX_SCENARIO(latch_waiters){
    .name = "latch-count-wait-wait",
    .claim = "everyone who waits passes",
    .setup = setup_latch,
    .threads = {count_both, await_latch, await_latch},
    .check = check_latch,
    .spurious_wakeups = 1,
};
EX_SCENARIO(latch_until){
    .name = "latch-count-wait-wait_until",
    .claim = "a waiter that gives up does not keep the other's wake-up",
    .setup = setup_latch,
    .threads = {count_both, await_latch, await_latch_until},
    .check = check_latch,
    .timeouts = 1,
};

static void setup_heap_latch(void) {
    s.heap = ex_allocate(sizeof *s.heap, 16);
    ilk_latch_init(s.heap, 1);
}
static void count_heap(void) {
    ilk_latch_count_down(s.heap);
}
static void await_and_free(void) {
    ilk_latch *latch = s.heap;
    ex_assert(ilk_latch_wait_until(latch, ILK_FOREVER) == ILK_OK);
    ex_free(latch);
}
EX_SCENARIO(latch_freed){
    .name = "latch-freed-by-the-one-that-waited",
    .claim = "counting down does not touch the latch after it is open",
    .setup = setup_heap_latch,
    .threads = {await_and_free, count_heap},
};

static void await_until_and_free(void) {
    ilk_latch *latch = s.heap;
    if (ilk_latch_wait_until(latch, SOON) != ILK_OK) {
        ex_assert(ilk_latch_wait_until(latch, ILK_FOREVER) == ILK_OK);
    }
    ex_free(latch);
}
EX_SCENARIO(latch_freed_late){
    .name = "latch-freed-by-the-one-that-waited-late",
    .claim = "the same when the waiter's time is just up",
    .setup = setup_heap_latch,
    .threads = {await_until_and_free, count_heap},
    .timeouts = 1,
};

/* ---- Barrier ---- */

static void begin_barrier(uint32_t parties) {
    ilk_barrier_init(&s.barrier, parties);
    s.work[0] = s.work[1] = s.work[2] = 0;
    s.last = 0;
}
static void setup_two_parties(void) {
    begin_barrier(2);
    s.expected = 2;
}
static void setup_three_parties(void) {
    begin_barrier(3);
    s.expected = 1;
}

static void meet(uint32_t parties, uint32_t rounds) {
    unsigned me = ex_thread_index() - 1;
    for (uint32_t round = 1; round <= rounds; round++) {
        do_work(me);
        if (ilk_barrier_wait(&s.barrier)) {
            ilk_plain_write(&s.last, sizeof s.last);
            s.last++;
        }
        for (unsigned other = 0; other < parties; other++) {
            see_work(other, round);
        }
        if (round < rounds) {
            (void)ilk_barrier_wait(&s.barrier); /* nobody works again before all have looked */
        }
    }
}
static void meet_twice(void) {
    meet(2, 2);
}
static void meet_once(void) {
    meet(3, 1);
}
static void check_last(void) {
    ex_expect(s.last == s.expected, "%u parties were told they are last, in %u rounds", s.last, s.expected);
}

EX_SCENARIO(barrier_two){
    .name = "barrier-two-parties-three-rounds",
    .claim = "everyone sees everyone's work, round after round; one is last in each",
    .setup = setup_two_parties,
    .threads = {meet_twice, meet_twice},
    .check = check_last,
    .spurious_wakeups = 1,
};
EX_SCENARIO(barrier_three){
    .name = "barrier-three-parties",
    .claim = "everyone sees everyone's work; one is last",
    .setup = setup_three_parties,
    .threads = {meet_once, meet_once, meet_once},
    .check = check_last,
    .spurious_wakeups = 1,
};

/* With a limit. `s.met` counts the waits that answered ILK_OK, `s.late` those whose time ran out. */
static void setup_late_two(void) {
    begin_barrier(2);
    s.met = s.late = 0;
}
static void setup_late_three(void) {
    begin_barrier(3);
    s.met = s.late = 0;
}

static bool arrive_by(uint64_t deadline) {
    bool last = true;
    if (ilk_barrier_wait_until(&s.barrier, deadline, &last) == ILK_OK) {
        s.met++;
        s.last += last ? 1 : 0;
        return true;
    }
    ex_assert(!last);
    s.late++;
    return false;
}
static void come_or_leave(void) {
    do_work(ex_thread_index() - 1);
    (void)arrive_by(SOON);
}
static void come_until_met(void) {
    do_work(ex_thread_index() - 1);
    if (!arrive_by(SOON)) {
        ex_assert(arrive_by(ILK_FOREVER));
    }
    see_work(0, 1);
    see_work(1, 1);
}
static void come_until_met_of_three(void) {
    come_until_met();
    see_work(2, 1);
}
static void come_for_good(void) {
    do_work(ex_thread_index() - 1);
    ex_assert(arrive_by(ILK_FOREVER));
    see_work(0, 1);
    see_work(1, 1);
}
static void come_for_good_of_three(void) {
    come_for_good();
    see_work(2, 1);
}
static void nobody_is_left_in_the_round(uint32_t rounds) {
    ex_expect(s.barrier.state == (uint64_t)rounds << 32, "the barrier's state is 0x%llx after %u rounds",
              (unsigned long long)s.barrier.state, rounds);
    ex_assert(s.last == rounds);
}
static void check_all_or_none(void) {
    ex_expect(s.met == 0 || s.met == 2, "%u of 2 parties met, %u were late", s.met, s.late);
    nobody_is_left_in_the_round(s.met / 2);
}
static void check_met_once(void) {
    ex_assert(s.met == s.barrier.parties);
    nobody_is_left_in_the_round(1);
}
static void see_the_others_work(void) {
    do_work(ex_thread_index() - 1);
    if (arrive_by(SOON)) {
        see_work(0, 1);
        see_work(1, 1);
    }
}

EX_SCENARIO(barrier_late_and_wait){
    .name = "barrier-wait-wait_until",
    .claim = "a party whose time runs out comes again, and the other has not met it before",
    .setup = setup_late_two,
    .threads = {come_for_good, come_until_met},
    .check = check_met_once,
    .timeouts = 1,
    .spurious_wakeups = 1,
};
EX_SCENARIO(barrier_late_both){
    .name = "barrier-wait_until-wait_until",
    .claim = "both meet or neither does, and those who met see each other's work",
    .setup = setup_late_two,
    .threads = {see_the_others_work, see_the_others_work},
    .check = check_all_or_none,
    .timeouts = 2,
};
EX_SCENARIO(barrier_late_surplus){
    .name = "barrier-wait_until-three-threads-two-parties",
    .claim =
        "two meet or nobody, though parties leave meanwhile; nobody takes the arrival of another round back",
    .setup = setup_late_two,
    .threads = {come_or_leave, come_or_leave, come_or_leave},
    .check = check_all_or_none,
    .timeouts = 2,
};
EX_SCENARIO(barrier_late_three){
    .name = "barrier-wait-wait-wait_until",
    .claim = "three parties meet once though the time of one runs out first",
    .setup = setup_late_three,
    .threads = {come_for_good_of_three, come_for_good_of_three, come_until_met_of_three},
    .check = check_met_once,
    .timeouts = 1,
};

/* One of two parties is let down, comes again, and meets in the round after as well: what is slept on is
 * not that of the round before. */
static void come_twice(void) {
    do_work(ex_thread_index() - 1);
    ex_assert(arrive_by(ILK_FOREVER));
    ex_assert(arrive_by(ILK_FOREVER));
    see_work(0, 1);
    see_work(1, 1);
}
static void come_twice_late(void) {
    do_work(ex_thread_index() - 1);
    if (!arrive_by(SOON)) {
        ex_assert(arrive_by(ILK_FOREVER));
    }
    if (!arrive_by(2 * SOON)) {
        ex_assert(arrive_by(ILK_FOREVER));
    }
    see_work(0, 1);
    see_work(1, 1);
}
static void check_met_twice(void) {
    ex_assert(s.met == 4);
    nobody_is_left_in_the_round(2);
}
EX_SCENARIO(barrier_late_rounds){
    .name = "barrier-wait-wait_until-two-rounds",
    .claim = "a round whose party left and came again is followed by another",
    .setup = setup_late_two,
    .threads = {come_twice, come_twice_late},
    .check = check_met_twice,
    .timeouts = 2,
};

/* ---- Mutex ---- */

static const uint32_t one_owner = 1;

static void setup_mutex(void) {
    ex_history_reset();
    ilk_mutex_init(&s.mutex, false);
    s.work[0] = 0;
    s.expected = 0;
}
static void inside(void) {
    do_work(0);
    s.expected++;
    size_t operation = ex_begin(EX_SIGNAL, 1);
    ilk_mutex_unlock(&s.mutex);
    ex_end(operation, EX_DONE);
}
static void lock(void) {
    size_t operation = ex_begin(EX_WAIT, 0);
    ilk_mutex_lock(&s.mutex);
    ex_end(operation, EX_DONE);
    inside();
}
static void try_lock(void) {
    size_t operation = ex_begin(EX_WAIT, 0);
    bool locked = ilk_mutex_try_lock(&s.mutex);
    ex_end(operation, locked ? EX_DONE : EX_REFUSED);
    if (locked) {
        inside();
    }
}
static void lock_until(void) {
    size_t operation = ex_begin(EX_WAIT, 0);
    bool locked = ilk_mutex_lock_until(&s.mutex, SOON) == ILK_OK;
    ex_end(operation, locked ? EX_DONE : EX_TIMEDOUT);
    if (locked) {
        inside();
    }
}
static void check_mutex(void) {
    ex_history_check(&ex_semaphore, &one_owner);
    ex_assert(s.work[0] == s.expected);
    ex_expect(s.mutex.word == 0, "the mutex's word is 0x%x after all have left", s.mutex.word);
}

#define MUTEX(identifier, text, ...)                                                                         \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "mutex-" text, .claim = "one at a time, and all come to an end", .setup = setup_mutex,       \
        .threads = {__VA_ARGS__}, .check = check_mutex, .timeouts = 1, .spurious_wakeups = 1                 \
    }

MUTEX(lock_lock, "lock-lock", lock, lock);
MUTEX(lock_try, "lock-try_lock", lock, try_lock);
MUTEX(lock_lock_until, "lock-lock_until", lock, lock_until);
MUTEX(lock_lock_lock, "lock-lock-lock", lock, lock, lock);
MUTEX(lock_lock_try, "lock-lock-try_lock", lock, lock, try_lock);
MUTEX(lock_lock_lock_until, "lock-lock-lock_until", lock, lock, lock_until);
MUTEX(lock_until_until, "lock-lock_until-lock_until", lock, lock_until, lock_until);

/* Guarantee D: the next owner frees the mutex while the unlock returns. */
static struct {
    ilk_mutex *mutex;
    uint32_t users;
} heap;

static void setup_heap_mutex(void) {
    heap.mutex = ex_allocate(sizeof *heap.mutex, 16);
    ilk_mutex_init(heap.mutex, false);
    heap.users = 2;
}
static void leave_for_good(ilk_mutex *mutex) {
    ilk_plain_write(&heap.users, sizeof heap.users);
    bool last = --heap.users == 0;
    ilk_mutex_unlock(mutex);
    if (last) {
        ex_free(mutex);
    }
}
static void lock_and_leave(void) {
    ilk_mutex *mutex = heap.mutex;
    ilk_mutex_lock(mutex);
    leave_for_good(mutex);
}
static void lock_late_and_leave(void) {
    ilk_mutex *mutex = heap.mutex;
    if (ilk_mutex_lock_until(mutex, SOON) != ILK_OK) {
        ilk_mutex_lock(mutex);
    }
    leave_for_good(mutex);
}
EX_SCENARIO(mutex_freed){
    .name = "mutex-freed-by-the-last-owner",
    .claim = "an unlock does not touch the mutex after it has given it up",
    .setup = setup_heap_mutex,
    .threads = {lock_and_leave, lock_late_and_leave},
    .timeouts = 1,
    .spurious_wakeups = 1,
};
