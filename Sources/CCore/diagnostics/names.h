/* SPDX-License-Identifier: Apache-2.0
 *
 * The names of objects, in a table beside them: a lock of 16 bytes has no room for one. Public calls:
 * <interlock/diagnostics.h>.
 */
#ifndef INTERLOCK_DIAGNOSTICS_NAMES_H
#define INTERLOCK_DIAGNOSTICS_NAMES_H

/* How many of the first bytes of `name`, `most` at most, do not end inside a UTF-8 character. */
int ilk__name_cut(const char *name, int most);

/* Forgets the name of `object`, which ends, so that the next at the same address does not inherit it. Two loads
 * where nothing has a name. */
void ilk__name_forget(const void *object);

#endif
