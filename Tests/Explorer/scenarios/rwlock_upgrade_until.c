/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_rwlock_upgrade_until under the explorer: an upgrade that times out is still an upgradable reader,
 * without a gap, and the waiters that it held back go on; with counted readers and with readers in slots.
 */
#include "../explorer.h"
#include <interlock/rwlock.h>
#include <rwlock/slot_table.h>
#include <string.h>

enum { SOON = 5000, BLOCKS = 4 };

static struct {
    ilk_rwlock lock;
    uint32_t data[2]; /* equal whenever no thread writes */
} s;

static void start_in(uint32_t word) {
    memset(&s, 0, sizeof s);
    s.lock.word = word;
    for (unsigned index = 0; index < BLOCKS; index++) {
        ilk__slot_table.chunks.blocks[index].taken = 1;
    }
    ilk__slot_table.block_count = BLOCKS;
}
static void central(void) {
    start_in(0);
}
static void fenced(void) {
    start_in(ILK__RWLOCK_SLOTS);
}

static void check(void) {
    ex_expect(ilk__rwlock_is_idle(s.lock.word), "the lock's word is 0x%x after every thread has left",
              s.lock.word);
    ex_assert(s.lock.queue == NULL);
    ilk_rwlock_destroy(&s.lock);
}

static void have_block(void) {
    ilk__set_my_slots(&ilk__slot_table.chunks.blocks[ex_thread_index() % BLOCKS]);
}
static uint32_t value(void) {
    ilk_plain_read(s.data, sizeof s.data);
    ex_assert(s.data[0] == s.data[1]);
    return s.data[0];
}
static void change(void) {
    ilk_plain_write(s.data, sizeof s.data);
    s.data[0]++;
    s.data[1]++;
}

static void upgrade_until(void) {
    have_block();
    ilk_rwlock_upgradable_lock(&s.lock);
    uint32_t seen = value();
    if (ilk_rwlock_upgrade_until(&s.lock, SOON) == ILK_OK) {
        ex_expect(value() == seen, "a write came between the upgradable read and the upgrade");
        change();
        ilk_rwlock_write_unlock(&s.lock);
        return;
    }
    ex_expect(value() == seen, "a write came in beside an upgradable reader");
    ilk_rwlock_upgradable_unlock(&s.lock);
}
static void read(void) {
    have_block();
    ilk_rwlock_read_lock(&s.lock);
    value();
    ilk_rwlock_read_unlock(&s.lock);
}
static void write(void) {
    have_block();
    ilk_rwlock_write_lock(&s.lock);
    change();
    ilk_rwlock_write_unlock(&s.lock);
}
static void upgradable(void) {
    have_block();
    ilk_rwlock_upgradable_lock(&s.lock);
    value();
    ilk_rwlock_upgradable_unlock(&s.lock);
}

#define UPGRADE_UNTIL(mode, identifier, ...)                                                                 \
    EX_SCENARIO(mode##_##identifier) {                                                                       \
        .name = "rwlock-upgrade_until-" #mode "-" #identifier,                                               \
        .claim = "a late upgrade is still upgradable, and holds no thread back", .setup = mode,              \
        .threads = {upgrade_until, __VA_ARGS__}, .check = check, .timeouts = 1, .spurious_wakeups = 1        \
    }
#define IN_BOTH(identifier, ...)                                                                             \
    UPGRADE_UNTIL(central, identifier, __VA_ARGS__);                                                         \
    UPGRADE_UNTIL(fenced, identifier, __VA_ARGS__)

IN_BOTH(read, read);
IN_BOTH(read_read, read, read);
IN_BOTH(write, write);
IN_BOTH(read_write, read, write);
IN_BOTH(read_upgradable, read, upgradable);
IN_BOTH(read_upgrade_until, read, upgrade_until);
