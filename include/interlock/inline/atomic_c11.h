/* SPDX-License-Identifier: Apache-2.0
 *
 * C11's atomics under the names of <interlock/inline/atomic.h>. Include that one.
 */
#ifndef INTERLOCK_INLINE_ATOMIC_C11_H
#define INTERLOCK_INLINE_ATOMIC_C11_H

#include <interlock/inline/attributes.h> /* first: it refuses unfit targets */

#include <stdatomic.h>

#define ILK_ATOMIC(type) _Atomic(type)

#define ilk_atomic_load(object, order) atomic_load_explicit((object), (order))
#define ilk_atomic_store(object, value, order) atomic_store_explicit((object), (value), (order))
#define ilk_atomic_exchange(object, value, order) atomic_exchange_explicit((object), (value), (order))
#define ilk_atomic_fetch_add(object, value, order) atomic_fetch_add_explicit((object), (value), (order))
#define ilk_atomic_fetch_sub(object, value, order) atomic_fetch_sub_explicit((object), (value), (order))
#define ilk_atomic_fetch_or(object, value, order) atomic_fetch_or_explicit((object), (value), (order))
#define ilk_atomic_fetch_and(object, value, order) atomic_fetch_and_explicit((object), (value), (order))
#define ilk_atomic_compare_exchange(object, expected, desired, success, failure)                             \
    atomic_compare_exchange_strong_explicit((object), (expected), (desired), (success), (failure))
#define ilk_atomic_compare_exchange_weak(object, expected, desired, success, failure)                        \
    atomic_compare_exchange_weak_explicit((object), (expected), (desired), (success), (failure))
#define ilk_atomic_fence(order) atomic_thread_fence(order)
#define ilk_compiler_fence() atomic_signal_fence(memory_order_seq_cst)

#endif
