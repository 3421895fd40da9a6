/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/arch/aarch64/doors.S - doors to dlopen, dlsym and dlvsym, which look at their return address to know who
 * asks: what needs that goes on to the true function as it came.
 */

  .section .note.GNU-stack, "", %progbits

#if defined(__aarch64__)

  .text

/* Who decides has the same arguments and, in register @caller, the return address. */
  .macro door name, caller
  .globl pml__arch_\name
  .hidden pml__arch_\name
  .type pml__arch_\name, %function
  .balign 16
pml__arch_\name:
  .cfi_startproc
  hint #34 /* bti c */
  stp x29, x30, [sp, #-48]!
  .cfi_def_cfa_offset 48
  .cfi_offset x29, -48
  .cfi_offset x30, -40
  mov x29, sp
  stp x0, x1, [sp, #16]
  str x2, [sp, #32]
  mov \caller, x30
  bl pml__intercept_takes_\name
  and w16, w0, #0xff
  ldp x0, x1, [sp, #16]
  ldr x2, [sp, #32]
  ldp x29, x30, [sp], #48
  .cfi_restore x29
  .cfi_restore x30
  .cfi_def_cfa_offset 0
  cbnz w16, 1f
  adrp x16, pml__intercept_real_\name
  ldr x16, [x16, #:lo12:pml__intercept_real_\name]
  br x16
1:
  b pml__intercept_\name
  .cfi_endproc
  .size pml__arch_\name, . - pml__arch_\name
  .endm

  door dlopen, x2
  door dlsym, x2
  door dlvsym, x3

#endif
