/* SPDX-License-Identifier: Apache-2.0
 *
 * A mutex of three states on a futex (Drepper, "Futexes are tricky", 2011): 0 free, 1 locked, 2 locked and a
 * thread may sleep. Broken: of three threads the last sleeper is never woken.
 */
#include "../explorer.h"
#include <platform/futex.h>

static struct {
    ILK_ATOMIC(uint32_t) word;
    uint32_t data;
} s;

static void setup(void) {
    s.word = 0;
    s.data = 0;
}

static bool take(uint32_t as) {
    uint32_t expected = 0;
    return ilk_atomic_compare_exchange(&s.word, &expected, as, memory_order_acquire, memory_order_relaxed);
}

static void lock(bool remembers_sleepers) {
    if (take(1)) {
        return;
    }
    while (ilk_atomic_exchange(&s.word, 2, memory_order_acquire) != 0) {
        ilk__futex_wait(&s.word, 2, UINT64_MAX);
        if (!remembers_sleepers && take(1)) {
            return;
        }
    }
}

static void unlock(void) {
    if (ilk_atomic_exchange(&s.word, 0, memory_order_release) == 2) {
        ilk__futex_wake(&s.word, 1);
    }
}

static void use(bool remembers_sleepers) {
    lock(remembers_sleepers);
    ilk_plain_write(&s.data, sizeof s.data);
    s.data++;
    unlock();
}

static void user(void) {
    use(true);
}
static void forgetful_user(void) {
    use(false);
}

static void check(void) {
    ex_assert(s.data == 3);
}

EX_SCENARIO(right){
    .name = "futex-mutex",
    .claim = "three users exclude each other, and all of them end",
    .setup = setup,
    .threads = {user, user, user},
    .check = check,
    .spurious_wakeups = 1,
};

EX_SCENARIO(broken){
    .name = "futex-mutex-broken",
    .claim = "a thread that slept locks with 1, though others may still sleep",
    .setup = setup,
    .threads = {forgetful_user, forgetful_user, forgetful_user},
    .check = check,
    .finds = EX_LOST_WAKEUP,
};
