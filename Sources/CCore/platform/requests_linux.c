/* SPDX-License-Identifier: Apache-2.0
 *
 * Linux: futex(2), with either park backend: a handler may not lock the park table. See requests.h.
 *
 *   a poster              the sleeper
 *     sets bits (RQ1)       takes them (RQ2): none
 *     futex wake            futex wait while there are none
 * The kernel compares under the lock that the wake takes: bits that are set before the sleeper lies down keep it awake,
 * those set after it wake it.
 */
#include "platform/requests.h"

#include "platform/port.h"

#if ILK__PORT_LINUX

#include "platform/futex.h"
#include <errno.h>

bool ilk__requests_prepare(struct ilk__requests *requests) {
    (void)requests;
    return true;
}

void ilk__requests_post(struct ilk__requests *requests, uint32_t bits) {
    const int error = errno;
    /* RQ1 release, pairs with RQ2.
     * Carries: what the request is about.
     * If weaker: the sleeper wakes, and works by an older setting until the next request. */
    ilk_atomic_fetch_or(&requests->bits, bits, memory_order_release);
    ilk__futex_wake(&requests->bits, 1);
    errno = error;
}

uint32_t ilk__requests_take(struct ilk__requests *requests, uint64_t deadline_ns) {
    for (;;) {
        /* RQ2 acquire, pairs with RQ1: we work by the settings that the request is about. */
        const uint32_t bits = ilk_atomic_exchange(&requests->bits, 0, memory_order_acquire);
        if (bits != 0 || ilk__futex_wait(&requests->bits, 0, deadline_ns) == ETIMEDOUT) {
            return bits;
        }
    }
}

void ilk__requests_forget(struct ilk__requests *requests) {
    ilk_atomic_store(&requests->bits, 0,
                     memory_order_relaxed); /* RQ3 relaxed: the child has no other thread. */
}

#endif
