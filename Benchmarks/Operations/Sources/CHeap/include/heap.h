/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes that the calling thread's heap has handed out; Swift's modules of glibc have no malloc.h.
 */
#ifndef BENCH_HEAP_H
#define BENCH_HEAP_H

#include <stddef.h>

size_t heap_bytes(void);

#endif
