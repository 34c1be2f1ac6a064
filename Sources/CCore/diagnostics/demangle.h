/* SPDX-License-Identifier: Apache-2.0
 *
 * C++ and Swift names, demangled by their runtimes, where the process has them.
 */
#ifndef INTERLOCK_DIAGNOSTICS_DEMANGLE_H
#define INTERLOCK_DIAGNOSTICS_DEMANGLE_H

/* To be freed; NULL: not mangled, or no runtime that knows. */
char *ilk__demangled(const char *name);

#endif
