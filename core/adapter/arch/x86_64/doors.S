/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/arch/x86_64/doors.S - doors to dlopen, dlsym and dlvsym, which look at their return address to know who
 * asks: what needs that goes on to the true function as it came.
 */

  .section .note.GNU-stack, "", %progbits

#if defined(__x86_64__)

  .text

/* Who decides has the same arguments and, in register @caller, the return address. */
  .macro door name, caller
  .globl pml__arch_\name
  .hidden pml__arch_\name
  .type pml__arch_\name, @function
  .balign 16
pml__arch_\name:
  .cfi_startproc
  endbr64
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  pushq %rdx
  .cfi_adjust_cfa_offset 8
  movq 24(%rsp), %\caller
  call pml__intercept_takes_\name
  movl %eax, %ecx
  popq %rdx
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  testb %cl, %cl
  jnz pml__intercept_\name
  jmp *pml__intercept_real_\name(%rip)
  .cfi_endproc
  .size pml__arch_\name, . - pml__arch_\name
  .endm

  door dlopen, rdx
  door dlsym, rdx
  door dlvsym, rcx

#endif
