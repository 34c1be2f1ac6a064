/* SPDX-License-Identifier: Apache-2.0
 *
 * A lock and the plain data that it guards. A wrong admission is a data race or a broken sum, a lost wake-up
 * ends in deadlock.
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
    bool have_blocks; /* every thread has its block of reader slots */
} s;

/* The first blocks of the table, which is restored before each execution. */
static struct ilk__slot_block *const blocks = ilk__slot_table_2.chunks.blocks;

static inline void start_in(uint32_t word, bool have_blocks) {
    memset(&s, 0, sizeof s);
    s.lock.word = word;
    s.have_blocks = have_blocks;
    for (unsigned index = 0; index < BLOCKS; index++) {
        blocks[index].taken = 1;
    }
    ilk__slot_table_2.block_count = BLOCKS;
}

/* Begins a body. */
static inline void have_block(void) {
    if (s.have_blocks) {
        ilk__set_my_slots(&blocks[ex_thread_index() % BLOCKS]);
    }
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

/* At the end no thread is inside or queued, no waiter has left a trace, and every write is counted. */
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

/* ---- Bodies ---- */

static inline void read(void) {
    have_block();
    ilk_rwlock_read_lock(&s.lock);
    value();
    ilk_rwlock_read_unlock(&s.lock);
}
static inline void try_read(void) {
    have_block();
    if (ilk_rwlock_try_read_lock(&s.lock)) {
        value();
        ilk_rwlock_read_unlock(&s.lock);
    }
}
static inline void read_until(void) {
    have_block();
    if (ilk_rwlock_read_lock_until(&s.lock, SOON) == ILK_OK) {
        value();
        ilk_rwlock_read_unlock(&s.lock);
    }
}
static inline void write(void) {
    have_block();
    ilk_rwlock_write_lock(&s.lock);
    change();
    ilk_rwlock_write_unlock(&s.lock);
}
static inline void try_write(void) {
    have_block();
    if (ilk_rwlock_try_write_lock(&s.lock)) {
        change();
        ilk_rwlock_write_unlock(&s.lock);
    }
}
static inline void write_until(void) {
    have_block();
    if (ilk_rwlock_write_lock_until(&s.lock, SOON) == ILK_OK) {
        change();
        ilk_rwlock_write_unlock(&s.lock);
    }
}
static inline void upgradable(void) {
    have_block();
    ilk_rwlock_upgradable_lock(&s.lock);
    value();
    ilk_rwlock_upgradable_unlock(&s.lock);
}
static inline void read_twice(void) {
    read();
    read();
}
static inline void write_twice(void) {
    write();
    write();
}

#endif
