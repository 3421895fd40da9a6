/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/base/x86_64/system.S - a system call that goes through no function of the C library.
 *
 *     long pml__system(long number, const long argument[6]);  the kernel's answer: -errno where it fails
 */

  .section .note.GNU-stack, "", %progbits

#if defined(__x86_64__)

  .text
  .globl pml__system
  .hidden pml__system
  .type pml__system, @function
  .balign 16
pml__system:
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
  .size pml__system, . - pml__system

#endif
