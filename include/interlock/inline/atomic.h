/* SPDX-License-Identifier: Apache-2.0
 *
 * The one port to atomics. Every atomic operation of the C core, inline fast paths included, goes through
 * these names and never through <stdatomic.h>. So the same sources compile against a model in which a test
 * chooses the schedule: the explorer puts a folder with its own <interlock/inline/atomic.h> in front on the
 * include path. A quoted include would bypass it.
 *
 * Operations (object is the address of an ILK_ATOMIC; orders are C11's memory_order_ constants):
 *   ilk_atomic_load(object, order)                 ilk_atomic_store(object, value, order)
 *   ilk_atomic_exchange(object, value, order)      ilk_atomic_fetch_add / _sub / _or / _and
 *   ilk_atomic_compare_exchange(object, &expected, desired, success, failure)        strong
 *   ilk_atomic_compare_exchange_weak(object, &expected, desired, success, failure)
 *   ilk_atomic_fence(order)                        a thread fence
 *   ilk_compiler_fence()                           orders against this thread's own signal handlers,
 *                                                  and against the far side of a membarrier
 *   ilk_cpu_relax()                                a hint inside a spin loop; no order
 * Plain memory that an atomic protocol guards (ring slots, list nodes) is announced to the model:
 *   ilk_plain_read(address, size)   ilk_plain_write(address, size)      nothing in a real build
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
