/* SPDX-License-Identifier: Apache-2.0
 *
 * The one port to atomics. Every atomic operation of the C core, inline fast paths included, goes through
 * these names, never through <stdatomic.h>. So the sources compile against a model too: the explorer puts its
 * own <interlock/inline/atomic.h> in front on the include path, which a quoted include would bypass.
 *
 * Operations, on the address of an ILK_ATOMIC, with C11's memory_order_ constants:
 *   ilk_atomic_load, _store, _exchange, _fetch_add, _fetch_sub, _fetch_or, _fetch_and, _fence    as in C11
 *   ilk_atomic_compare_exchange, ilk_atomic_compare_exchange_weak                                strong, weak
 *   ilk_compiler_fence    a compiler barrier: orders against this thread's own signal handlers, and a heavy fence
 *   ilk_cpu_relax         a hint inside a spin loop; no order
 *   ilk_plain_read, ilk_plain_write    announce plain memory that an atomic protocol guards (ring slots, list
 *                                      nodes) to the model; nothing in a real build
 */
#ifndef INTERLOCK_INLINE_ATOMIC_H
#define INTERLOCK_INLINE_ATOMIC_H

#if defined(__cplusplus)
#include <interlock/inline/atomic_cxx.h>
#else
#include <interlock/inline/atomic_c11.h>
#endif

#define ilk_plain_read(address, size) ((void)0)
#define ilk_plain_write(address, size) ((void)0)

static inline void ilk_cpu_relax(void) {
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__) || defined(__arm__)
    __asm__ __volatile__("yield");
#endif
}

#endif
