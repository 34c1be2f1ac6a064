/* SPDX-License-Identifier: Apache-2.0
 *
 * What the model's <interlock/inline/atomic.h> expands to, on values of up to eight bytes widened to
 * uint64_t.
 */
#ifndef EXPLORER_ENGINE_ATOMICS_H
#define EXPLORER_ENGINE_ATOMICS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An operation's place in the source. */
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
/* A failed comparison writes the value read to the `size` bytes of `expected`. */
bool ex_atomic_compare_exchange(volatile void *object, unsigned size, void *expected, uint64_t desired,
                                int success, int failure, bool weak, const ex_site *site);
void ex_atomic_fence(int order, const ex_site *site);
void ex_atomic_relax(const ex_site *site);
void ex_plain_read(const volatile void *address, size_t size, const ex_site *site);
void ex_plain_write(const volatile void *address, size_t size, const ex_site *site);
/* The memory's end: a write to the parts that the model has seen used. */
void ex_plain_retire(const volatile void *address, size_t size, const ex_site *site);

#endif
