/* SPDX-License-Identifier: Apache-2.0
 *
 * The bytes that malloc has handed out, in all arenas. Swift's modules of glibc have no malloc.h.
 */
#ifndef BENCH_HEAP_H
#define BENCH_HEAP_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

size_t heap_bytes(void);

#ifdef __cplusplus
}
#endif

#endif
