/* SPDX-License-Identifier: Apache-2.0
 *
 * fstat(2): the members that the library reads.
 */
#ifndef INTERLOCK_STUB_SYS_STAT_H
#define INTERLOCK_STUB_SYS_STAT_H

#include <sys/types.h>

struct stat {
    mode_t st_mode;
    nlink_t st_nlink;
    uid_t st_uid;
};

#define S_IFMT 0170000
#define S_IFREG 0100000
#define S_ISREG(mode) (((mode)&S_IFMT) == S_IFREG)

int fstat(int file, struct stat *status);

#endif
