/* SPDX-License-Identifier: Apache-2.0
 *
 * The reasons that the sources name.
 */
#ifndef INTERLOCK_STUB_ERRNO_H
#define INTERLOCK_STUB_ERRNO_H

extern int *__error(void);
#define errno (*__error())

#define EPERM 1
#define EINTR 4
#define EBADF 9
#define EAGAIN 35
#define ENOMEM 12
#define EACCES 13
#define EBUSY 16
#define ENOTSUP 45
#define ETIMEDOUT 60

#endif
