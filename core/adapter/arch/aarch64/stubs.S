/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/arch/aarch64/stubs.S - what runs before and after an intercepted function.
 *
 * The function may use a calling convention other than C's: preserve_most and preserve_all preserve registers that C
 * clobbers. The stubs therefore change only x16 and x17, which a PLT may also change. Functions with another vector
 * register convention (SVE, vector PCS) are marked in their symbols and are never intercepted.
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
  \op q0, q1, [sp]
  \op q2, q3, [sp, #32]
  \op q4, q5, [sp, #64]
  \op q6, q7, [sp, #96]
  \op q8, q9, [sp, #128]
  \op q10, q11, [sp, #160]
  \op q12, q13, [sp, #192]
  \op q14, q15, [sp, #224]
  \op q16, q17, [sp, #256]
  \op q18, q19, [sp, #288]
  \op q20, q21, [sp, #320]
  \op q22, q23, [sp, #352]
  \op q24, q25, [sp, #384]
  \op q26, q27, [sp, #416]
  \op q28, q29, [sp, #448]
  \op q30, q31, [sp, #480]
  .endm
  .macro save_vectors
  sub sp, sp, #512
  .cfi_adjust_cfa_offset 512
  vectors stp
  .endm
  .macro load_vectors
  vectors ldp
  add sp, sp, #512
  .cfi_adjust_cfa_offset -512
  .endm

#define FRAME 160

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
  stp x18, x16, [sp, #144]
  mov x0, x16
  mov x1, x30
  add x2, sp, #FRAME
  bl pml__call_enter
  cmp x0, #1 /* PML__CALL_BEGUN */
  b.ls .Lenter_all
.Lenter_recorded:
  mov x17, x0
  ldr x16, [sp, #152]
  ldr x16, [x16]
  b .Lenter_go
.Lenter_all:
  mov w3, w0
  save_vectors
  ldr x0, [x29, #152]
  ldr x1, [x29, #8]
  add x2, x29, #FRAME
  bl pml__call_enter_full
  load_vectors
  cbnz x0, .Lenter_recorded
  ldr x17, [sp, #152]
  ldr x17, [x17]
.Lenter_go:
  general ldp
  ldr x18, [sp, #144]
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
  str x18, [sp, #144]
  mov x0, x16
  add x1, sp, #FRAME
  bl pml__call_leave
  cmp x0, #1
  b.ls .Lleave_all
.Lleave_done:
  str x0, [sp, #8]
  general ldp
  ldr x18, [sp, #144]
  .cfi_remember_state
  ldp x29, x30, [sp], #FRAME
  .cfi_restore x29
  .cfi_restore x30
  .cfi_def_cfa_offset 0
  ret
.Lleave_all:
  .cfi_restore_state
  mov w2, w0
  save_vectors
  ldr x0, [x29, #8]
  add x1, x29, #FRAME
  bl pml__call_leave_full
  load_vectors
  b .Lleave_done
  .cfi_endproc
  .size pml__arch_leave, . - pml__arch_leave

#endif
