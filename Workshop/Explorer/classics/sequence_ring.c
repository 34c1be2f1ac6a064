/* SPDX-License-Identifier: Apache-2.0
 *
 * A bounded ring with a sequence number per slot (Vyukov, 2010), capacity 2. Broken: four pops wrap the head
 * to the value that a slow consumer probed, and it takes an element a second time.
 */
#include "../explorer.h"

enum { CAPACITY = 2 };

static struct {
    struct {
        ILK_ATOMIC(uint32_t) sequence;
        ILK_ATOMIC(uint32_t) element; /* atomic: the finding is the wrong answer, not a race */
    } slot[CAPACITY];
    ILK_ATOMIC(uint32_t) head, tail;
    uint32_t mask; /* positions are modulo this plus 1 */
    uint32_t taken[8];
    uint32_t slow;
} s;

static void begin(uint32_t mask) {
    for (uint32_t i = 0; i < CAPACITY; i++) {
        s.slot[i].sequence = i;
        s.slot[i].element = 0;
    }
    s.head = s.tail = 0;
    s.mask = mask;
    s.slow = 0;
    for (unsigned i = 0; i < 8; i++) {
        s.taken[i] = 0;
    }
    /* One element from the start: number 1. */
    s.slot[0].element = 1;
    s.slot[0].sequence = 1;
    s.tail = 1;
}

static void setup(void) {
    begin(UINT32_MAX);
}
static void setup_narrow(void) {
    begin(3);
}

static bool push(uint32_t element) {
    uint32_t tail = ilk_atomic_load(&s.tail, memory_order_relaxed);
    uint32_t i = tail % CAPACITY;
    if (ilk_atomic_load(&s.slot[i].sequence, memory_order_acquire) != tail ||
        !ilk_atomic_compare_exchange(&s.tail, &tail, (tail + 1) & s.mask, memory_order_relaxed,
                                     memory_order_relaxed)) {
        return false;
    }
    ilk_atomic_store(&s.slot[i].element, element, memory_order_relaxed);
    ilk_atomic_store(&s.slot[i].sequence, (tail + 1) & s.mask, memory_order_release);
    return true;
}

static uint32_t pop(void) {
    uint32_t head = ilk_atomic_load(&s.head, memory_order_relaxed);
    uint32_t i = head % CAPACITY;
    if (ilk_atomic_load(&s.slot[i].sequence, memory_order_acquire) != ((head + 1) & s.mask) ||
        !ilk_atomic_compare_exchange(&s.head, &head, (head + 1) & s.mask, memory_order_relaxed,
                                     memory_order_relaxed)) {
        return 0;
    }
    uint32_t element = ilk_atomic_load(&s.slot[i].element, memory_order_relaxed);
    ilk_atomic_store(&s.slot[i].sequence, (head + CAPACITY) & s.mask, memory_order_release);
    return element;
}

static void slow_consumer(void) {
    s.slow = pop();
}

static void busy_one(void) {
    for (uint32_t i = 0; i < 4; i++) {
        s.taken[i] = pop();
        if (i < 3) {
            (void)push(2 + i);
        }
    }
}

static void check(void) {
    for (unsigned i = 0; i < 4; i++) {
        ex_expect(s.slow == 0 || s.slow != s.taken[i], "element %u was popped twice", s.slow);
    }
}

EX_SCENARIO(wide){
    .name = "sequence-ring",
    .claim = "an element is popped once, however slow a consumer is",
    .setup = setup,
    .threads = {slow_consumer, busy_one},
    .titles = {"slow consumer", "busy one"},
    .check = check,
};

EX_SCENARIO(narrow){
    .name = "sequence-ring-broken",
    .claim = "positions of 2 bits wrap while a consumer is preempted",
    .setup = setup_narrow,
    .threads = {slow_consumer, busy_one},
    .titles = {"slow consumer", "busy one"},
    .check = check,
    .finds = EX_ASSERTION,
};
