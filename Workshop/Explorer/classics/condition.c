/* SPDX-License-Identifier: Apache-2.0
 *
 * A condition variable that counts signals; each waiter keeps the count it began with. Broken: anonymous
 * wake-ups, glibc's bug 25847 without its groups; it takes three threads.
 */
#include "../explorer.h"
#include <platform/futex.h>
#include <platform/native.h>

static struct {
    ilk__native_mutex mutex;
    bool first_may_go, second_may_go;
    uint32_t waiting;
    ILK_ATOMIC(uint32_t) signals;
} s;

static void setup(void) {
    s.mutex = (ilk__native_mutex)ILK__NATIVE_MUTEX_INIT;
    s.first_may_go = s.second_may_go = false;
    s.waiting = 0;
    s.signals = 0;
}

static void wait_right(void) {
    uint32_t seen = ilk_atomic_load(&s.signals, memory_order_relaxed);
    ilk__native_mutex_unlock(&s.mutex);
    ilk__futex_wait(&s.signals, seen, UINT64_MAX);
    ilk__native_mutex_lock(&s.mutex);
}

static void signal_right(void) {
    ilk_atomic_fetch_add(&s.signals, 1, memory_order_relaxed);
    ilk__futex_wake(&s.signals, UINT32_MAX);
}

static void wait_broken(void) {
    s.waiting++;
    ilk__native_mutex_unlock(&s.mutex);
    for (;;) {
        uint32_t there = ilk_atomic_load(&s.signals, memory_order_relaxed);
        if (there == 0) {
            ilk__futex_wait(&s.signals, 0, UINT64_MAX);
        } else if (ilk_atomic_compare_exchange(&s.signals, &there, there - 1, memory_order_relaxed,
                                               memory_order_relaxed)) {
            break;
        }
    }
    ilk__native_mutex_lock(&s.mutex);
}

static void signal_broken(void) {
    if (s.waiting > 0) {
        s.waiting--;
        ilk_atomic_fetch_add(&s.signals, 1, memory_order_relaxed);
        ilk__futex_wake(&s.signals, 1);
    }
}

static void await(const bool *may_go, void (*wait)(void)) {
    ilk__native_mutex_lock(&s.mutex);
    while (!*may_go) {
        wait();
    }
    ilk__native_mutex_unlock(&s.mutex);
}

static void let_go(bool *may_go, void (*signal)(void)) {
    ilk__native_mutex_lock(&s.mutex);
    *may_go = true;
    signal();
    ilk__native_mutex_unlock(&s.mutex);
}

static void first(void) {
    await(&s.first_may_go, wait_right);
}
static void second(void) {
    await(&s.second_may_go, wait_right);
}
static void signaller(void) {
    let_go(&s.first_may_go, signal_right);
    let_go(&s.second_may_go, signal_right);
}
static void first_broken(void) {
    await(&s.first_may_go, wait_broken);
}
static void second_broken(void) {
    await(&s.second_may_go, wait_broken);
}
static void signaller_broken(void) {
    let_go(&s.first_may_go, signal_broken);
    let_go(&s.second_may_go, signal_broken);
}

EX_SCENARIO(right){
    .name = "condition",
    .claim = "a signal reaches a thread that waited when it was sent",
    .setup = setup,
    .threads = {first, second, signaller},
    .titles = {"first", "second", "signaller"},
    .spurious_wakeups = 1,
};

EX_SCENARIO(broken){
    .name = "condition-broken",
    .claim = "a thread that comes after the signal consumes it",
    .setup = setup,
    .threads = {first_broken, second_broken, signaller_broken},
    .titles = {"first", "second", "signaller"},
    .finds = EX_DEADLOCK,
};
