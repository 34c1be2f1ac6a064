/* SPDX-License-Identifier: Apache-2.0
 *
 * Further reads in a slot (rwlock/further_reads.c): a thread that reads tries once more, and gives one of the two up,
 * beside writers. It still reads.
 */
#include "rwlock_data.h"

static void fenced(void) {
    start_in(ILK__RWLOCK_SLOTS, true);
}
static void fence_free(void) {
    start_in(ILK__RWLOCK_SLOTS | ILK__RWLOCK_FENCE_FREE, true);
}

static void read_further(void) {
    have_block();
    ilk_rwlock_read_lock(&s.lock);
    const uint32_t seen = value();
    if (ilk_rwlock_try_read_lock(&s.lock)) {
        ilk_rwlock_read_unlock(&s.lock);
    }
    ex_expect(value() == seen, "a write came in beside a reader that gave up one of two shares");
    ilk_rwlock_read_unlock(&s.lock);
}

static void check_slots_free(void) {
    for (unsigned index = 0; index < BLOCKS; index++) {
        ex_assert(ilk__slot_is_free(blocks[index].slots[ilk__rwlock_slot_number(&s.lock)]));
    }
    check();
}

#define FURTHER(mode, identifier, ...)                                                                       \
    EX_SCENARIO(mode##_##identifier) {                                                                       \
        .name = "rwlock-further-" #mode "-" #identifier,                                                     \
        .claim = "a thread that gives up one of two shares in its slot keeps writers out", .setup = mode,    \
        .threads = {read_further, __VA_ARGS__}, .check = check_slots_free, .timeouts = 1                     \
    }
#define IN_BOTH(identifier, ...)                                                                             \
    FURTHER(fenced, identifier, __VA_ARGS__);                                                                \
    FURTHER(fence_free, identifier, __VA_ARGS__)

IN_BOTH(write, write);
IN_BOTH(try_write, try_write);
IN_BOTH(write_until, write_until);
IN_BOTH(write_write, write, write);

EX_MUST_REACH(states){
    {"rwlock-further-*", {EX_SLOT_READ_FURTHER, EX_SLOT_FURTHER_REFUSED}},
};
