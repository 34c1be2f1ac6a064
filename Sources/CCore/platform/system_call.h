/* SPDX-License-Identifier: Apache-2.0
 *
 * The one port to Linux's system calls that the C library does not wrap. No call of the core changes errno, which
 * programs read after calls of their own: so it is kept here, and the error is the answer.
 */
#ifndef INTERLOCK_PLATFORM_SYSTEM_CALL_H
#define INTERLOCK_PLATFORM_SYSTEM_CALL_H

#include <stdint.h>

/* A system call of up to six arguments. The kernel's answer, or minus an errno. Not a cancellation point. */
long ilk__system_call(long number, const uintptr_t arguments[6]);

/* `...`: the arguments, numbers or addresses as uintptr_t. */
#define ILK__SYSTEM_CALL(number, ...) ilk__system_call(number, (const uintptr_t[6]){__VA_ARGS__})

#endif
