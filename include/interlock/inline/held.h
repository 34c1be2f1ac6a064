/* SPDX-License-Identifier: Apache-2.0
 *
 * The list of the locks that the calling thread holds. Only checked builds keep it (ILK_CHECKED, in CMake
 * -DINTERLOCK_CHECKED=ON), for two calls more a lock and unlock. It shows a wait for a lock that the thread
 * holds, and an unlock by a thread that does not hold the lock.
 *
 * The list has the first sixteen locks that a thread holds at once. While it holds more, its unlock of an
 * unlisted lock is taken for one of those, and not reported.
 */
#ifndef INTERLOCK_INLINE_HELD_H
#define INTERLOCK_INLINE_HELD_H

#include <interlock/inline/attributes.h>
#include <stdint.h>

ILK_BEGIN_DECLARATIONS

/* The calling thread holds `lock` once more, or once less. Misuse of `call`: once less, where it does not
 * hold the lock and the bits of `share` in the word say that another thread does. */
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
