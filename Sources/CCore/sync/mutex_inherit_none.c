/* SPDX-License-Identifier: Apache-2.0
 *
 * Systems and builds without a futex that inherits priority: a mutex that asks for it gets none.
 */
#include "platform/port.h"
#include "sync/mutex_inherit.h"

#if !ILK__PARK_FUTEX

#include <stdlib.h>

bool ilk__mutex_can_inherit(void) {
    return false;
}

ilk_status ilk__mutex_inherit_lock(ILK_ATOMIC(uint32_t) * word, uint64_t deadline_ns, const char *call) {
    (void)word;
    (void)deadline_ns;
    (void)call;
    abort(); /* no mutex here ever inherits */
}

void ilk__mutex_inherit_unlock(ILK_ATOMIC(uint32_t) * word) {
    (void)word;
    abort();
}

void ilk__mutex_inherit_earlier_owner_gone(void) {
    abort();
}

#endif
