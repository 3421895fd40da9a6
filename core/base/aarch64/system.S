/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/base/aarch64/system.S - a system call that goes through no function of the C library.
 *
 *     long pml__system(long number, const long argument[6]);  the kernel's answer: -errno where it fails
 */

  .section .note.GNU-stack, "", %progbits

#if defined(__aarch64__)

  .text
  .globl pml__system
  .hidden pml__system
  .type pml__system, %function
  .balign 16
pml__system:
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
  .size pml__system, . - pml__system

#endif
