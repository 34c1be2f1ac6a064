/* SPDX-License-Identifier: Apache-2.0
 *
 * A wait set that calls a function instead of waking a thread: for the Swift facade, whose tasks wait without one.
 * Not installed, like awaited.h.
 */
#ifndef INTERLOCK_INLINE_NOTIFIED_SET_H
#define INTERLOCK_INLINE_NOTIFIED_SET_H

#include <interlock/wait_set.h>

ILK_BEGIN_DECLARATIONS

/* From here on, after each wait with deadline 0 that answers ILK_TIMEDOUT, `function` is called once a member may
 * have become ready or a wake comes; at once, if that is so already. On the thread that pushed, signalled, …: outside
 * every lock, perhaps before that wait has returned, and perhaps once more, late, for what that wait has found. It
 * makes no call on the set. Installed once, before other threads know the set. */
void ilk__wait_set_notify(ilk_wait_set *set, void (*function)(void *context), void *context);

ILK_END_DECLARATIONS

#endif
