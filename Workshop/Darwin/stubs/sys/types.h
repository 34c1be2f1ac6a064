/* SPDX-License-Identifier: Apache-2.0
 *
 * Numbers of the system, as wide as macOS has them.
 */
#ifndef INTERLOCK_STUB_SYS_TYPES_H
#define INTERLOCK_STUB_SYS_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef long ssize_t;
typedef int64_t off_t;
typedef int pid_t;
typedef uint16_t mode_t;
typedef uint16_t nlink_t;
typedef uint32_t uid_t;
typedef long time_t;

#endif
