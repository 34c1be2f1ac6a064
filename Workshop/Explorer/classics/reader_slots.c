/* SPDX-License-Identifier: Apache-2.0
 *
 * A lock with reader slots: a reader stores into its slot and probes the writer's flag; the writer raises the
 * flag, calls membarrier, which spares the reader a fence, and probes the slots.
 */
#include "../explorer.h"
#include <platform/membarrier.h>

static struct {
    ILK_ATOMIC(uint32_t) slot, writing;
    uint32_t data[2];
} s;

static void setup(void) {
    s.slot = s.writing = 0;
    s.data[0] = s.data[1] = 0;
}

static void read(bool fences) {
    ilk_atomic_store(&s.slot, 1, memory_order_relaxed);
    if (fences) {
        ilk_atomic_fence(memory_order_seq_cst);
    } else {
        ilk_compiler_fence();
    }
    if (ilk_atomic_load(&s.writing, memory_order_acquire) == 0) {
        ilk_plain_read(s.data, sizeof s.data);
        ex_assert(s.data[0] == s.data[1]);
    }
    ilk_atomic_store(&s.slot, 0, memory_order_release);
}

static void write(bool barrier) {
    ilk_atomic_store(&s.writing, 1, memory_order_relaxed);
    if (barrier && !ilk__membarrier()) {
        ilk_atomic_fence(memory_order_seq_cst);
    }
    while (ilk_atomic_load(&s.slot, memory_order_acquire) != 0) {
        ilk_cpu_relax();
    }
    ilk_plain_write(s.data, sizeof s.data);
    s.data[0]++;
    s.data[1]++;
    ilk_atomic_store(&s.writing, 0, memory_order_release);
}

static void reader(void) {
    read(false);
}
static void fencing_reader(void) {
    read(true);
}
static void writer(void) {
    write(true);
}
static void careless_writer(void) {
    write(false);
}

EX_SCENARIO(right){
    .name = "reader-slots",
    .claim = "no reader is inside while the writer writes",
    .setup = setup,
    .threads = {reader, writer},
    .titles = {"reader", "writer"},
    .sc_bound = EX_UNBOUNDED,
    .weak_bound = EX_UNBOUNDED,
};

EX_SCENARIO(refused){
    .name = "reader-slots-membarrier-refused",
    .claim = "where membarrier is refused, fences on both sides suffice",
    .setup = setup,
    .threads = {fencing_reader, writer},
    .titles = {"reader", "writer"},
    .sc_bound = EX_UNBOUNDED,
    .weak_bound = EX_UNBOUNDED,
    .refuse_membarrier = true,
};

EX_SCENARIO(broken){
    .name = "reader-slots-broken",
    .claim = "no barrier between raising the writer's flag and probing the slots",
    .setup = setup,
    .threads = {reader, careless_writer},
    .titles = {"reader", "writer"},
    .finds = EX_RACE,
    .finds_in = EX_WEAK,
};
