/* SPDX-License-Identifier: Apache-2.0
 *
 * Seccomp filters that refuse one system call, for the calling thread and those that it starts from then on. No thread
 * leaves one: for children of fork.
 */
#ifndef INTERLOCK_TESTS_SUPPORT_SANDBOX_H
#define INTERLOCK_TESTS_SUPPORT_SANDBOX_H

#include <stdbool.h>

/* Skips the test where there are no filters. */
void need_sandbox(void);

/* `call` answers `error` from now on. False: there is no seccomp here. */
bool sandbox_refuse(long call, int error);

/* Likewise futex(2) with the operation `operation`, private or not. */
bool sandbox_refuse_futex(unsigned operation, int error);

#endif
