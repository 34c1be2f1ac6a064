/* SPDX-License-Identifier: Apache-2.0
 *
 * open(2), and fcntl(2) for locks of files.
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

#define SEEK_SET 0
#define F_SETLK 8
#define F_WRLCK 3

struct flock {
    off_t l_start, l_len;
    pid_t l_pid;
    short l_type, l_whence;
};

int open(const char *path, int flags, ...);
int fcntl(int file, int command, ...);

#endif
