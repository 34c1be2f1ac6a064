/* SPDX-License-Identifier: Apache-2.0
 *
 * Systems without membarrier(2): the light fence and the heavy fence are both fences of their own thread.
 */
#include "platform/membarrier.h"
#include "platform/port.h"

#if !ILK__PORT_LINUX

bool ilk__membarrier_register(void) {
    return false;
}

bool ilk__membarrier(void) {
    return false;
}

#endif
