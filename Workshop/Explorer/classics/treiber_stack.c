/* SPDX-License-Identifier: Apache-2.0
 *
 * A stack of nodes by index (Treiber, 1986). Pop moves the top to the top node's successor, which differs if
 * the node was popped and pushed again in between (ABA): a tag beside the index counts every change.
 */
#include "../explorer.h"

enum { NODES = 4, TAG = 16 }; /* the index in the low 16 bits, 0: none; the tag above */

static struct {
    ILK_ATOMIC(uint32_t) top;
    ILK_ATOMIC(uint32_t) next[NODES];
    uint32_t tag_step; /* 0: no tags */
    ILK_ATOMIC(uint32_t) owner[NODES];
} s;

static void begin(uint32_t tag_step) {
    s.tag_step = tag_step;
    /* 1 on top of 2 on top of 3. */
    s.top = 1;
    s.next[1] = 2;
    s.next[2] = 3;
    s.next[3] = 0;
    for (unsigned i = 0; i < NODES; i++) {
        s.owner[i] = 0;
    }
}
static void setup(void) {
    begin(UINT32_C(1) << TAG);
}
static void setup_untagged(void) {
    begin(0);
}

static uint32_t pop(void) {
    for (;;) {
        uint32_t top = ilk_atomic_load(&s.top, memory_order_acquire);
        uint32_t node = top & 0xFFFF;
        if (node == 0) {
            return 0;
        }
        uint32_t next = ilk_atomic_load(&s.next[node], memory_order_relaxed);
        uint32_t tag = (top & ~UINT32_C(0xFFFF)) + s.tag_step;
        if (ilk_atomic_compare_exchange(&s.top, &top, tag | next, memory_order_acq_rel,
                                        memory_order_relaxed)) {
            ex_expect(ilk_atomic_exchange(&s.owner[node], 1, memory_order_relaxed) == 0,
                      "node %u is popped while it has an owner", node);
            return node;
        }
    }
}

static void push(uint32_t node) {
    ilk_atomic_store(&s.owner[node], 0, memory_order_relaxed);
    for (;;) {
        uint32_t top = ilk_atomic_load(&s.top, memory_order_relaxed);
        ilk_atomic_store(&s.next[node], top & 0xFFFF, memory_order_relaxed);
        uint32_t tag = (top & ~UINT32_C(0xFFFF)) + s.tag_step;
        if (ilk_atomic_compare_exchange(&s.top, &top, tag | node, memory_order_release,
                                        memory_order_relaxed)) {
            return;
        }
    }
}

static void popper(void) {
    (void)pop();
    (void)pop();
}

static void shuffler(void) {
    uint32_t a = pop();
    uint32_t b = pop();
    (void)b;
    if (a != 0) {
        push(a);
    }
}

EX_SCENARIO(tagged){
    .name = "treiber-stack",
    .claim = "a node has one owner",
    .setup = setup,
    .threads = {popper, shuffler},
    .titles = {"popper", "shuffler"},
};

EX_SCENARIO(untagged){
    .name = "treiber-stack-broken",
    .claim = "a node popped and pushed again between load and compare-and-swap goes unnoticed",
    .setup = setup_untagged,
    .threads = {popper, shuffler},
    .titles = {"popper", "shuffler"},
    .finds = EX_ASSERTION,
};
