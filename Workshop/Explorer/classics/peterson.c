/* SPDX-License-Identifier: Apache-2.0
 *
 * Peterson's lock (1981) for two threads. Each raises its flag, gives the other precedence (`turn`), and
 * waits while the other's flag is up and the other has precedence. Right in C11: an acq_rel exchange gives
 * precedence, so the later thread sees the earlier one's flag (Williams, "Peterson's lock with C++0x
 * atomics", 2008). Textbooks advise a seq_cst fence instead. The modification order of `turn` may be the
 * opposite of the fences' order: the thread of the first fence misses the other's flag, and the other finds
 * itself given precedence. x86 never shows it.
 */
#include "../explorer.h"

static struct {
    ILK_ATOMIC(uint32_t) flag[2];
    ILK_ATOMIC(uint32_t) turn;
    uint32_t data;
} s;

static void setup(void) {
    s.flag[0] = s.flag[1] = s.turn = 0;
    s.data = 0;
}

enum variant { EXCHANGE, STORE, STORE_AND_FENCE };

static void enter_and_leave(unsigned me, enum variant variant) {
    unsigned other = 1 - me;
    ilk_atomic_store(&s.flag[me], 1, memory_order_relaxed);
    if (variant == EXCHANGE) {
        (void)ilk_atomic_exchange(&s.turn, other, memory_order_acq_rel);
    } else {
        ilk_atomic_store(&s.turn, other, memory_order_release);
    }
    if (variant == STORE_AND_FENCE) {
        ilk_atomic_fence(memory_order_seq_cst);
    }
    while (ilk_atomic_load(&s.flag[other], memory_order_acquire) == 1 &&
           ilk_atomic_load(&s.turn, memory_order_acquire) == other) {
        ilk_cpu_relax();
    }
    ilk_plain_write(&s.data, sizeof s.data);
    s.data++;
    ilk_atomic_store(&s.flag[me], 0, memory_order_release);
}

static void left(void) {
    enter_and_leave(0, EXCHANGE);
}
static void right(void) {
    enter_and_leave(1, EXCHANGE);
}
static void left_store(void) {
    enter_and_leave(0, STORE);
}
static void right_store(void) {
    enter_and_leave(1, STORE);
}
static void left_fence(void) {
    enter_and_leave(0, STORE_AND_FENCE);
}
static void right_fence(void) {
    enter_and_leave(1, STORE_AND_FENCE);
}

static void check(void) {
    ex_assert(s.data == 2);
}

EX_SCENARIO(exchange){
    .name = "peterson",
    .claim = "one thread at a time is inside",
    .setup = setup,
    .threads = {left, right},
    .check = check,
    .sc_bound = EX_UNBOUNDED,
    .weak_bound = EX_UNBOUNDED,
};

EX_SCENARIO(store){
    .name = "peterson-broken",
    .claim = "nothing orders raising one's flag before reading the other's: both get in",
    .setup = setup,
    .threads = {left_store, right_store},
    .check = check,
    .finds = EX_RACE,
    .finds_in = EX_WEAK,
};

EX_SCENARIO(store_and_fence){
    .name = "peterson-broken-in-spite-of-fence",
    .claim = "a fence there does not order the two stores to turn: both get in",
    .setup = setup,
    .threads = {left_fence, right_fence},
    .check = check,
    .finds = EX_RACE,
    .finds_in = EX_WEAK,
};
