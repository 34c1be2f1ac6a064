/* SPDX-License-Identifier: Apache-2.0
 *
 * Priority inheritance through FUTEX_LOCK_PI2, with a deadline on the monotonic clock. Kernels before 5.14
 * have only FUTEX_LOCK_PI, with one on the wall clock, computed anew for each wait.
 *
 * Fork. In the child, a mutex that the forking thread owns names the parent's thread: the kernel would lend
 * that thread the priority, and refuse to hand over. So a waiter for it waits for an event of the process
 * (`earlier_owner_ends`), without inheritance. The owner sets the word to 0 and raises the event; then the mutex is
 * like any other.
 */
#include "platform/port.h"
#include "sync/mutex_inherit.h"

#if ILK__PARK_FUTEX

#include "diagnostics/misuse.h"
#include "platform/clock.h"
#include "platform/identity.h"
#include "platform/reaches.h"
#include "platform/system_call.h"
#include <errno.h>
#include <interlock/deadline.h>
#include <interlock/park.h>
#include <linux/futex.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>

bool ilk__mutex_can_inherit(void) {
    return true;
}

/* The moment of the deadline on the wall clock, as well as it can be known. */
static struct timespec wall_clock(uint64_t deadline_ns) {
    struct timespec now;
    (void)clock_gettime(CLOCK_REALTIME, &now);
    const uint64_t wall_ns = (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
    const uint64_t now_ns = ilk__clock_now_ns();
    return ilk__clock_timespec(ilk__clock_after(wall_ns, deadline_ns > now_ns ? deadline_ns - now_ns : 0));
}

/* 0, or a positive errno. `limit`: NULL for none. */
static int inherit_call(ILK_ATOMIC(uint32_t) * word, int operation, const struct timespec *limit) {
    return (int)-ILK__SYSTEM_CALL(SYS_futex, (uintptr_t)word, (uintptr_t)(operation | FUTEX_PRIVATE_FLAG), 0,
                                  (uintptr_t)limit);
}

static int lock_once(ILK_ATOMIC(uint32_t) * word, uint64_t deadline_ns) {
    if (deadline_ns == ILK_FOREVER) {
        return inherit_call(word, FUTEX_LOCK_PI, NULL);
    }
#if defined(FUTEX_LOCK_PI2)
    const struct timespec deadline = ilk__clock_timespec(deadline_ns);
    const int error = inherit_call(word, FUTEX_LOCK_PI2, &deadline);
    if (error != ENOSYS) {
        return error;
    }
#endif
    const struct timespec wall = wall_clock(deadline_ns);
    return inherit_call(word, FUTEX_LOCK_PI, &wall);
}

/* Mutexes from before the fork that the first thread of a forked process has given up; wraps. */
static ILK_ATOMIC(uint32_t) earlier_owner_ends;

static bool has_earlier_owner(ILK_ATOMIC(uint32_t) * word) {
    /* MX7 relaxed: a earlier id changes to 0 and never back; ordered by MX8. */
    return ilk__thread_id_is_earlier(ilk_atomic_load(word, memory_order_relaxed) & FUTEX_TID_MASK);
}

static ilk_status wait_for_earlier_owner(ILK_ATOMIC(uint32_t) * word, uint64_t deadline_ns) {
    for (;;) {
        /* MX8 acquire, pairs with MX9.
         * Carries: the word at 0.
         * If weaker: we read the old word, and sleep for an event that has been. */
        uint32_t ends = ilk_atomic_load(&earlier_owner_ends, memory_order_acquire);
        if (!has_earlier_owner(word)) {
            return ILK_OK;
        }
        ILK__REACHES(MUTEX_EARLIER_OWNER_SLEEPS, earlier_owner_ends == ends);
        ILK__REACHES(MUTEX_EARLIER_OWNER_OUTRUN, earlier_owner_ends != ends);
        if (ilk_park_wait(&earlier_owner_ends, ends, deadline_ns) == ILK_TIMEDOUT) {
            return has_earlier_owner(word) ? ILK_TIMEDOUT : ILK_OK;
        }
    }
}

void ilk__mutex_inherit_earlier_owner_gone(void) {
    /* MX9 release, pairs with MX8: the word is 0 before the end that a sleeper counts. */
    ilk_atomic_fetch_add(&earlier_owner_ends, 1, memory_order_release);
    ilk_park_wake(&earlier_owner_ends, ILK_PARK_ALL);
}

ilk_status ilk__mutex_inherit_lock(ILK_ATOMIC(uint32_t) * word, uint64_t deadline_ns, const char *call) {
    if (wait_for_earlier_owner(word, deadline_ns) == ILK_TIMEDOUT) {
        return ILK_TIMEDOUT;
    }
    for (;;) {
        int error = lock_once(word, deadline_ns);
        switch (error) {
        case 0:
            /* MX5 acquire, pairs with MX6 (handing over). The kernel has ordered it, with barriers unknown to
             * the memory model and ThreadSanitizer. */
            (void)ilk_atomic_load(word, memory_order_acquire);
            return ILK_OK;
        case ETIMEDOUT:
            return ILK_TIMEDOUT;
        case EINTR:
        case EAGAIN: /* the owner is just ending */
            break;
        case ESRCH:
            ilk__misuse(call, (const void *)word, "its owner, thread %u, has ended without giving it up",
                        (unsigned)(ilk_atomic_load(word, memory_order_relaxed) & FUTEX_TID_MASK)); /* MX7 */
        default:
            ilk__misuse(call, (const void *)word, "the system refuses to wait for it: %s", strerror(error));
        }
    }
}

void ilk__mutex_inherit_unlock(ILK_ATOMIC(uint32_t) * word) {
    /* MX6 release, pairs with MX5. Changes nothing; see there. */
    (void)ilk_atomic_fetch_add(word, 0, memory_order_release);
    const int error = inherit_call(word, FUTEX_UNLOCK_PI, NULL);
    if (error != 0) {
        ilk__misuse("ilk_mutex_unlock", (const void *)word, "the system refuses to hand it over: %s",
                    strerror(error));
    }
}

#endif
