/* SPDX-License-Identifier: Apache-2.0
 *
 * Descriptors and the process.
 */
#ifndef INTERLOCK_STUB_UNISTD_H
#define INTERLOCK_STUB_UNISTD_H

#include <sys/types.h>

#define STDERR_FILENO 2
#define _SC_PAGESIZE 29
#define _SC_NPROCESSORS_ONLN 58

int close(int file);
int ftruncate(int file, off_t length);
uid_t geteuid(void);
pid_t getpid(void);
int issetugid(void);
ssize_t read(int file, void *bytes, size_t size);
ssize_t write(int file, const void *bytes, size_t size);
long sysconf(int name);

#endif
