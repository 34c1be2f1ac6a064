/* SPDX-License-Identifier: Apache-2.0
 *
 * The locks that the calling thread holds, listed in checked builds only (ILK_CHECKED, in CMake
 * -DINTERLOCK_CHECKED=ON) for two calls more a lock and unlock. The list shows a wait for a lock that the
 * thread holds, and an unlock by a thread that does not hold the lock.
 *
 * It has the first sixteen locks held at once. While a thread holds more, its unlock of an unlisted lock is
 * taken for one of those, and not reported.
 */
#ifndef INTERLOCK_INLINE_HELD_H
#define INTERLOCK_INLINE_HELD_H

#include <interlock/inline/attributes.h>
#include <stdint.h>

ILK_BEGIN_DECLARATIONS

/* The calling thread holds `lock` once more, or once less. Less is misuse of `call` where it does not hold
 * the lock, and the bits of `share` in the word say that another thread does. */
ILK_COLD void ilk__held_more_slow(const void *lock) ILK_NONBLOCKING;
ILK_COLD void ilk__held_less_slow(const void *lock, uint32_t share, const char *call) ILK_NONBLOCKING;

ILK_ALWAYS_INLINE void ilk__held_more(const void *lock) ILK_NONBLOCKING {
#ifdef ILK_CHECKED
    ilk__held_more_slow(lock);
#else
    (void)lock;
#endif
}

/* Before the unlock, after which the lock may be gone. */
ILK_ALWAYS_INLINE void ilk__held_less(const void *lock, uint32_t share, const char *call) ILK_NONBLOCKING {
#ifdef ILK_CHECKED
    ilk__held_less_slow(lock, share, call);
#else
    (void)lock, (void)share, (void)call;
#endif
}

ILK_END_DECLARATIONS

#endif
