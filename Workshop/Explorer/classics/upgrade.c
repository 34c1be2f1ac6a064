/* SPDX-License-Identifier: Apache-2.0
 *
 * Two threads read a number, upgrade their lock, and write the number plus one. Only one owner may be
 * upgradable; it keeps its share while the readers leave.
 */
#include "../explorer.h"

enum { WRITER = 0x100, UPGRADABLE = 0x200 }; /* readers are counted below */

static struct {
    ILK_ATOMIC(uint32_t) word;
    uint32_t data;
} s;

static void setup(void) {
    s.word = 0;
    s.data = 0;
}

static void move(uint32_t wanted_clear, uint32_t wanted_at_most, uint32_t change) {
    for (;;) {
        uint32_t word = ilk_atomic_load(&s.word, memory_order_relaxed);
        if ((word & wanted_clear) == 0 && (word & 0xFF) <= wanted_at_most &&
            ilk_atomic_compare_exchange(&s.word, &word, word + change, memory_order_acq_rel,
                                        memory_order_relaxed)) {
            return;
        }
        ilk_cpu_relax();
    }
}

static void read_lock(void) {
    move(WRITER, 0xFE, 1);
}
static void give_up(uint32_t share) {
    ilk_atomic_fetch_sub(&s.word, share, memory_order_release);
}

static uint32_t value(void) {
    ilk_plain_read(&s.data, sizeof s.data);
    return s.data;
}

static void put(uint32_t value) {
    ilk_plain_write(&s.data, sizeof s.data);
    s.data = value;
}

static void upgradable_user(void) {
    move(WRITER | UPGRADABLE, 0xFE, UPGRADABLE);
    uint32_t seen = value();
    move(WRITER, 0, WRITER - UPGRADABLE); /* no gap: no other thread is upgradable */
    put(seen + 1);
    give_up(WRITER);
}

static void letting_go_user(void) {
    read_lock();
    uint32_t seen = value();
    give_up(1);
    move(WRITER, 0, WRITER);
    put(seen + 1);
    give_up(WRITER);
}

static void waiting_user(void) {
    read_lock();
    uint32_t seen = value();
    move(WRITER, 1, WRITER - 1);
    put(seen + 1);
    give_up(WRITER);
}

static void check(void) {
    ex_expect(s.data == 2, "two additions made %u", s.data);
}

EX_SCENARIO(right){
    .name = "upgrade",
    .claim = "what was read before the upgrade still holds after it",
    .setup = setup,
    .threads = {upgradable_user, upgradable_user},
    .check = check,
};

EX_SCENARIO(letting_go){
    .name = "upgrade-broken-lets-go",
    .claim = "the lock is free between reading and writing",
    .setup = setup,
    .threads = {letting_go_user, letting_go_user},
    .check = check,
    .finds = EX_ASSERTION,
};

EX_SCENARIO(waiting){
    .name = "upgrade-broken-both-wait",
    .claim = "two readers wait for each other to leave",
    .setup = setup,
    .threads = {waiting_user, waiting_user},
    .check = check,
    .finds = EX_LIVELOCK,
};
