/* SPDX-License-Identifier: Apache-2.0
 *
 * Children made by fork, and how they end.
 */
#ifndef INTERLOCK_TESTS_SUPPORT_FORK_H
#define INTERLOCK_TESTS_SUPPORT_FORK_H

#include "support/test.h"

enum { LONGEST = 30 };

/* Skips the test where children cannot have threads; sets its time limit. */
void need_children(void);

/* The child's side begins: true in it. */
bool is_child(pid_t pid);

/* Waits for the child, which must exit with this code. */
void expect_exit(pid_t child, int code);

#endif
