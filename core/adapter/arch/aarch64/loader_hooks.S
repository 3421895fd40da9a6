/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/arch/aarch64/loader_hooks.S - entry code of the loader hooks (pml_loader_hooks.h).
 */

  .section .note.GNU-stack, "", %progbits

#if defined(__aarch64__)

  .text

/* struct pml__loader_hook (pml_loader_hooks.h): takes, instead, real. */
#define HOOK_BYTES 48

/* The deciding function has the same arguments and, in register @caller, the return address. */
  .macro loader_hook name, index, caller
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
  adrp x16, pml__loader_hook + HOOK_BYTES * \index
  add x16, x16, #:lo12:pml__loader_hook + HOOK_BYTES * \index
  ldr x16, [x16]
  blr x16
  and w16, w0, #0xff
  ldp x0, x1, [sp, #16]
  ldr x2, [sp, #32]
  ldp x29, x30, [sp], #48
  .cfi_restore x29
  .cfi_restore x30
  .cfi_def_cfa_offset 0
  adrp x17, pml__loader_hook + HOOK_BYTES * \index
  add x17, x17, #:lo12:pml__loader_hook + HOOK_BYTES * \index
  cbnz w16, 1f
  ldr x16, [x17, #16]
  br x16
1:
  ldr x16, [x17, #8]
  br x16
  .cfi_endproc
  .size pml__arch_\name, . - pml__arch_\name
  .endm

  loader_hook dlopen, 0, x2
  loader_hook dlsym, 1, x2
  loader_hook dlvsym, 2, x3
  loader_hook dlmopen, 3, x3

#endif
