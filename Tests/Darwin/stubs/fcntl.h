/* SPDX-License-Identifier: Apache-2.0
 *
 * open(2).
 */
#ifndef INTERLOCK_STUB_FCNTL_H
#define INTERLOCK_STUB_FCNTL_H

#include <sys/types.h>

#define O_RDONLY 0x0000
#define O_WRONLY 0x0001
#define O_NONBLOCK 0x00000004
#define O_NOFOLLOW 0x00000100
#define O_CREAT 0x00000200
#define O_NOCTTY 0x00020000
#define O_CLOEXEC 0x01000000

int open(const char *path, int flags, ...);

#endif
