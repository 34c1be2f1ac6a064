/* SPDX-License-Identifier: Apache-2.0
 *
 * C++'s atomics under the names of <interlock/inline/atomic.h>. Include that one, outside every extern "C"
 * block: <atomic> holds templates. std::atomic of an integer or pointer has the size, alignment and
 * representation of `_Atomic` with gcc and clang (Tests/CCoreTests/library/headers_cxx17.cc checks it).
 */
#ifndef INTERLOCK_INLINE_ATOMIC_CXX_H
#define INTERLOCK_INLINE_ATOMIC_CXX_H

#include <interlock/inline/attributes.h> /* first: it refuses unfit targets */

#include <atomic>

using std::memory_order_acq_rel;
using std::memory_order_acquire;
using std::memory_order_relaxed;
using std::memory_order_release;
using std::memory_order_seq_cst;

#define ILK_ATOMIC(type) std::atomic<type>

#define ilk_atomic_load(object, order) (object)->load(order)
#define ilk_atomic_store(object, value, order) (object)->store((value), (order))
#define ilk_atomic_exchange(object, value, order) (object)->exchange((value), (order))
#define ilk_atomic_fetch_add(object, value, order) (object)->fetch_add((value), (order))
#define ilk_atomic_fetch_sub(object, value, order) (object)->fetch_sub((value), (order))
#define ilk_atomic_fetch_or(object, value, order) (object)->fetch_or((value), (order))
#define ilk_atomic_fetch_and(object, value, order) (object)->fetch_and((value), (order))
#define ilk_atomic_compare_exchange(object, expected, desired, success, failure)                             \
    (object)->compare_exchange_strong(*(expected), (desired), (success), (failure))
#define ilk_atomic_compare_exchange_weak(object, expected, desired, success, failure)                        \
    (object)->compare_exchange_weak(*(expected), (desired), (success), (failure))
#define ilk_atomic_fence(order) std::atomic_thread_fence(order)
#define ilk_compiler_fence() std::atomic_signal_fence(std::memory_order_seq_cst)

#endif
