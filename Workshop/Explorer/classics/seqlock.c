/* SPDX-License-Identifier: Apache-2.0
 *
 * A sequence lock: the reader keeps two numbers if the sequence was even and the same before and after. An
 * acquire fence stands between reading the data and the recheck (Boehm, "Can seqlocks get along with
 * programming language memory models?", 2012), which otherwise may read an old sequence.
 */
#include "../explorer.h"

static struct { ILK_ATOMIC(uint32_t) sequence, left, right; } s;

static void setup(void) {
    s.sequence = s.left = s.right = 0;
}

static void writer(void) {
    for (uint32_t i = 1; i <= 2; i++) {
        ilk_atomic_store(&s.sequence, 2 * i - 1, memory_order_relaxed);
        ilk_atomic_fence(memory_order_release);
        ilk_atomic_store(&s.left, i, memory_order_relaxed);
        ilk_atomic_store(&s.right, i, memory_order_relaxed);
        ilk_atomic_store(&s.sequence, 2 * i, memory_order_release);
    }
}

static void read(bool fenced) {
    uint32_t before = ilk_atomic_load(&s.sequence, memory_order_acquire);
    uint32_t left = ilk_atomic_load(&s.left, memory_order_relaxed);
    uint32_t right = ilk_atomic_load(&s.right, memory_order_relaxed);
    if (fenced) {
        ilk_atomic_fence(memory_order_acquire);
    }
    uint32_t after = ilk_atomic_load(&s.sequence, memory_order_relaxed);
    if (before == after && before % 2 == 0) {
        ex_expect(left == right, "the reader keeps %u and %u", left, right);
    }
}

static void reader(void) {
    read(true);
}
static void unfenced_reader(void) {
    read(false);
}

EX_SCENARIO(right){
    .name = "seqlock",
    .claim = "what a reader keeps is not torn",
    .setup = setup,
    .threads = {writer, reader},
    .titles = {"writer", "reader"},
    .sc_bound = EX_UNBOUNDED,
    .weak_bound = 4,
};

EX_SCENARIO(broken){
    .name = "seqlock-broken",
    .claim = "no fence before the recheck of the sequence",
    .setup = setup,
    .threads = {writer, unfenced_reader},
    .titles = {"writer", "reader"},
    .finds = EX_ASSERTION,
    .finds_in = EX_WEAK,
};
