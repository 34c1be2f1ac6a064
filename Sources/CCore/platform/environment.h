/* SPDX-License-Identifier: Apache-2.0
 *
 * The one port to the environment: the library reads it nowhere else.
 */
#ifndef INTERLOCK_PLATFORM_ENVIRONMENT_H
#define INTERLOCK_PLATFORM_ENVIRONMENT_H

/* The variable's value; NULL: there is none, or the program has rights that its caller has not (set-user-ID,
 * set-group-ID, capabilities of its file), and the environment is its caller's. */
const char *ilk__environment(const char *name);

#endif
