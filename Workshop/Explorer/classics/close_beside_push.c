/* SPDX-License-Identifier: Apache-2.0
 *
 * Closing a channel beside a push. The count of elements and the closed bit are one word, so a push comes
 * before the close and is drained, or fails.
 */
#include "../explorer.h"

enum { CLOSED = 0x100 };

static struct {
    ILK_ATOMIC(uint32_t) state;         /* right: elements pushed, and CLOSED */
    ILK_ATOMIC(uint32_t) count, closed; /* broken */
    bool pushed;
    uint32_t popped;
} s;

static void setup(void) {
    s.state = s.count = s.closed = 0;
    s.pushed = false;
    s.popped = 0;
}

static void producer(void) {
    uint32_t state = ilk_atomic_load(&s.state, memory_order_relaxed);
    while ((state & CLOSED) == 0) {
        if (ilk_atomic_compare_exchange(&s.state, &state, state + 1, memory_order_release,
                                        memory_order_relaxed)) {
            s.pushed = true;
            return;
        }
    }
}

static void closer(void) {
    ilk_atomic_fetch_or(&s.state, CLOSED, memory_order_relaxed);
}

static void consumer(void) {
    for (;;) {
        uint32_t state = ilk_atomic_load(&s.state, memory_order_acquire);
        s.popped = state & ~(uint32_t)CLOSED;
        if (state & CLOSED) {
            return;
        }
        ilk_cpu_relax();
    }
}

static void hasty_producer(void) {
    if (ilk_atomic_load(&s.closed, memory_order_seq_cst) == 0) {
        ilk_atomic_fetch_add(&s.count, 1, memory_order_seq_cst);
        s.pushed = true;
    }
}

static void hasty_closer(void) {
    ilk_atomic_store(&s.closed, 1, memory_order_seq_cst);
}

static void hasty_consumer(void) {
    for (;;) {
        bool closed = ilk_atomic_load(&s.closed, memory_order_seq_cst) != 0;
        s.popped = ilk_atomic_load(&s.count, memory_order_seq_cst);
        if (closed) {
            return;
        }
        ilk_cpu_relax();
    }
}

static void check(void) {
    ex_expect(s.popped == s.pushed, "%d pushed with success, %u popped", s.pushed, s.popped);
}

EX_SCENARIO(right){
    .name = "close-beside-push",
    .claim = "every element of a push that succeeded is popped",
    .setup = setup,
    .threads = {producer, closer, consumer},
    .titles = {"producer", "closer", "consumer"},
    .check = check,
    .sc_bound = EX_UNBOUNDED,
    .weak_bound = EX_UNBOUNDED,
};

EX_SCENARIO(broken){
    .name = "close-beside-push-broken",
    .claim = "a push that succeeds after a close between probe and push is lost",
    .setup = setup,
    .threads = {hasty_producer, hasty_closer, hasty_consumer},
    .titles = {"producer", "closer", "consumer"},
    .check = check,
    .finds = EX_ASSERTION,
};
