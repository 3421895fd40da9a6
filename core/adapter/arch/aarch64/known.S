/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/arch/aarch64/known.S - loops of which each instruction is known (pml_known.h). @n is above 0. */

  .section .note.GNU-stack, "", %progbits

#if defined(__aarch64__)

  .macro function name
  .globl \name
  .hidden \name
  .type \name, %function
  .balign 64
\name:
  .cfi_startproc
  hint #34 /* bti c */
  .endm

  .macro end_function name
  ret
  .cfi_endproc
  .size \name, . - \name
  .endm

  .text

function pml__known_chain
  mov x1, #1
  mov x2, #3
1:
  .rept 8
  eor x1, x1, x2
  .endr
  subs x0, x0, #1
  b.ne 1b
end_function pml__known_chain

function pml__known_copy
  sub sp, sp, #16
  .cfi_adjust_cfa_offset 16
  str xzr, [sp]
1:
  ldr x1, [sp]
  str x1, [sp, #8]
  subs x0, x0, #1
  b.ne 1b
  add sp, sp, #16
  .cfi_adjust_cfa_offset -16
end_function pml__known_copy

function pml__known_flops
  fmov d0, xzr
  fmov d1, xzr
1:
  fadd d0, d0, d0
  fmul d1, d1, d1
  subs x0, x0, #1
  b.ne 1b
end_function pml__known_flops

function pml__known_random
  ldr x1, =0x9e3779b97f4a7c15
1:
  eor x1, x1, x1, lsl #13
  eor x1, x1, x1, lsr #7
  eor x1, x1, x1, lsl #17
  tbz x1, #20, 2f
  nop
2:
  subs x0, x0, #1
  b.ne 1b
end_function pml__known_random

#endif
