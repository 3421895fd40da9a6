/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/arch/aarch64/stubs.S - what runs before and after an intercepted function.
 *
 * Functions with another convention for vector registers (SVE, vector PCS) are marked in their symbols and never come
 * here.
 */

  .section .note.GNU-stack, "", %progbits

#if defined(__aarch64__)

  .text

  .macro general op
  \op x0, x1, [sp, #16]
  \op x2, x3, [sp, #32]
  \op x4, x5, [sp, #48]
  \op x6, x7, [sp, #64]
  \op x8, x9, [sp, #80]
  \op x10, x11, [sp, #96]
  \op x12, x13, [sp, #112]
  \op x14, x15, [sp, #128]
  .endm
  .macro vectors op
  \op q0, q1, [sp, #144]
  \op q2, q3, [sp, #176]
  \op q4, q5, [sp, #208]
  \op q6, q7, [sp, #240]
  .endm

#define FRAME 288

/*
 * From a thunk: x16 is where the function is described, its target first. Without a consumer it jumps on to the target.
 */
  .globl pml__arch_enter
  .hidden pml__arch_enter
  .type pml__arch_enter, %function
  .balign 64
pml__arch_enter:
  .cfi_startproc
  hint #36 /* bti j and c: the thunk jumps here */
  adrp x17, pml__stream_generation
  ldr x17, [x17, #:lo12:pml__stream_generation] /* of enters: no consumer */
  cmn x17, #1
  b.ne .Lenter_wanted
  ldr x16, [x16]
  br x16
.Lenter_wanted:
  stp x29, x30, [sp, #-FRAME]!
  .cfi_def_cfa_offset FRAME
  .cfi_offset x29, -FRAME
  .cfi_offset x30, -FRAME + 8
  mov x29, sp
  general stp
  stp x18, x16, [sp, #272]
  mov x0, x16
  mov x1, x30
  add x2, sp, #FRAME
  bl pml__call_enter
  cmp x0, #1 /* PML__CALL_BEGUN */
  b.ls .Lenter_all
.Lenter_recorded:
  mov x17, x0
  ldr x16, [sp, #280]
  ldr x16, [x16]
  b .Lenter_go
.Lenter_all:
  mov w3, w0
  vectors stp
  ldr x0, [sp, #280]
  ldr x1, [sp, #8]
  add x2, sp, #FRAME
  bl pml__call_enter_full
  vectors ldp
  cbnz x0, .Lenter_recorded
  ldr x17, [sp, #280]
  ldr x17, [x17]
.Lenter_go:
  general ldp
  ldr x18, [sp, #272]
  ldp x29, x30, [sp], #FRAME
  .cfi_restore x29
  .cfi_restore x30
  .cfi_def_cfa_offset 0
  br x17
  .cfi_endproc
  .size pml__arch_enter, . - pml__arch_enter

/* From a return slot: x16 is its code. */
  .globl pml__arch_leave
  .hidden pml__arch_leave
  .type pml__arch_leave, %function
  .balign 64
pml__arch_leave:
  .cfi_startproc
  .cfi_register x30, x16
  stp x29, x16, [sp, #-FRAME]!
  .cfi_def_cfa_offset FRAME
  .cfi_offset x29, -FRAME
  .cfi_offset x30, -FRAME + 8
  mov x29, sp
  general stp
  str x18, [sp, #272]
  mov x0, x16
  add x1, sp, #FRAME
  bl pml__call_leave
  cmp x0, #1
  b.ls .Lleave_all
.Lleave_done:
  str x0, [sp, #8]
  general ldp
  ldr x18, [sp, #272]
  .cfi_remember_state
  ldp x29, x30, [sp], #FRAME
  .cfi_restore x29
  .cfi_restore x30
  .cfi_def_cfa_offset 0
  ret
.Lleave_all:
  .cfi_restore_state
  mov w2, w0
  vectors stp
  ldr x0, [sp, #8]
  add x1, sp, #FRAME
  bl pml__call_leave_full
  vectors ldp
  b .Lleave_done
  .cfi_endproc
  .size pml__arch_leave, . - pml__arch_leave

#endif
