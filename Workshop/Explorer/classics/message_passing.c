/* SPDX-License-Identifier: Apache-2.0
 *
 * Publishing data by a flag: the store releases, the load acquires.
 */
#include "../explorer.h"

static struct {
    ILK_ATOMIC(uint32_t) flag;
    uint32_t data;
} s;

static void setup(void) {
    s.flag = 0;
    s.data = 0;
}

static void write_data(void) {
    ilk_plain_write(&s.data, sizeof s.data);
    s.data = 42;
}

static void reader(void) {
    if (ilk_atomic_load(&s.flag, memory_order_acquire)) {
        ilk_plain_read(&s.data, sizeof s.data);
        ex_assert(s.data == 42);
    }
}

static void writer(void) {
    write_data();
    ilk_atomic_store(&s.flag, 1, memory_order_release);
}

static void writer_broken(void) {
    write_data();
    ilk_atomic_store(&s.flag, 1, memory_order_relaxed);
}

EX_SCENARIO(right){
    .name = "message-passing",
    .claim = "a thread that sees the flag sees the data",
    .setup = setup,
    .threads = {writer, reader},
    .titles = {"writer", "reader"},
    .sc_bound = EX_UNBOUNDED,
    .weak_bound = EX_UNBOUNDED,
};

EX_SCENARIO(broken){
    .name = "message-passing-broken",
    .claim = "the flag is stored relaxed: a thread that sees it need not see the data",
    .setup = setup,
    .threads = {writer_broken, reader},
    .titles = {"writer", "reader"},
    .finds = EX_RACE,
};
