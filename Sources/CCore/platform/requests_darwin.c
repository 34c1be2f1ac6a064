/* SPDX-License-Identifier: Apache-2.0
 *
 * Apple systems: a Mach semaphore, whose signal is one trap. It counts, so a request that comes before the sleeper lies
 * down keeps it awake. By the documentation; never run. See requests.h.
 */
#include "platform/requests.h"

#if defined(__APPLE__)

#include "platform/clock.h"
#include <errno.h>
#include <interlock/deadline.h>
#include <mach/mach.h>

bool ilk__requests_prepare(struct ilk__requests *requests) {
    semaphore_t semaphore;
    if (semaphore_create(mach_task_self(), &semaphore, SYNC_POLICY_FIFO, 0) != KERN_SUCCESS) {
        return false;
    }
    ilk_atomic_store(&requests->semaphore, semaphore, memory_order_relaxed); /* RQ4 */
    return true;
}

void ilk__requests_post(struct ilk__requests *requests, uint32_t bits) {
    const int error = errno;
    ilk_atomic_fetch_or(&requests->bits, bits, memory_order_release); /* RQ1 */
    /* RQ4 relaxed: a name of the kernel's, there before the sleeper is. */
    (void)semaphore_signal(ilk_atomic_load(&requests->semaphore, memory_order_relaxed));
    errno = error;
}

uint32_t ilk__requests_take(struct ilk__requests *requests, uint64_t deadline_ns) {
    for (;;) {
        const uint32_t bits = ilk_atomic_exchange(&requests->bits, 0, memory_order_acquire); /* RQ2 */
        const uint64_t now_ns = ilk__clock_now_ns();
        if (bits != 0 || now_ns >= deadline_ns) {
            return bits;
        }
        const semaphore_t semaphore = ilk_atomic_load(&requests->semaphore, memory_order_relaxed); /* RQ4 */
        if (deadline_ns == ILK_FOREVER) {
            (void)semaphore_wait(semaphore);
        } else {
            const struct timespec left = ilk__clock_timespec(deadline_ns - now_ns);
            (void)semaphore_timedwait(semaphore, (mach_timespec_t){(unsigned)left.tv_sec, (int)left.tv_nsec});
        }
    }
}

void ilk__requests_forget(struct ilk__requests *requests) {
    ilk_atomic_store(&requests->bits, 0, memory_order_relaxed); /* RQ3 */
}

#endif
