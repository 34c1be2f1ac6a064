/* SPDX-License-Identifier: Apache-2.0
 *
 * Fibers over <ucontext.h>, for other machines. Every switch makes a system call for the signal mask.
 */
#include "fiber.h"
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <ucontext.h>

uintptr_t ex_stack_base;

static ucontext_t contexts[16];
static ucontext_t engine; /* the context that switches without having been started */

void ex_fibers_open(unsigned count) {
    void *wanted = (void *)(uintptr_t)0x6100000000;
    void *got = mmap(wanted, (size_t)count * EX_STACK_SIZE, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != wanted || count > sizeof contexts / sizeof contexts[0]) {
        perror("explorer: no memory for stacks");
        exit(2);
    }
    ex_stack_base = (uintptr_t)got;
}

void ex_fiber_start(ex_fiber *fiber, unsigned index, void (*entry)(void)) {
    ucontext_t *context = &contexts[index];
    getcontext(context);
    context->uc_stack.ss_sp = (void *)(ex_stack_base + (uintptr_t)index * EX_STACK_SIZE);
    context->uc_stack.ss_size = EX_STACK_SIZE;
    context->uc_link = NULL;
    makecontext(context, entry, 0);
    fiber->saved = context;
}

void ex_fiber_switch(ex_fiber *from, ex_fiber *to) {
    if (from->saved == NULL) {
        from->saved = &engine;
    }
    swapcontext(from->saved, to->saved);
}

uintptr_t ex_fiber_depth(const ex_fiber *fiber) {
    /* The stack pointer's place differs by machine. 0: returned frames are not told from live ones. */
    ucontext_t *context = fiber->saved;
    return (uintptr_t)context->uc_stack.ss_sp;
}
