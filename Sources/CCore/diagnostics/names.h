/* SPDX-License-Identifier: Apache-2.0
 *
 * The names of objects, in a table beside them: a lock of 16 bytes has no room for one. The public calls are
 * in <interlock/diagnostics.h>.
 */
#ifndef INTERLOCK_DIAGNOSTICS_NAMES_H
#define INTERLOCK_DIAGNOSTICS_NAMES_H

/* Drops the name of `object`, if it has one: called when an object ends, so that the next at the same address
 * does not inherit it. One relaxed load where nothing has a name. */
void ilk__name_forget(const void *object);

#endif
