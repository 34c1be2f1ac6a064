/* SPDX-License-Identifier: Apache-2.0
 *
 * Thread-local state of the core in the model: one block per fiber (core_local.c). On the include path before
 * Sources/CCore/platform/local.h.
 */
#ifndef INTERLOCK_PLATFORM_LOCAL_H
#define INTERLOCK_PLATFORM_LOCAL_H

#include "platform/local_state.h"

struct ilk__thread_state *ilk__thread_state(void) ILK_NONBLOCKING;

#endif
