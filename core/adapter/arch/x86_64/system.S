/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/arch/x86_64/system.S - a system call, for code that replaces the C library's syscall().
 *
 *     long pml__arch_system(long number, const long argument[6]);  the kernel's answer: -errno where it fails
 */

  .section .note.GNU-stack, "", %progbits

#if defined(__x86_64__)

  .text
  .globl pml__arch_system
  .hidden pml__arch_system
  .type pml__arch_system, @function
  .balign 16
pml__arch_system:
  .cfi_startproc
  endbr64
  movq %rdi, %rax
  movq %rsi, %rcx
  movq (%rcx), %rdi
  movq 8(%rcx), %rsi
  movq 16(%rcx), %rdx
  movq 24(%rcx), %r10
  movq 32(%rcx), %r8
  movq 40(%rcx), %r9
  syscall
  ret
  .cfi_endproc
  .size pml__arch_system, . - pml__arch_system

#endif
