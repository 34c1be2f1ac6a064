/* SPDX-License-Identifier: Apache-2.0
 *
 * Which locks the calling thread holds: kept in checked builds only (ILK_CHECKED, in CMake
 * -DINTERLOCK_CHECKED=ON), where every lock and unlock costs two calls more. With it, two kinds of misuse are
 * reported that no other build can see in every case: a thread that is about to wait for a lock that it holds
 * itself, and an unlock by a thread that does not hold the lock. Without it, the first is found where a
 * reader's slot tells it for nothing, and the second where nobody holds the lock.
 *
 * A thread lists the first sixteen of the locks that it holds at once. While it holds more, an unlock of what
 * is not listed is taken for one of those, and not reported.
 */
#ifndef INTERLOCK_INLINE_HELD_H
#define INTERLOCK_INLINE_HELD_H

#include <interlock/inline/attributes.h>
#include <stdint.h>

ILK_BEGIN_DECLARATIONS

/* The calling thread holds `lock` once more, or once less. Misuse of `call`: once less, where it does not
 * hold the lock and the word says, in the bits of `share`, that another thread does. */
ILK_COLD void ilk__held_more_slow(const void *lock) ILK_NONBLOCKING;
ILK_COLD void ilk__held_less_slow(const void *lock, uint32_t share, const char *call) ILK_NONBLOCKING;

ILK_ALWAYS_INLINE void ilk__held_more(const void *lock) ILK_NONBLOCKING {
#ifdef ILK_CHECKED
    ilk__held_more_slow(lock);
#else
    (void)lock;
#endif
}

/* Before the unlock: the lock may be gone right after. */
ILK_ALWAYS_INLINE void ilk__held_less(const void *lock, uint32_t share, const char *call) ILK_NONBLOCKING {
#ifdef ILK_CHECKED
    ilk__held_less_slow(lock, share, call);
#else
    (void)lock, (void)share, (void)call;
#endif
}

ILK_END_DECLARATIONS

#endif
