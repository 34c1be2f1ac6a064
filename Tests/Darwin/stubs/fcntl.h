/* SPDX-License-Identifier: Apache-2.0
 *
 * open(2) and fcntl(2).
 */
#ifndef INTERLOCK_STUB_FCNTL_H
#define INTERLOCK_STUB_FCNTL_H

#include <sys/types.h>

#define O_RDONLY 0x0000
#define O_WRONLY 0x0001
#define O_NONBLOCK 0x00000004
#define O_CREAT 0x00000200
#define O_TRUNC 0x00000400
#define O_CLOEXEC 0x01000000
#define FD_CLOEXEC 1
#define F_SETFD 2
#define F_GETFL 3
#define F_SETFL 4

int open(const char *path, int flags, ...);
int fcntl(int file, int command, ...);

#endif
