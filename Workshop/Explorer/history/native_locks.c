/* SPDX-License-Identifier: Apache-2.0
 *
 * Histories of real threads: the semaphore, and a map under the reader-writer lock, taken in every way.
 */
#include "native.h"
#include <interlock/inline/read_section.h>
#include <interlock/semaphore.h>
#include <string.h>

static const uint32_t permits = 1;
static ilk_semaphore semaphore;

static void prepare_semaphore(void) {
    ilk_semaphore_init(&semaphore, permits);
}
/* Waits until a limit first, every other time, then without; the next turn signals, a microsecond later, for others to
 * wait. */
static void semaphore_turn(unsigned thread, uint64_t random, uint64_t number) {
    (void)thread;
    bool is_done = false;
    for (uint64_t pauses = number % 2 * (random % 64); pauses > 0; pauses--) {
        ilk_cpu_relax();
    }
    if (number % 2 == 0 && random % 2 == 0) {
        const size_t operation = ex_begin(EX_WAIT, 1);
        const uint64_t deadline_ns = soon(random / 2);
        is_done = ilk_semaphore_wait_until(&semaphore, deadline_ns) == ILK_OK;
        if (!is_done) {
            ex_not_early(deadline_ns);
        }
        ex_end(operation, is_done ? EX_DONE : EX_TIMEDOUT);
    }
    if (!is_done) {
        const bool waits = number % 2 == 0;
        const size_t operation = ex_begin(waits ? EX_WAIT : EX_SIGNAL, 1);
        if (waits) {
            ilk_semaphore_wait(&semaphore);
        } else {
            ilk_semaphore_signal(&semaphore, 1);
        }
        ex_end(operation, EX_DONE);
    }
}

/* ---- A map under a lock ---- */

static ilk_rwlock lock;
/* Twice, not written at once: a reader beside a writer may see them differ. */
static struct { volatile uint32_t value, again; } map[EX_MAP_KEYS];
#define TORN UINT32_C(0xFFFFFFFF) /* no value */

static void prepare_map(void) {
    ilk_rwlock_init(&lock);
    memset(map, 0, sizeof map);
}
static void prepare_plain_map(void) {
    ilk_rwlock_init_plain(&lock);
    memset(map, 0, sizeof map);
}

static uint32_t look_up(unsigned key) {
    const uint32_t value = map[key].value;
    ilk_cpu_relax();
    return map[key].again == value ? value : TORN;
}
static uint32_t exchange(unsigned key, uint32_t value) {
    const uint32_t before = look_up(key);
    map[key].value = value;
    ilk_cpu_relax();
    map[key].again = value;
    return before;
}

/* A try or a deadline that fails leaves it to the call that waits. */
static void read_lock(uint64_t random) {
    if (!(random % 4 == 0 && ilk_rwlock_try_read_lock(&lock)) &&
        !(random % 4 == 1 && ilk_rwlock_read_lock_until(&lock, soon(random / 4)) == ILK_OK)) {
        ilk_rwlock_read_lock(&lock);
    }
}
static void write_lock(uint64_t random) {
    if (!(random % 4 == 0 && ilk_rwlock_try_write_lock(&lock)) &&
        !(random % 4 == 1 && ilk_rwlock_write_lock_until(&lock, soon(random / 4)) == ILK_OK)) {
        ilk_rwlock_write_lock(&lock);
    }
}
static void upgradable_lock(uint64_t random) {
    if (random % 2 == 0 || ilk_rwlock_upgradable_lock_until(&lock, soon(random / 2)) != ILK_OK) {
        ilk_rwlock_upgradable_lock(&lock);
    }
}

static uint32_t get(unsigned key, uint64_t random) {
    uint32_t value;
    if (random % 4 == 0) {
        ilk__read_section section = ilk__read_section_begin(&lock);
        value = look_up(key);
        ilk__read_section_end(&lock, section);
    } else if (random % 4 == 1) {
        upgradable_lock(random / 4);
        value = look_up(key);
        ilk_rwlock_upgradable_unlock(&lock);
    } else {
        read_lock(random / 4);
        value = look_up(key);
        ilk_rwlock_read_unlock(&lock);
    }
    return value;
}

/* The value before. No writer comes between an upgradable lock and its upgrade, nor behind a downgrade. */
static uint32_t put(unsigned key, uint32_t value, uint64_t random) {
    uint32_t before;
    if (random % 4 == 0) {
        upgradable_lock(random / 4);
        before = look_up(key);
        if (random / 16 % 2 == 0 || ilk_rwlock_upgrade_until(&lock, soon(random / 32)) != ILK_OK) {
            ilk_rwlock_upgrade(&lock);
        }
        (void)exchange(key, value);
        ilk_rwlock_write_unlock(&lock);
    } else if (random % 4 == 1) {
        write_lock(random / 4);
        before = exchange(key, value);
        ilk_rwlock_downgrade(&lock);
        before = look_up(key) == value ? before : TORN;
        ilk_rwlock_read_unlock(&lock);
    } else {
        write_lock(random / 4);
        before = exchange(key, value);
        ilk_rwlock_write_unlock(&lock);
    }
    return before;
}

/* Every other stretch hardly writes: the readers move to slots. */
static void map_turn(unsigned thread, uint64_t random, uint64_t number) {
    const unsigned key = (unsigned)(random / 16 % EX_MAP_KEYS);
    const bool writes = random % 4 == 0 && (number / 8192 % 2 == 0 || random / 256 % 64 == 0);
    const unsigned kind = !writes ? EX_GET : random % 16 == 0 ? EX_REMOVE : EX_PUT;
    const uint32_t value = kind == EX_PUT ? (uint32_t)(number * MOST_THREADS + thread + 1) : 0;
    const size_t operation = ex_begin(kind, (uint64_t)key << 32 | value);
    ex_end(operation, kind == EX_GET ? get(key, random / 16384) : put(key, value, random / 16384));
}

const subject lock_subjects[] = {
    {"semaphore", "wait and signal", 0, &ex_semaphore, &permits, prepare_semaphore, semaphore_turn},
    {"semaphore-queue", "the same, more threads", MOST_THREADS, &ex_semaphore, &permits, prepare_semaphore,
     semaphore_turn},
    {"rwlock", "a map under the lock", 0, &ex_map, NULL, prepare_map, map_turn},
    {"rwlock-plain", "a map under a plain lock", 0, &ex_map, NULL, prepare_plain_map, map_turn},
    {NULL, NULL, 0, NULL, NULL, NULL, NULL},
};
