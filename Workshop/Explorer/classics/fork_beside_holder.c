/* SPDX-License-Identifier: Apache-2.0
 *
 * Forking while another thread owns a mutex: a fork handler locks it first and unlocks it in the child.
 * Broken: no handler.
 */
#include "../explorer.h"
#include <platform/native.h>

int ex_at_fork(void (*prepare)(void), void (*parent)(void), void (*child)(void));

static struct {
    ilk__native_mutex mutex;
    uint32_t data;
} s;

static void lock(void) {
    ilk__native_mutex_lock(&s.mutex);
}
static void unlock(void) {
    ilk__native_mutex_unlock(&s.mutex);
}

static void setup_unprepared(void) {
    s.mutex = (ilk__native_mutex)ILK__NATIVE_MUTEX_INIT;
    s.data = 0;
}
static void setup(void) {
    setup_unprepared();
    ex_at_fork(lock, unlock, unlock);
}

static void holder(void) {
    lock();
    ilk_plain_write(&s.data, sizeof s.data);
    s.data++;
    unlock();
}

static void forker(void) {
    ex_fork();
    lock();
    ilk_plain_write(&s.data, sizeof s.data);
    s.data++;
    unlock();
}

EX_SCENARIO(right){
    .name = "fork-beside-holder",
    .claim = "the child can take the mutex",
    .setup = setup,
    .threads = {holder, forker},
    .titles = {"holder", "forker"},
    .sc_bound = EX_UNBOUNDED,
    .weak_bound = EX_UNBOUNDED,
};

EX_SCENARIO(broken){
    .name = "fork-beside-holder-broken",
    .claim = "the child waits for an owner it does not have",
    .setup = setup_unprepared,
    .threads = {holder, forker},
    .titles = {"holder", "forker"},
    .finds = EX_DEADLOCK,
};
