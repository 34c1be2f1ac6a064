/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_recursive_mutex: the owner's further locks, beside another thread.
 */
/* contract: recursive_mutex.E */
#include "work.h"
#include <interlock/recursive_mutex.h>

static struct {
    ilk_recursive_mutex mutex;
    uint32_t expected; /* pieces of work done under the mutex */
} s;

static void setup_recursive(void) {
    ilk_recursive_mutex_init(&s.mutex, false);
    begin_work();
    s.expected = 0;
}
static void do_piece(void) {
    do_work(0);
    s.expected++;
}
static void lock_twice(void) {
    ilk_recursive_mutex_lock(&s.mutex);
    do_piece();
    ilk_recursive_mutex_lock(&s.mutex);
    do_piece();
    ilk_recursive_mutex_unlock(&s.mutex);
    do_piece();
    ilk_recursive_mutex_unlock(&s.mutex);
}
static void lock_once(void) {
    ilk_recursive_mutex_lock(&s.mutex);
    do_piece();
    ilk_recursive_mutex_unlock(&s.mutex);
}
static void try_twice(void) {
    if (!ilk_recursive_mutex_try_lock(&s.mutex)) {
        return;
    }
    ex_assert(ilk_recursive_mutex_lock_until(&s.mutex, SOON) == ILK_OK);
    do_piece();
    ex_assert(ilk_recursive_mutex_try_lock(&s.mutex));
    ilk_recursive_mutex_unlock(&s.mutex);
    ilk_recursive_mutex_unlock(&s.mutex);
    do_piece();
    ilk_recursive_mutex_unlock(&s.mutex);
}
static void lock_in_time(void) {
    if (ilk_recursive_mutex_lock_until(&s.mutex, SOON) == ILK_OK) {
        do_piece();
        ilk_recursive_mutex_unlock(&s.mutex);
    }
}
static void check_recursive(void) {
    ex_assert(work[0] == s.expected);
    ex_expect(s.mutex.mutex.word == 0 && s.mutex.more == 0, "word 0x%x, %u more, after every thread has left",
              s.mutex.mutex.word, s.mutex.more);
}

#define RECURSIVE(identifier, text, ...)                                                                     \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "recursive_mutex-" text, .claim = "the unlock of the first lock gives it up, and no other",  \
        .setup = setup_recursive, .threads = {__VA_ARGS__}, .check = check_recursive, .timeouts = 1,         \
        .spurious_wakeups = 1                                                                                \
    }

RECURSIVE(twice_once, "twice-once", lock_twice, lock_once);
RECURSIVE(twice_twice, "twice-twice", lock_twice, lock_twice);
RECURSIVE(twice_try, "twice-try_lock", lock_twice, try_twice);
RECURSIVE(twice_until, "twice-lock_until", lock_twice, lock_in_time);
RECURSIVE(twice_once_try, "twice-once-try_lock", lock_twice, lock_once, try_twice);

EX_MUST_REACH(states){
    {"recursive_mutex-*", {EX_MUTEX_LOCKED_AGAIN, EX_MUTEX_SLEEPS, EX_MUTEX_WAKES}},
    {"recursive_mutex-twice-lock_until", {EX_MUTEX_LATE}},
};
