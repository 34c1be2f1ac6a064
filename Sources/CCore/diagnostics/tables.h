/* SPDX-License-Identifier: Apache-2.0
 *
 * The one mutex of diagnosis's cold tables: names, objects, lock orders.
 *
 * Fork. The forking thread has it over the fork: the child's tables are whole and its mutex free. Must not
 * happen: the parent waits for the mutex for ever. So its holder waits for nothing: it allocates and frees
 * outside, for an allocator's fork handlers may have locked the heap, and holds signals back, for a handler
 * could fork and wait for its own thread. Fork handlers that run while the forking thread has the mutex may
 * use the tables.
 */
#ifndef INTERLOCK_DIAGNOSTICS_TABLES_H
#define INTERLOCK_DIAGNOSTICS_TABLES_H

#include "platform/signals.h"
#include <stdbool.h>

/* Holds signals back too; `before` is for ilk__tables_unlock. */
void ilk__tables_lock(sigset_t *before);
/* False: they are locked, the caller may not wait, and signals are as they were. */
bool ilk__tables_lock_if(sigset_t *before, bool may_wait);
void ilk__tables_unlock(const sigset_t *before);

/* Around a walk of the loader's list of modules, whose lock no child of fork makes anew (glibc): the forking thread
 * waits until no thread of diagnosis is in one, for a second at most. Holds signals back. Without the tables. */
void ilk__loader_enter(sigset_t *before);
void ilk__loader_leave(const sigset_t *before);

#endif
