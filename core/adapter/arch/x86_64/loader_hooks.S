/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/arch/x86_64/loader_hooks.S - entry code of the loader hooks (pml_loader_hooks.h).
 */

  .section .note.GNU-stack, "", %progbits

#if defined(__x86_64__)

  .text

/* struct pml__loader_hook (pml_loader_hooks.h): takes, instead, real. */
#define HOOK_BYTES 48

/* The deciding function has the same arguments and, in register @caller, the return address. */
  .macro loader_hook name, index, caller
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
  call *pml__loader_hook + HOOK_BYTES * \index(%rip)
  movl %eax, %ecx
  popq %rdx
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  testb %cl, %cl
  jz 1f
  jmp *pml__loader_hook + HOOK_BYTES * \index + 8(%rip)
1:
  jmp *pml__loader_hook + HOOK_BYTES * \index + 16(%rip)
  .cfi_endproc
  .size pml__arch_\name, . - pml__arch_\name
  .endm

  loader_hook dlopen, 0, rdx
  loader_hook dlsym, 1, rdx
  loader_hook dlvsym, 2, rcx
  loader_hook dlmopen, 3, rcx

#endif
