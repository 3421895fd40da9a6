/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/arch/aarch64/system.S - a system call, for code that replaces the C library's syscall().
 *
 *     long pml__arch_system(long number, const long argument[6]);  the kernel's answer: -errno where it fails
 */

  .section .note.GNU-stack, "", %progbits

#if defined(__aarch64__)

  .text
  .globl pml__arch_system
  .hidden pml__arch_system
  .type pml__arch_system, %function
  .balign 16
pml__arch_system:
  .cfi_startproc
  hint #34 /* bti c */
  mov x8, x0
  mov x9, x1
  ldp x0, x1, [x9]
  ldp x2, x3, [x9, #16]
  ldp x4, x5, [x9, #32]
  svc #0
  ret
  .cfi_endproc
  .size pml__arch_system, . - pml__arch_system

#endif
