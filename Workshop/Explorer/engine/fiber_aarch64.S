/* SPDX-License-Identifier: Apache-2.0
 *
 * ex_switch_stacks(void **save, void *load) for AAPCS64: keeps x19 to x30 and d8 to d15, swaps stack
 * pointers and returns through x30, which in a new fiber's first frame is its entry.
 */
#if defined(__aarch64__)
    .text
    .globl ex_switch_stacks
    .type ex_switch_stacks, %function
    .p2align 4
ex_switch_stacks:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
    .size ex_switch_stacks, . - ex_switch_stacks
#endif
    .section .note.GNU-stack, "", %progbits
