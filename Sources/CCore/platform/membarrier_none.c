/* SPDX-License-Identifier: Apache-2.0
 *
 * Systems without membarrier(2): both sides of the asymmetric fence are full fences.
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
