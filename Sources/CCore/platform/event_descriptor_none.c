/* SPDX-License-Identifier: Apache-2.0
 *
 * Systems without eventfd(2). See event_descriptor.h.
 */
#include "platform/event_descriptor.h"
#include "platform/port.h"

#if !ILK__PORT_LINUX

bool ilk__event_descriptor_exists(void) {
    return false;
}

int ilk__event_descriptor_open(void) {
    return -1;
}

void ilk__event_descriptor_close(int descriptor) {
    (void)descriptor;
}

void ilk__event_descriptor_raise(int descriptor) {
    (void)descriptor;
}

void ilk__event_descriptor_lower(int descriptor) {
    (void)descriptor;
}

#endif
