/* SPDX-License-Identifier: Apache-2.0
 *
 * ilk_mutex: histories against a semaphore of one permit, and freeing by the last owner.
 */
/* contract: mutex.A, mutex.D */
#include "../history/models.h"
#include "work.h"
#include <interlock/mutex.h>

static struct {
    ilk_mutex mutex;
    uint32_t expected; /* locks that succeeded: work done under the mutex */
} s;

static const uint32_t one_owner = 1;

static void setup_mutex(void) {
    ex_history_reset();
    ilk_mutex_init(&s.mutex, false);
    begin_work();
    s.expected = 0;
}
static void inside(void) {
    do_work(0);
    s.expected++;
    size_t operation = ex_begin(EX_SIGNAL, 1);
    ilk_mutex_unlock(&s.mutex);
    ex_end(operation, EX_DONE);
}
static void lock(void) {
    size_t operation = ex_begin(EX_WAIT, 0);
    ilk_mutex_lock(&s.mutex);
    ex_end(operation, EX_DONE);
    inside();
}
static void try_lock(void) {
    size_t operation = ex_begin(EX_WAIT, 0);
    bool locked = ilk_mutex_try_lock(&s.mutex);
    ex_end(operation, locked ? EX_DONE : EX_REFUSED);
    if (locked) {
        inside();
    }
}
static void lock_until(void) {
    size_t operation = ex_begin(EX_WAIT, 0);
    bool locked = ilk_mutex_lock_until(&s.mutex, SOON) == ILK_OK;
    ex_end(operation, locked ? EX_DONE : EX_TIMEDOUT);
    if (locked) {
        inside();
    }
}
static void check_mutex(void) {
    ex_history_check(&ex_semaphore, &one_owner);
    ex_assert(work[0] == s.expected);
    ex_expect(s.mutex.word == 0, "the mutex's word is 0x%x after every thread has left", s.mutex.word);
}

#define MUTEX(identifier, text, ...)                                                                         \
    EX_SCENARIO(identifier) {                                                                                \
        .name = "mutex-" text, .claim = "one owner at a time, and every call ends", .setup = setup_mutex,    \
        .threads = {__VA_ARGS__}, .check = check_mutex, .timeouts = 1, .spurious_wakeups = 1                 \
    }

MUTEX(lock_lock, "lock-lock", lock, lock);
MUTEX(lock_try, "lock-try_lock", lock, try_lock);
MUTEX(lock_lock_until, "lock-lock_until", lock, lock_until);
MUTEX(lock_lock_lock, "lock-lock-lock", lock, lock, lock);
MUTEX(lock_lock_try, "lock-lock-try_lock", lock, lock, try_lock);
MUTEX(lock_lock_lock_until, "lock-lock-lock_until", lock, lock, lock_until);
MUTEX(lock_until_until, "lock-lock_until-lock_until", lock, lock_until, lock_until);

/* Guarantee D. */
static struct {
    ilk_mutex *mutex;
    uint32_t users;
} heap;

static void setup_heap_mutex(void) {
    heap.mutex = ex_allocate(sizeof *heap.mutex, 16);
    ilk_mutex_init(heap.mutex, false);
    heap.users = 2;
}
static void leave_for_good(ilk_mutex *mutex) {
    ilk_plain_write(&heap.users, sizeof heap.users);
    bool last = --heap.users == 0;
    ilk_mutex_unlock(mutex);
    if (last) {
        ex_free(mutex);
    }
}
static void lock_and_leave(void) {
    ilk_mutex *mutex = heap.mutex;
    ilk_mutex_lock(mutex);
    leave_for_good(mutex);
}
static void lock_late_and_leave(void) {
    ilk_mutex *mutex = heap.mutex;
    if (ilk_mutex_lock_until(mutex, SOON) != ILK_OK) {
        ilk_mutex_lock(mutex);
    }
    leave_for_good(mutex);
}
EX_SCENARIO(mutex_freed){
    .name = "mutex-freed-by-the-last-owner",
    .claim = "an unlock does not touch the mutex after it is free",
    .setup = setup_heap_mutex,
    .threads = {lock_and_leave, lock_late_and_leave},
    .timeouts = 1,
    .spurious_wakeups = 1,
};

EX_MUST_REACH(states){
    {"mutex-lock-* mutex-freed-by-the-last-owner", {EX_MUTEX_SLEEPS, EX_MUTEX_WAKES}},
    {"mutex-lock-*lock_until", {EX_MUTEX_LATE}},
};

EX_CANNOT_REACH(no_states){
    {"mutex-lock-lock-lock", {EX_MUTEX_LATE}},
};
