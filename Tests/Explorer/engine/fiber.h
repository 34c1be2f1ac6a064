/* SPDX-License-Identifier: Apache-2.0
 *
 * Fibers: threads of the model, each on a stack of its own. A switch saves only the callee-saved registers,
 * in a dozen instructions, because a search makes tens of millions of switches. fiber_x86_64.S and
 * fiber_aarch64.S have it; fiber_ucontext.c is portable and slow. Starting another fiber on its stack drops a
 * fiber.
 */
#ifndef EXPLORER_ENGINE_FIBER_H
#define EXPLORER_ENGINE_FIBER_H

#include <stddef.h>
#include <stdint.h>

enum { EX_STACK_SIZE = 64 * 1024 };

typedef struct ex_fiber {
    void *saved; /* stack pointer while switched out; with ucontext the context */
} ex_fiber;

/* All stacks lie in one region at a fixed address, so that a schedule replays the same in another process.
 * Fiber i's begins at ex_stack_base + i * EX_STACK_SIZE. */
extern uintptr_t ex_stack_base;

void ex_fibers_open(unsigned count);
void ex_fiber_start(ex_fiber *fiber, unsigned index, void (*entry)(void));
void ex_fiber_switch(ex_fiber *from, ex_fiber *to);

/* The lowest address of a switched-out fiber's stack that is in use. */
uintptr_t ex_fiber_depth(const ex_fiber *fiber);

#endif
