/* SPDX-License-Identifier: Apache-2.0
 *
 * The small primitives on one word each: ilk_latch, ilk_barrier, ilk_mutex. The data they guard is plain,
 * so a missing order is a race, and a lost wake-up ends in deadlock.
 */
#include "../explorer.h"
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
    uint32_t expected;
} s;

enum { SOON = 5000 };

/* ---- Latch ---- */

static void setup_latch(void) {
    ilk_latch_init(&s.latch, 2);
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

static void count_first(void) {
    do_work(0);
    ilk_latch_count_down(&s.latch);
}
static void count_second(void) {
    do_work(1);
    ilk_latch_count_down(&s.latch);
}
static void count_both(void) {
    count_first();
    count_second();
}
static void await_latch(void) {
    ex_assert(ilk_latch_wait_until(&s.latch, ILK_FOREVER) == ILK_OK);
    see_work(0, 1);
    see_work(1, 1);
}
static void await_latch_until(void) {
    if (ilk_latch_wait_until(&s.latch, SOON) == ILK_OK) {
        see_work(0, 1);
        see_work(1, 1);
    }
}

EX_SCENARIO(latch_three){
    .name = "latch-count-count-wait",
    .claim = "who passes the latch sees the work of all who counted",
    .setup = setup_latch,
    .threads = {count_first, count_second, await_latch},
    .chance_wakeups = 1,
};
EX_SCENARIO(latch_waiters){
    .name = "latch-count-wait-wait",
    .claim = "everyone who waits passes",
    .setup = setup_latch,
    .threads = {count_both, await_latch, await_latch},
    .chance_wakeups = 1,
};
EX_SCENARIO(latch_until){
    .name = "latch-count-wait-wait_until",
    .claim = "a waiter that gives up does not keep the other's wake-up",
    .setup = setup_latch,
    .threads = {count_both, await_latch, await_latch_until},
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
    .chance_wakeups = 1,
};
EX_SCENARIO(barrier_three){
    .name = "barrier-three-parties",
    .claim = "everyone sees everyone's work; one is last",
    .setup = setup_three_parties,
    .threads = {meet_once, meet_once, meet_once},
    .check = check_last,
    .chance_wakeups = 1,
};

/* ---- Mutex ---- */

static void setup_mutex(void) {
    ilk_mutex_init(&s.mutex, false);
    s.work[0] = 0;
    s.expected = 0;
}
static void inside(void) {
    do_work(0);
    s.expected++;
    ilk_mutex_unlock(&s.mutex);
}
static void lock(void) {
    ilk_mutex_lock(&s.mutex);
    inside();
}
static void try_lock(void) {
    if (ilk_mutex_try_lock(&s.mutex)) {
        inside();
    }
}
static void lock_until(void) {
    if (ilk_mutex_lock_until(&s.mutex, SOON) == ILK_OK) {
        inside();
    }
}
static void check_mutex(void) {
    ex_assert(s.work[0] == s.expected);
    ex_expect(s.mutex.word == 0, "the mutex's word is 0x%x after all have left", s.mutex.word);
}

#define MUTEX(identifier, text, ...)                                                                         \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "mutex-" text, .claim = "one at a time, and all come to an end", .setup = setup_mutex,       \
        .threads = {__VA_ARGS__}, .check = check_mutex, .timeouts = 1, .chance_wakeups = 1                   \
    }

MUTEX(lock_lock, "lock-lock", lock, lock);
MUTEX(lock_try, "lock-try_lock", lock, try_lock);
MUTEX(lock_lock_until, "lock-lock_until", lock, lock_until);
MUTEX(lock_lock_lock, "lock-lock-lock", lock, lock, lock);
MUTEX(lock_lock_try, "lock-lock-try_lock", lock, lock, try_lock);
MUTEX(lock_lock_lock_until, "lock-lock-lock_until", lock, lock, lock_until);
MUTEX(lock_until_until, "lock-lock_until-lock_until", lock, lock_until, lock_until);
