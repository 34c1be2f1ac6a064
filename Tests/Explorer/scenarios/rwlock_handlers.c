/* SPDX-License-Identifier: Apache-2.0
 *
 * A signal handler that uses locks between any two steps of a call: it may read under another lock than the one it
 * has interrupted a call on.
 */
#include "rwlock_data.h"
#include <interlock/inline/my_slots.h>

static ilk_rwlock other;

/* No thread has a block yet; one did. */
static void setup(void) {
    start_in(ILK__RWLOCK_SLOTS, false);
    memset(blocks, 0, BLOCKS * sizeof *blocks);
    ilk__slot_table.block_count = 1;
    other = (ilk_rwlock){.word = ILK__RWLOCK_SLOTS};
}

static void read_other(void) {
    ilk_rwlock_read_lock(&other);
    ilk_rwlock_read_unlock(&other);
}

/* A second one would be taken for good: at its end the thread gives back what it knows of. */
static void check_blocks(void) {
    check_idle();
    for (unsigned index = 0; index < BLOCKS; index++) {
        ex_expect(blocks[index].taken == 0, "block %u is taken by a thread that has ended", index);
    }
}

#define HANDLER(identifier, first, second)                                                                   \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "rwlock-handler-in-" #first "-" #second,                                                     \
        .claim = "a thread has one block of slots, though its handler takes it", .setup = setup,             \
        .threads = {first, second}, .titles = {#first, #second}, .check = check_blocks,                      \
        .handler = read_other                                                                                \
    }

HANDLER(handler_read, read, write);
HANDLER(handler_write, write, read);
HANDLER(handler_read_read, read, read);

EX_MUST_REACH(states){
    {"rwlock-handler-*", {EX_HANDLER_RAN, EX_SLOT_BLOCK_FREED}},
};
