/* SPDX-License-Identifier: Apache-2.0
 *
 * The model's port of atomics, first on the include path: the core's unchanged sources run under the
 * explorer. An ILK_ATOMIC is a plain object here and always holds the newest store, on which plain
 * initialisation before sharing and checks after the end rely.
 */
#ifndef INTERLOCK_INLINE_ATOMIC_H
#define INTERLOCK_INLINE_ATOMIC_H

#include "../../../engine/atomics.h"
#include <stdatomic.h> /* the memory_order_ constants only */

#define ILK_ATOMIC(type) __typeof__(type)

#define EX_HERE(object)                                                                                      \
    (__extension__({                                                                                         \
        static const ex_site ex_site_here = {__FILE__, __LINE__, object};                                    \
        &ex_site_here;                                                                                       \
    }))
/* A statement expression, so that an unused result is no warning. */
#define EX_AS(object, value)                                                                                 \
    (__extension__({                                                                                         \
        __typeof__(*(object)) ex_result = (__typeof__(*(object)))(value);                                    \
        ex_result;                                                                                           \
    }))

#define ilk_atomic_load(object, order)                                                                       \
    EX_AS(object, ex_atomic_load((object), sizeof *(object), (order), EX_HERE(#object)))
#define ilk_atomic_store(object, value, order)                                                               \
    ex_atomic_store((object), sizeof *(object), (uint64_t)(value), (order), EX_HERE(#object))
#define EX_UPDATE(object, update, value, order)                                                              \
    EX_AS(object, ex_atomic_update((object), sizeof *(object), (update), (uint64_t)(value), (order),         \
                                   EX_HERE(#object)))
#define ilk_atomic_exchange(object, value, order) EX_UPDATE(object, EX_EXCHANGE, value, order)
#define ilk_atomic_fetch_add(object, value, order) EX_UPDATE(object, EX_ADD, value, order)
#define ilk_atomic_fetch_sub(object, value, order) EX_UPDATE(object, EX_SUBTRACT, value, order)
#define ilk_atomic_fetch_or(object, value, order) EX_UPDATE(object, EX_OR, value, order)
#define ilk_atomic_fetch_and(object, value, order) EX_UPDATE(object, EX_AND, value, order)
#define ilk_atomic_compare_exchange(object, expected, desired, success, failure)                             \
    ex_atomic_compare_exchange((object), sizeof *(object), (expected), (uint64_t)(desired), (success),       \
                               (failure), false, EX_HERE(#object))
#define ilk_atomic_compare_exchange_weak(object, expected, desired, success, failure)                        \
    ex_atomic_compare_exchange((object), sizeof *(object), (expected), (uint64_t)(desired), (success),       \
                               (failure), true, EX_HERE(#object))
#define ilk_atomic_fence(order) ex_atomic_fence((order), EX_HERE("fence"))
/* The model's threads run in program order: a compiler barrier has no effect. */
#define ilk_compiler_fence() ((void)0)
#define ilk_cpu_relax() ex_atomic_relax(EX_HERE("relax"))

#define ilk_plain_read(address, size) ex_plain_read((address), (size), EX_HERE(#address))
#define ilk_plain_write(address, size) ex_plain_write((address), (size), EX_HERE(#address))

#endif
