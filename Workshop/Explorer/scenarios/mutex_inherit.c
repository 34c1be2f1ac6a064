/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_mutex with priority inheritance: the kernel keeps its waiters (model/kernel_mutex.c), and in a child of fork its
 * owner has another id. Only where the park layer is the futex.
 */
#include "../history/models.h"
#include "work.h"
#include <interlock/mutex.h>

#if !defined(ILK_PARK_BACKEND_PTHREAD)

static struct {
    ilk_mutex mutex;
    uint32_t expected; /* locks that succeeded */
} s;

static const uint32_t one_owner = 1;

static void setup(void) {
    ex_history_reset();
    ilk_mutex_init(&s.mutex, true);
    begin_work();
    s.expected = 0;
}
static bool lock_by(uint64_t deadline_ns) {
    size_t operation = ex_begin(EX_WAIT, 0);
    bool locked = ilk_mutex_lock_until(&s.mutex, deadline_ns) == ILK_OK;
    ex_end(operation, locked ? EX_DONE : EX_TIMEDOUT);
    return locked;
}
static void unlock(void) {
    do_work(0);
    s.expected++;
    size_t operation = ex_begin(EX_SIGNAL, 1);
    ilk_mutex_unlock(&s.mutex);
    ex_end(operation, EX_DONE);
}
static void lock(void) {
    ex_assert(lock_by(ILK_FOREVER));
    unlock();
}
static void lock_until(void) {
    if (lock_by(SOON)) {
        unlock();
    }
}
static void try_lock(void) {
    size_t operation = ex_begin(EX_WAIT, 0);
    bool locked = ilk_mutex_try_lock(&s.mutex);
    ex_end(operation, locked ? EX_DONE : EX_REFUSED);
    if (locked) {
        unlock();
    }
}
static void check(void) {
    ex_history_check(&ex_semaphore, &one_owner);
    ex_assert(work[0] == s.expected);
    ex_expect((s.mutex.word & UINT32_C(0x3FFFFFFF)) == 0,
              "the mutex's word is 0x%x after every thread has left", s.mutex.word);
}

#define MUTEX(identifier, text, ...)                                                                         \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "mutex-inherit-" text, .claim = "one owner at a time, and every call ends", .setup = setup,  \
        .threads = {__VA_ARGS__}, .check = check, .timeouts = 1, .spurious_wakeups = 1                       \
    }

MUTEX(lock_lock, "lock-lock", lock, lock);
MUTEX(lock_try, "lock-lock-try_lock", lock, lock, try_lock);
MUTEX(lock_until_lock, "lock-lock_until", lock, lock_until);
MUTEX(three, "lock-lock-lock", lock, lock, lock);
MUTEX(late, "lock-lock-lock_until", lock, lock, lock_until);

/* ---- In a child, whose first thread locked the mutex in the parent ---- */

/*   first thread                  another of the child's
 *     lock; fork
 *                                   the word names the first thread's id in the parent: not the kernel's to wait for
 *     word = 0, event + 1, wake     reads the event, then the word; sleeps on the event                              */
static void fork_inside(void) {
    ex_assert(lock_by(ILK_FOREVER));
    ex_fork();
    unlock();
}
static void fork_inside_and_lock(void) {
    fork_inside();
    lock();
}
#define CHILD(identifier, text, ...)                                                                         \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "mutex-inherit-fork-" text,                                                                  \
        .claim = "a waiter for a mutex that was locked before the fork is woken by its unlock",              \
        .setup = setup, .threads = {__VA_ARGS__}, .check = check, .timeouts = 1, .spurious_wakeups = 1,      \
        .born_in_child = 6                                                                                   \
    }
CHILD(child_lock, "lock", fork_inside, lock);
CHILD(child_until, "lock_until", fork_inside, lock_until);
CHILD(child_two, "lock-lock", fork_inside_and_lock, lock, lock);
CHILD(child_two_late, "lock-lock_until", fork_inside, lock, lock_until);

EX_MUST_REACH(states){
    {"mutex-inherit-lock-*", {EX_MUTEX_KERNEL_SLEEPS, EX_MUTEX_KERNEL_HANDS_OVER}},
    {"mutex-inherit-lock-*lock_until mutex-inherit-fork-*lock_until", {EX_SLEEPER_LATE}},
    {"mutex-inherit-fork-*", {EX_MUTEX_EARLIER_OWNER_SLEEPS, EX_MUTEX_EARLIER_OWNER_OUTRUN}},
};

#endif
