/* SPDX-License-Identifier: Apache-2.0
 *
 * Fibers over fiber_x86_64.S or fiber_aarch64.S: the stacks and a new fiber's first frame, which has the
 * callee-saved registers, all zero, and the entry's address where the switch returns to.
 */
#include "fiber.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

uintptr_t ex_stack_base;

#if defined(__x86_64__)
enum { RETURN_WORD = 6, FRAME_SIZE_WORDS = 8 };
#elif defined(__aarch64__)
enum { RETURN_WORD = 11, FRAME_SIZE_WORDS = 20 };
#endif

void ex_switch_stacks(void **save, void *load);

void ex_fibers_open(unsigned count) {
    void *wanted = (void *)(uintptr_t)0x6100000000;
    void *got = mmap(wanted, (size_t)count * EX_STACK_SIZE, PROT_READ | PROT_WRITE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
    if (got != wanted) {
        perror("explorer: no memory for stacks");
        exit(2);
    }
    ex_stack_base = (uintptr_t)got;
}

static _Noreturn void fell_off(void) {
    fputs("explorer: a fiber's entry returned\n", stderr);
    abort();
}

void ex_fiber_start(ex_fiber *fiber, unsigned index, void (*entry)(void)) {
    uintptr_t top = ex_stack_base + (uintptr_t)(index + 1) * EX_STACK_SIZE - 64;
    /* On entry the stack pointer is as after a call: on x86-64 a multiple of 16 less 8. */
    uintptr_t *frame = (uintptr_t *)(top - FRAME_SIZE_WORDS * sizeof(uintptr_t));
    memset(frame, 0, FRAME_SIZE_WORDS * sizeof *frame);
    frame[RETURN_WORD] = (uintptr_t)entry;
#if defined(__x86_64__)
    frame[RETURN_WORD + 1] = (uintptr_t)fell_off;
#else
    (void)fell_off;
#endif
    fiber->saved = frame;
}

void ex_fiber_switch(ex_fiber *from, ex_fiber *to) {
    ex_switch_stacks(&from->saved, to->saved);
}

uintptr_t ex_fiber_depth(const ex_fiber *fiber) {
    return (uintptr_t)fiber->saved;
}
