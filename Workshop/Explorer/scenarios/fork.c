/* SPDX-License-Identifier: Apache-2.0
 *
 * fork beside threads in the middle of an operation on process-wide state: the park table, names, a mutex.
 * rwlock_slots.c has fork beside reader slots.
 */
/* contract: park.E */
#include "../explorer.h"
#include <interlock/diagnostics.h>
#include <interlock/mutex.h>
#include <interlock/park.h>
#include <string.h>

static struct {
    ILK_ATOMIC(uint32_t) word;
    ilk_mutex mutex;
    uint32_t data[2]; /* guarded by the mutex; equal */
    int named, also_named;
} s;

static void start(void) {
    memset(&s, 0, sizeof s);
}

/* ---- Sleepers ---- */

static void sleep_until_set(void) {
    while (ilk_atomic_load(&s.word, memory_order_acquire) == 0) {
        (void)ilk_park_wait(&s.word, 0, ILK_FOREVER);
    }
}

static void set_and_wake(void) {
    ilk_atomic_store(&s.word, 1, memory_order_release);
    ilk_park_wake(&s.word, ILK_PARK_ALL);
}

static void fork_wake_and_sleep(void) {
    ex_fork();
    ilk_park_wake(&s.word, ILK_PARK_ALL);
    uint32_t now = ilk_atomic_load(&s.word, memory_order_relaxed);
    (void)ilk_park_wait(&s.word, now, ilk_deadline_in_ns(1000));
}

EX_SCENARIO(park){
    .name = "fork-beside-sleeper-and-waker",
    .claim = "the child can wake and sleep by the same word",
    .setup = start,
    .threads = {sleep_until_set, set_and_wake, fork_wake_and_sleep},
    .titles = {"sleeper", "waker", "forker"},
};

/* ---- Names ---- */

static void name_twice(void) {
    ex_assert(ilk_set_name(&s.named, "first") == ILK_OK);
    ex_assert(ilk_set_name(&s.named, "second") == ILK_OK);
    ex_assert(ilk_set_name(&s.named, NULL) == ILK_OK);
}

static void fork_and_name(void) {
    ex_fork();
    char name[ILK_NAME_SIZE];
    bool has_name = ilk_get_name(&s.named, name, sizeof name);
    ex_assert(!has_name || strcmp(name, "first") == 0 || strcmp(name, "second") == 0);
    ex_assert(ilk_set_name(&s.also_named, "in the child") == ILK_OK);
    ex_assert(ilk_set_name(&s.named, NULL) == ILK_OK);
    ex_assert(!ilk_get_name(&s.named, name, sizeof name));
    ex_assert(ilk_set_name(&s.also_named, NULL) == ILK_OK);
}

EX_SCENARIO(names){
    .name = "fork-beside-naming",
    .claim = "the child has the names, whole, and can give and ask for them",
    .setup = start,
    .threads = {name_twice, fork_and_name},
    .titles = {"namer", "forker"},
};

/* ---- A mutex ---- */

static void change(void) {
    ilk_plain_write(s.data, sizeof s.data);
    s.data[0]++;
    ilk_plain_write(s.data, sizeof s.data);
    s.data[1]++;
}

static void lock_and_change(void) {
    ilk_mutex_lock(&s.mutex);
    change();
    ilk_mutex_unlock(&s.mutex);
}

static void fork_inside_and_change(void) {
    ilk_mutex_lock(&s.mutex);
    ex_fork();
    ilk_plain_read(s.data, sizeof s.data);
    ex_assert(s.data[0] == s.data[1]);
    ilk_mutex_unlock(&s.mutex);
    lock_and_change();
}

EX_SCENARIO(mutex){
    .name = "fork-holding-mutex",
    .claim = "the child unlocks the mutex that its thread owned, whatever others did with it",
    .setup = start,
    .threads = {lock_and_change, lock_and_change, fork_inside_and_change},
    .titles = {"locker", "locker", "forker"},
};

EX_MUST_REACH(states){
    {"fork-*", {EX_FORKED}},
};
