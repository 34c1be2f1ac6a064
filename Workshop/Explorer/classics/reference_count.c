/* SPDX-License-Identifier: Apache-2.0
 *
 * Freeing by the last of several owners. Each decrement releases its owner's uses; the last acquires the
 * others'.
 */
#include "../explorer.h"

struct object {
    ILK_ATOMIC(uint32_t) owners;
    uint32_t data[2];
};

static struct { struct object *object; } s;

static void setup(void) {
    s.object = ex_allocate(sizeof *s.object, 16);
    s.object->owners = 2;
}

static void let_go(int order, int fence) {
    if (ilk_atomic_fetch_sub(&s.object->owners, 1, order) == 1) {
        if (fence != memory_order_relaxed) {
            ilk_atomic_fence(fence);
        }
        ex_free(s.object);
    }
}

static void use(unsigned which) {
    ilk_plain_write(&s.object->data[which], sizeof s.object->data[which]);
    s.object->data[which] = 1;
}

static void first(void) {
    use(0);
    let_go(memory_order_release, memory_order_acquire);
}
static void second(void) {
    use(1);
    let_go(memory_order_release, memory_order_acquire);
}
static void first_broken(void) {
    use(0);
    let_go(memory_order_relaxed, memory_order_relaxed);
}
static void second_broken(void) {
    use(1);
    let_go(memory_order_relaxed, memory_order_relaxed);
}

EX_SCENARIO(right){
    .name = "reference-count",
    .claim = "the last owner frees after every owner's last use",
    .setup = setup,
    .threads = {first, second},
    .sc_bound = EX_UNBOUNDED,
    .weak_bound = EX_UNBOUNDED,
};

EX_SCENARIO(broken){
    .name = "reference-count-broken",
    .claim = "counting down relaxed orders nothing",
    .setup = setup,
    .threads = {first_broken, second_broken},
    .finds = EX_RACE,
};
