/* SPDX-License-Identifier: Apache-2.0
 *
 * What the model's <interlock/inline/atomic.h> expands to: one function per kind of operation, on
 * values of up to eight bytes widened to uint64_t, with the place in the source.
 */
#ifndef EXPLORER_ENGINE_ATOMICS_H
#define EXPLORER_ENGINE_ATOMICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The place of an operation in the source; one static constant per use of a macro. */
typedef struct ex_site {
    const char *file;
    int line;
    const char *object;
} ex_site;

typedef enum ex_update { EX_EXCHANGE, EX_ADD, EX_SUBTRACT, EX_OR, EX_AND } ex_update;

uint64_t ex_atomic_load(const volatile void *object, unsigned size, int order, const ex_site *site);
void ex_atomic_store(volatile void *object, unsigned size, uint64_t value, int order, const ex_site *site);
uint64_t ex_atomic_update(volatile void *object, unsigned size, ex_update update, uint64_t operand, int order,
                          const ex_site *site);
/* `expected` has `size` bytes, and gets the value read when the comparison fails. */
bool ex_atomic_compare_exchange(volatile void *object, unsigned size, void *expected, uint64_t desired,
                                int success, int failure, bool weak, const ex_site *site);
void ex_atomic_fence(int order, const ex_site *site);
void ex_atomic_relax(const ex_site *site);
void ex_plain_read(const volatile void *address, size_t size, const ex_site *site);
void ex_plain_write(const volatile void *address, size_t size, const ex_site *site);
/* The end of the memory: a write to those parts of it that the model has seen used. */
void ex_plain_retire(const volatile void *address, size_t size, const ex_site *site);

#endif
