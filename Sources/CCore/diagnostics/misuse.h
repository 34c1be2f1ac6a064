/* SPDX-License-Identifier: Apache-2.0
 *
 * How misuse ends: one sentence on standard error that names the call, the object (address, and name if any)
 * and the state seen, then abort. One write(2), so that threads do not mix; no allocation, so that it works
 * with a broken heap.
 */
#ifndef INTERLOCK_DIAGNOSTICS_MISUSE_H
#define INTERLOCK_DIAGNOSTICS_MISUSE_H

#include <interlock/inline/attributes.h>

/* Prints "interlock: CALL(ADDRESS "NAME"): SENTENCE". `format` makes the sentence. */
ILK_COLD ILK_NORETURN void ilk__misuse(const char *call, const void *object, const char *format, ...)
    ILK_NONBLOCKING __attribute__((format(printf, 3, 4)));

/* Prints such a sentence about what is no misuse but would be searched for long. The caller says it once. */
ILK_COLD void ilk__note(const char *call, const void *object, const char *format, ...) ILK_NONBLOCKING
    __attribute__((format(printf, 3, 4)));

#endif
