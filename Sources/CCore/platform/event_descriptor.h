/* SPDX-License-Identifier: Apache-2.0
 *
 * A file descriptor that is readable while it is raised, for poll(2) and its kin.
 */
#ifndef INTERLOCK_PLATFORM_EVENT_DESCRIPTOR_H
#define INTERLOCK_PLATFORM_EVENT_DESCRIPTOR_H

#include <stdbool.h>

/* Whether the system has such descriptors. */
bool ilk__event_descriptor_exists(void);

/* Lowered, closed on exec. Below 0: the system refuses one. */
int ilk__event_descriptor_open(void);
void ilk__event_descriptor_close(int descriptor);

/* Neither blocks nor changes errno; a signal handler may call both. */
void ilk__event_descriptor_raise(int descriptor);
void ilk__event_descriptor_lower(int descriptor);

#endif
