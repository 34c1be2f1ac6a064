/* SPDX-License-Identifier: Apache-2.0
 *
 * Fibers: threads of the model, each on a stack of its own. A switch saves only the callee-saved registers
 * (fiber_x86_64.S, fiber_aarch64.S), because a search makes tens of millions of switches. Starting another
 * fiber on its stack drops a fiber.
 */
#ifndef EXPLORER_ENGINE_FIBER_H
#define EXPLORER_ENGINE_FIBER_H

#include <stddef.h>
#include <stdint.h>

enum { EX_STACK_SIZE = 64 * 1024 };

typedef struct ex_fiber {
    void *saved; /* stack pointer while switched out; with ucontext the context */
} ex_fiber;

/* All stacks lie in one region at a fixed address, so that a schedule replays in another process. */
extern uintptr_t ex_stack_base;

void ex_fibers_open(unsigned count);
void ex_fiber_start(ex_fiber *fiber, unsigned index, void (*entry)(void));
void ex_fiber_switch(ex_fiber *from, ex_fiber *to);

/* The lowest used address of a switched-out fiber's stack. */
uintptr_t ex_fiber_depth(const ex_fiber *fiber);

#endif
