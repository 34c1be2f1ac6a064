/* SPDX-License-Identifier: Apache-2.0
 *
 * The model has no priorities, so no mutex inherits any.
 */
#include "../engine/state.h"
#include <sync/mutex_inherit.h>

bool ilk__mutex_can_inherit(void) {
    return false;
}

ilk_status ilk__mutex_inherit_lock(ILK_ATOMIC(uint32_t) * word, uint64_t deadline_ns) {
    (void)word;
    (void)deadline_ns;
    ex_fail(EX_BEYOND, "priority inheritance is not modelled");
}

void ilk__mutex_inherit_unlock(ILK_ATOMIC(uint32_t) * word) {
    (void)word;
    ex_fail(EX_BEYOND, "priority inheritance is not modelled");
}

void ilk__mutex_inherit_former_gone(void) {
    ex_fail(EX_BEYOND, "priority inheritance is not modelled");
}
