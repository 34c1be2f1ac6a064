/* SPDX-License-Identifier: Apache-2.0
 *
 * A reader slot that a thread claims on first use. An exit hook gives it back: the next thread waits for it.
 */
#include "../explorer.h"
#include <platform/exit.h>
#include <platform/futex.h>

static struct {
    ILK_ATOMIC(uint32_t) taken;
    uint32_t data;
} s;

static void setup(void) {
    s.taken = 0;
    s.data = 0;
}

static void give_back(void *context) {
    (void)context;
    ilk_atomic_store(&s.taken, 0, memory_order_release);
    ilk__futex_wake(&s.taken, 1);
}

static void use_slot(bool gives_back) {
    while (ilk_atomic_exchange(&s.taken, 1, memory_order_acquire) != 0) {
        ilk__futex_wait(&s.taken, 1, UINT64_MAX);
    }
    if (gives_back) {
        ex_assert(ilk__at_thread_exit(give_back, NULL));
    }
    ilk_plain_write(&s.data, sizeof s.data);
    s.data++;
}

static void user(void) {
    use_slot(true);
}
static void keeper(void) {
    use_slot(false);
}

EX_SCENARIO(right){
    .name = "thread-exit",
    .claim = "a thread's slot is free for another when it ends",
    .setup = setup,
    .threads = {user, user},
    .sc_bound = EX_UNBOUNDED,
    .weak_bound = EX_UNBOUNDED,
};

EX_SCENARIO(broken){
    .name = "thread-exit-broken",
    .claim = "the slot of a thread that ended is never given back",
    .setup = setup,
    .threads = {keeper, keeper},
    .finds = EX_DEADLOCK,
};
