/* SPDX-License-Identifier: Apache-2.0
 *
 * A lock and the plain data that it guards, for the scenarios of ilk_rwlock: a wrong admission is a data race
 * or a broken sum.
 */
#ifndef EXPLORER_SCENARIOS_RWLOCK_DATA_H
#define EXPLORER_SCENARIOS_RWLOCK_DATA_H

#include "../explorer.h"
#include <interlock/rwlock.h>
#include <rwlock/slot_table.h>
#include <string.h>

enum { SOON = 5000 }; /* a deadline ahead of the model's clock, which starts at 1,000 */
enum { BLOCKS = 4 };

static struct {
    ilk_rwlock lock;
    uint32_t data[2]; /* equal whenever no thread writes */
    uint32_t writes;  /* that should have happened */
} s;

/* The first blocks of the table, which is restored before each execution. */
static struct ilk__slot_block *const blocks = ilk__slot_table.chunks.blocks;

/* The lock's word is `word`, and have_block() has a block of reader slots for every thread. */
static inline void start_in(uint32_t word) {
    memset(&s, 0, sizeof s);
    s.lock.word = word;
    for (unsigned index = 0; index < BLOCKS; index++) {
        blocks[index].taken = 1;
    }
    ilk__slot_table.block_count = BLOCKS;
}

/* The calling thread gets its block, as if it had read before. */
static inline void have_block(void) {
    ilk__set_my_slots(&blocks[ex_thread_index() % BLOCKS]);
}

static inline uint32_t value(void) {
    ilk_plain_read(s.data, sizeof s.data);
    ex_assert(s.data[0] == s.data[1]);
    return s.data[0];
}

static inline void change(void) {
    ilk_plain_write(s.data, sizeof s.data);
    s.data[0]++;
    s.data[1]++;
    s.writes++;
}

/* At the end no thread is inside or in the queue, no waiter has left a trace, and every write is counted. */
static inline void check_idle(void) {
    ex_assert(s.data[0] == s.writes && s.data[1] == s.writes);
    ex_expect(ilk__rwlock_is_idle(s.lock.word), "the lock's word is 0x%x after every thread has left",
              s.lock.word);
    ex_assert(s.lock.queue == NULL);
}
static inline void check(void) {
    check_idle();
    ilk_rwlock_destroy(&s.lock);
}

#endif
