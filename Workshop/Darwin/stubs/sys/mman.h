/* SPDX-License-Identifier: Apache-2.0
 *
 * mmap(2).
 */
#ifndef INTERLOCK_STUB_SYS_MMAN_H
#define INTERLOCK_STUB_SYS_MMAN_H

#include <sys/types.h>

#define PROT_READ 0x01
#define PROT_WRITE 0x02
#define MAP_PRIVATE 0x0002
#define MAP_ANONYMOUS 0x1000
#define MAP_FAILED ((void *)-1)

void *mmap(void *wanted, size_t size, int protection, int flags, int file, off_t offset);
int munmap(void *pages, size_t size);

#endif
