/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_rwlock_upgrade_until: a timed-out upgrade is still an upgradable reader, without a gap, and the waiters
 * that it held back go on; with counted readers and with slots.
 */
/* contract: rwlock.C, rwlock.D */
#include "rwlock_data.h"

static void central(void) {
    start_in(0, true);
}
static void fenced(void) {
    start_in(ILK__RWLOCK_SLOTS, true);
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

EX_MUST_REACH(states){
    {"rwlock-*read_upgradable",
     {EX_LOCK_READER_WAITS, EX_LOCK_UPGRADABLE_WAITS, EX_LOCK_TO_READERS, EX_LOCK_TO_EXCLUSIVE}},
    {"rwlock-*read_upgrade_until",
     {EX_LOCK_READER_WAITS, EX_LOCK_UPGRADABLE_WAITS, EX_LOCK_UPGRADE_WAITS, EX_LOCK_TO_READERS,
      EX_LOCK_TO_EXCLUSIVE, EX_LOCK_TO_UPGRADE}},
    {"rwlock-upgrade_until-*read", {EX_LOCK_READER_WAITS, EX_LOCK_TO_READERS}},
    {"rwlock-upgrade_until-*read_write",
     {EX_LOCK_READER_WAITS, EX_LOCK_WRITER_WAITS, EX_LOCK_UPGRADABLE_WAITS, EX_LOCK_UPGRADE_WAITS,
      EX_LOCK_TO_READERS, EX_LOCK_TO_EXCLUSIVE, EX_LOCK_TO_UPGRADE}},
    {"rwlock-upgrade_until-*write", {EX_LOCK_WRITER_WAITS, EX_LOCK_UPGRADABLE_WAITS, EX_LOCK_TO_EXCLUSIVE}},
    {"rwlock-upgrade_until-central-*read", {EX_LOCK_UPGRADE_WAITS, EX_LOCK_TO_UPGRADE}},
    {"rwlock-upgrade_until-fenced-*read", {EX_SLOT_WRITER_SLEEPS, EX_SLOT_WRITER_WOKEN}},
    {"rwlock-upgrade_until-fenced-read_upgrade_until",
     {EX_LOCK_LATE_IN_QUEUE, EX_LOCK_LATE_FOR_SLOT, EX_SLOT_WRITER_SLEEPS, EX_SLOT_WRITER_WOKEN}},
};
