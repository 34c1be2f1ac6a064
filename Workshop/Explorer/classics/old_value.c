/* SPDX-License-Identifier: Apache-2.0
 *
 * A register whose reader answers an old value: for the histories of scenarios (history/). A read that comes after the
 * write, in the weak mode one that knows of it, must not.
 */
#include "../explorer.h"
#include "../history/models.h"

/* A release and an acquire carry that the write has ended; a relaxed reader need not know of it. */
static ILK_ATOMIC(uint32_t) written;

static void setup(void) {
    written = 0;
    ex_history_reset();
}

static void writer(void) {
    const size_t operation = ex_begin(EX_WRITE, 1);
    ex_end(operation, 0);
    ilk_atomic_store(&written, 1, memory_order_release);
}

static void read_as(uint64_t value) {
    const size_t operation = ex_begin(EX_READ, 0);
    ex_end(operation, value);
}
static void reader(void) {
    if (ilk_atomic_load(&written, memory_order_acquire) != 0) {
        read_as(1);
    }
}
static void reader_of_old(void) {
    if (ilk_atomic_load(&written, memory_order_acquire) != 0) {
        read_as(0);
    }
}
static void unaware_reader_of_old(void) {
    if (ilk_atomic_load(&written, memory_order_relaxed) != 0) {
        read_as(0);
    }
}

static void check(void) {
    ex_history_check(&ex_register, NULL);
}

EX_SCENARIO(right){
    .name = "old-value",
    .claim = "a read after the write answers its value",
    .setup = setup,
    .threads = {writer, reader},
    .check = check,
    .sc_bound = EX_UNBOUNDED,
    .weak_bound = EX_UNBOUNDED,
};

EX_SCENARIO(broken){
    .name = "old-value-broken",
    .claim = "the reader answers the value before",
    .setup = setup,
    .threads = {writer, reader_of_old},
    .check = check,
    .finds = EX_ASSERTION,
};

EX_SCENARIO(unaware){
    .name = "old-value-unaware",
    .claim = "the same; nothing tells the reader of the write but time, which the weak mode does not count",
    .setup = setup,
    .threads = {writer, unaware_reader_of_old},
    .check = check,
    .finds = EX_ASSERTION,
    .finds_in = EX_SC,
};
