/* SPDX-License-Identifier: Apache-2.0
 *
 * secure_getenv(3) of glibc and musl, which asks the kernel's AT_SECURE; issetugid(2) elsewhere.
 */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* secure_getenv */
#endif

#include "platform/environment.h"

#include "platform/port.h"
#include <stdlib.h>
#include <unistd.h>

#if ILK__PORT_LINUX
const char *ilk__environment(const char *name) {
    return secure_getenv(name);
}
#else
const char *ilk__environment(const char *name) {
    return issetugid() ? NULL : getenv(name);
}
#endif
