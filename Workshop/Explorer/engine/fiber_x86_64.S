/* SPDX-License-Identifier: Apache-2.0
 *
 * ex_switch_stacks(void **save, void *load) for the System V convention: pushes the registers a
 * callee keeps, swaps stack pointers, pops the other fiber's and returns into it. The floating-point
 * control words are not kept: nothing here changes them.
 */
#if defined(__x86_64__)
    .text
    .globl ex_switch_stacks
    .type ex_switch_stacks, @function
    .p2align 4
ex_switch_stacks:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
    .size ex_switch_stacks, . - ex_switch_stacks
#endif
    .section .note.GNU-stack, "", @progbits
