/* SPDX-License-Identifier: Apache-2.0
 *
 * A queue lock (Mellor-Crummey and Scott, 1991). An owner that unlocks with no successor linked reads the
 * tail: if it is another node, the owner waits for the link.
 */
#include "../explorer.h"

struct node {
    ILK_ATOMIC(struct node *) next;
    ILK_ATOMIC(uint32_t) granted;
};

static struct {
    ILK_ATOMIC(struct node *) tail;
    struct node node[2];
    uint32_t data;
} s;

static void setup(void) {
    s.tail = NULL;
    s.data = 0;
}

static void lock(struct node *me) {
    ilk_atomic_store(&me->next, NULL, memory_order_relaxed);
    ilk_atomic_store(&me->granted, 0, memory_order_relaxed);
    struct node *before = ilk_atomic_exchange(&s.tail, me, memory_order_acq_rel);
    if (before != NULL) {
        ilk_atomic_store(&before->next, me, memory_order_release);
        while (ilk_atomic_load(&me->granted, memory_order_acquire) == 0) {
            ilk_cpu_relax();
        }
    }
}

static void unlock(struct node *me, bool waits_for_link) {
    struct node *next = ilk_atomic_load(&me->next, memory_order_acquire);
    if (next == NULL) {
        struct node *expected = me;
        if (ilk_atomic_compare_exchange(&s.tail, &expected, NULL, memory_order_release,
                                        memory_order_relaxed) ||
            !waits_for_link) {
            return;
        }
        while ((next = ilk_atomic_load(&me->next, memory_order_acquire)) == NULL) {
            ilk_cpu_relax();
        }
    }
    ilk_atomic_store(&next->granted, 1, memory_order_release);
}

static void use(struct node *me, bool waits_for_link) {
    lock(me);
    ilk_plain_write(&s.data, sizeof s.data);
    s.data++;
    unlock(me, waits_for_link);
}

static void first(void) {
    use(&s.node[0], true);
}
static void second(void) {
    use(&s.node[1], true);
}
static void first_broken(void) {
    use(&s.node[0], false);
}
static void second_broken(void) {
    use(&s.node[1], false);
}

EX_SCENARIO(right){
    .name = "mcs-lock",
    .claim = "an unlock hands the lock to the next thread in the queue",
    .setup = setup,
    .threads = {first, second},
    .sc_bound = EX_UNBOUNDED,
    .weak_bound = EX_UNBOUNDED,
};

EX_SCENARIO(broken){
    .name = "mcs-lock-broken",
    .claim = "the owner leaves while its successor is still linking in",
    .setup = setup,
    .threads = {first_broken, second_broken},
    .finds = EX_LIVELOCK,
};
