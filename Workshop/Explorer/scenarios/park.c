/* SPDX-License-Identifier: Apache-2.0
 *
 * The park layer's guarantees A to D (<interlock/park.h>), over either backend: futex or table.
 */
/* contract: park.A, park.B, park.C, park.D */
#include "../explorer.h"
#include <interlock/park.h>

static struct {
    ILK_ATOMIC(uint32_t) word, other;
    ILK_ATOMIC(uint32_t) * heap;
    ilk_status status;
    uint32_t data;
} s;

static void setup(void) {
    s.word = s.other = 0;
    s.heap = ex_allocate(sizeof *s.heap, 16);
    *s.heap = 0;
    s.status = ILK_TIMEDOUT;
    s.data = 0;
}

enum { SOON = 5000 };

static void await_word(void) {
    while (ilk_atomic_load(&s.word, memory_order_acquire) == 0) {
        ex_assert(ilk_park_wait(&s.word, 0, ILK_FOREVER) == ILK_OK);
    }
    ilk_plain_read(&s.data, sizeof s.data);
    ex_assert(s.data == 1);
}

static void set_and_wake_one(void) {
    ilk_plain_write(&s.data, sizeof s.data);
    s.data = 1;
    ilk_atomic_store(&s.word, 1, memory_order_release);
    ilk_park_wake(&s.word, 1);
}

static void set_and_wake_all(void) {
    ilk_plain_write(&s.data, sizeof s.data);
    s.data = 1;
    ilk_atomic_store(&s.word, 1, memory_order_release);
    ilk_park_wake(&s.word, ILK_PARK_ALL);
}

static void await_until(void) {
    while (ilk_atomic_load(&s.word, memory_order_acquire) == 0) {
        s.status = ilk_park_wait(&s.word, 0, SOON);
        if (s.status == ILK_TIMEDOUT) {
            ex_assert(ilk_now_ns() >= SOON);
            return;
        }
    }
}

/* Sleeps on its word of a pair; a wake of the other must do nothing. */
static void await_other(void) {
    while (ilk_atomic_load(&s.other, memory_order_acquire) == 0) {
        ex_assert(ilk_park_wait(&s.other, 0, ILK_FOREVER) == ILK_OK);
    }
}

static void wake_both_words(void) {
    ilk_atomic_store(&s.other, 1, memory_order_release);
    ilk_park_wake(&s.other, 1);
    set_and_wake_one();
}

/* Guarantee C: the sleeper frees the word when it reads the change; the waker wakes afterwards. */
static void await_and_free(void) {
    ILK_ATOMIC(uint32_t) *word = s.heap;
    while (ilk_atomic_load(word, memory_order_acquire) == 0) {
        (void)ilk_park_wait(word, 0, ILK_FOREVER);
    }
    ex_free((void *)word);
}

static void set_freed_word(void) {
    ILK_ATOMIC(uint32_t) *word = s.heap;
    ilk_atomic_store(word, 1, memory_order_release);
    ilk_park_wake(word, 1);
}

static void bystander(void) {
    ilk_park_wake(&s.word, ILK_PARK_ALL);
    ilk_park_wake(&s.other, ILK_PARK_ALL);
}

static void expired(void) {
    ilk_status status = ilk_park_wait(&s.word, 0, 1);
    ex_assert(status == ILK_TIMEDOUT || ilk_atomic_load(&s.word, memory_order_relaxed) != 0 ||
              status == ILK_OK);
}

EX_SCENARIO(one){
    .name = "park-wait-wake",
    .claim = "no wake-up is lost between comparing and sleeping",
    .setup = setup,
    .threads = {await_word, set_and_wake_one},
    .titles = {"sleeper", "waker"},
    .spurious_wakeups = 2,
};

EX_SCENARIO(two_sleepers){
    .name = "park-two-sleepers-wake-all",
    .claim = "waking all wakes all",
    .setup = setup,
    .threads = {await_word, await_word, set_and_wake_all},
    .titles = {"sleeper 1", "sleeper 2", "waker"},
    .spurious_wakeups = 1,
};

EX_SCENARIO(two_words){
    .name = "park-two-words",
    .claim = "a wake of one word does not consume that of another",
    .setup = setup,
    .threads = {await_word, await_other, wake_both_words},
    .titles = {"sleeper 1", "sleeper 2", "waker"},
};

EX_SCENARIO(timed){
    .name = "park-until-wake",
    .claim = "a wait ends by the wake-up or at its deadline, not before",
    .setup = setup,
    .threads = {await_until, set_and_wake_one, bystander},
    .titles = {"sleeper", "waker", "bystander"},
    .timeouts = 1,
    .spurious_wakeups = 1,
};

EX_SCENARIO(timed_and_not){
    .name = "park-until-beside-forever",
    .claim = "a sleeper that times out does not keep the wake-up of the one beside it",
    .setup = setup,
    .threads = {await_word, await_until, set_and_wake_all},
    .titles = {"sleeper", "timed sleeper", "waker"},
    .timeouts = 1,
};

EX_SCENARIO(freed){
    .name = "park-wake-freed-word",
    .claim = "waking uses the address only",
    .setup = setup,
    .threads = {await_and_free, set_freed_word},
    .titles = {"sleeper", "waker"},
    .spurious_wakeups = 1,
};

EX_SCENARIO(late){
    .name = "park-deadline-passed",
    .claim = "a wait whose deadline has passed does not sleep",
    .setup = setup,
    .threads = {expired, set_and_wake_one},
    .titles = {"late", "waker"},
};

EX_MUST_REACH(states){
    {"park-two-sleepers-wake-all park-two-words park-wait-wake park-wake-freed-word", {EX_SLEEPER_WOKEN}},
    {"park-until-*", {EX_SLEEPER_WOKEN, EX_SLEEPER_LATE}},
};
