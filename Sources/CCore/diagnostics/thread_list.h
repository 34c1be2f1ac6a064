/* SPDX-License-Identifier: Apache-2.0
 *
 * The one port to the list of the process's threads, and to the names that the system keeps. Ids are those of
 * platform/identity.h.
 */
#ifndef INTERLOCK_DIAGNOSTICS_THREAD_LIST_H
#define INTERLOCK_DIAGNOSTICS_THREAD_LIST_H

#include <stdbool.h>
#include <stdint.h>

/* Calls `visit` with the id of each thread. False: the system gives no list. */
bool ilk__threads_visit(void (*visit)(uint32_t thread, void *context), void *context);

/* Empty if the thread has ended. */
void ilk__thread_name(uint32_t thread, char *name, uint32_t size);

void ilk__process_name(char *name, uint32_t size);

#endif
