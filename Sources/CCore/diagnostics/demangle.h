/* SPDX-License-Identifier: Apache-2.0
 *
 * C++ and Swift names, demangled by their runtimes, where the process has them.
 */
#ifndef INTERLOCK_DIAGNOSTICS_DEMANGLE_H
#define INTERLOCK_DIAGNOSTICS_DEMANGLE_H

/* Before a lock is taken: looks for Swift's demangler. What looks for a function may wait for a thread that opens a
 * library, whose constructors may wait for the lock. */
void ilk__demangle_prepare(void);

/* To be freed; NULL: not mangled, or no runtime that knows. */
char *ilk__demangled(const char *name);

#endif
