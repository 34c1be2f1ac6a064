/* SPDX-License-Identifier: Apache-2.0
 *
 * The kernel's side of a mutex with priority inheritance, for sync/mutex_inherit_linux.c, whose system calls come here:
 * FUTEX_LOCK_PI, FUTEX_LOCK_PI2 and FUTEX_UNLOCK_PI as futex(2) describes them. The word is the owner's id, with
 * FUTEX_WAITERS while threads may wait; the kernel hands over to the waiter of highest priority, of which the model has
 * none: to any. It promises no order for other memory, so each of its steps is a relaxed read-modify-write.
 */
#include "../engine/state.h"
#include <errno.h>
#include <linux/futex.h>
#include <platform/identity.h>
#include <platform/system_call.h>
#include <time.h>

static uint32_t word_now(const uint32_t *word) {
    ex_check_alive((uintptr_t)word, sizeof *word);
    return *(const volatile uint32_t *)word;
}

static bool is_alive(uint32_t id) {
    for (unsigned thread = 0; thread < ex.threads; thread++) {
        if (ex_id_of(thread) == id) {
            return (ex.unfinished & (1u << thread)) != 0;
        }
    }
    return false;
}

static int lock_pi(uint32_t *word, const struct timespec *deadline) {
    const uint64_t deadline_ns =
        deadline == NULL ? EX_NEVER
                         : (uint64_t)deadline->tv_sec * UINT64_C(1000000000) + (uint64_t)deadline->tv_nsec;
    const uint32_t self = ex_id_of(ex.current);
    ex_point();
    const uint32_t now = word_now(word);
    const uint32_t owner = now & FUTEX_TID_MASK;
    if (owner == 0) {
        ex_kernel_write(word, sizeof *word, (now & ~(uint32_t)FUTEX_WAITERS) | self);
        return 0;
    }
    if (owner == self) {
        return EDEADLK;
    }
    if (!is_alive(owner)) {
        return ESRCH;
    }
    ex_kernel_write(word, sizeof *word, now | FUTEX_WAITERS);
    ex_reach(EX_MUTEX_KERNEL_SLEEPS);
    switch (ex_wait(EX_ON_FUTEX, word, now | FUTEX_WAITERS, deadline_ns)) {
    case EX_WOKEN:
        ex_kernel_read(word, sizeof *word); /* it names this thread already */
        return 0;
    case EX_TIMED_OUT:
        return ETIMEDOUT;
    default:
        return EINTR;
    }
}

static int unlock_pi(uint32_t *word) {
    ex_point();
    if ((word_now(word) & FUTEX_TID_MASK) != ex_id_of(ex.current)) {
        return EPERM;
    }
    const unsigned next = ex_wake_any(EX_ON_FUTEX, word);
    if (next == EX_THREADS) {
        ex_kernel_write(word, sizeof *word, 0);
        return 0;
    }
    ex_reach(EX_MUTEX_KERNEL_HANDS_OVER);
    ex_kernel_write(word, sizeof *word, ex_id_of(next) | FUTEX_WAITERS);
    return 0;
}

/* platform/system_call.h's port; of SYS_futex only. */
long ilk__system_call(long number, const uintptr_t arguments[6]) {
    (void)number;
    uint32_t *const word = (uint32_t *)arguments[0];
    const int operation = (int)arguments[1] & ~FUTEX_PRIVATE_FLAG;
    const struct timespec *const deadline = (const struct timespec *)arguments[3];
    const int error = operation == FUTEX_UNLOCK_PI ? unlock_pi(word) : lock_pi(word, deadline);
    if (ex.recording) {
        ex_trace(NULL, "futex %s %p: error %d", operation == FUTEX_UNLOCK_PI ? "unlock_pi" : "lock_pi",
                 (void *)word, error);
    }
    return -error;
}
