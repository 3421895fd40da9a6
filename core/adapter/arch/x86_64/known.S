/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/arch/x86_64/known.S - loops of which each instruction is known (pml_known.h). @n is above 0. */

  .section .note.GNU-stack, "", %progbits

#if defined(__x86_64__)

  .macro function name
  .globl \name
  .hidden \name
  .type \name, @function
  .balign 64
\name:
  .cfi_startproc
  endbr64
  .endm

  .macro end_function name
  ret
  .cfi_endproc
  .size \name, . - \name
  .endm

  .text

function pml__known_chain
  movl $1, %eax
  movl $3, %ecx
  .balign 16
1:
  .rept 8
  xorq %rcx, %rax /* no processor drops it, or does two at once */
  .endr
  decq %rdi
  jnz 1b
end_function pml__known_chain

function pml__known_copy
  leaq -8(%rsp), %rcx
  .balign 16
1:
  movq (%rsp), %rax
  movq %rax, (%rcx)
  decq %rdi
  jnz 1b
end_function pml__known_copy

function pml__known_flops
  xorps %xmm0, %xmm0
  xorps %xmm1, %xmm1
  .balign 16
1:
  addsd %xmm0, %xmm0
  mulsd %xmm1, %xmm1
  decq %rdi
  jnz 1b
end_function pml__known_flops

function pml__known_random
  movabsq $0x9e3779b97f4a7c15, %rax
  .balign 16
1:
  movq %rax, %rcx
  shlq $13, %rcx
  xorq %rcx, %rax
  movq %rax, %rcx
  shrq $7, %rcx
  xorq %rcx, %rax
  movq %rax, %rcx
  shlq $17, %rcx
  xorq %rcx, %rax
  testl $0x100000, %eax
  jz 2f
  nop
2:
  decq %rdi
  jnz 1b
end_function pml__known_random

#endif
