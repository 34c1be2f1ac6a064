/* SPDX-License-Identifier: Apache-2.0
 *
 * Which locks the calling thread holds: kept in checked builds only (ILK_CHECKED, in CMake
 * -DINTERLOCK_CHECKED=ON), where every lock and unlock costs two calls more. With it, a thread that is about
 * to wait for a lock that it holds itself is reported instead of waiting for ever. Without, the same is
 * found where a reader's slot tells it for nothing.
 *
 * A note that is missing hides a report and makes none up: of more than sixteen locks held at once the later
 * ones are not noted, and an unlock that finds no note is none of this file's business.
 */
#ifndef INTERLOCK_INLINE_HELD_H
#define INTERLOCK_INLINE_HELD_H

#include <interlock/inline/attributes.h>

ILK_BEGIN_DECLARATIONS

/* Notes that the calling thread holds `lock` once more, or once less. */
ILK_COLD void ilk__held_more_slow(const void *lock) ILK_NONBLOCKING;
ILK_COLD void ilk__held_less_slow(const void *lock) ILK_NONBLOCKING;

ILK_ALWAYS_INLINE void ilk__held_more(const void *lock) ILK_NONBLOCKING {
#ifdef ILK_CHECKED
    ilk__held_more_slow(lock);
#else
    (void)lock;
#endif
}

/* Before the unlock: the lock may be gone right after. */
ILK_ALWAYS_INLINE void ilk__held_less(const void *lock) ILK_NONBLOCKING {
#ifdef ILK_CHECKED
    ilk__held_less_slow(lock);
#else
    (void)lock;
#endif
}

ILK_END_DECLARATIONS

#endif
