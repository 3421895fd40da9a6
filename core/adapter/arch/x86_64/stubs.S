/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/arch/x86_64/stubs.S - what runs before and after an intercepted function.
 *
 * The function may use a calling convention other than C's: ms_abi, preserve_most and regcall preserve registers that C
 * clobbers, or pass arguments and results in them. The stubs therefore change only r11, which a PLT may also change.
 */

  .section .note.GNU-stack, "", %progbits

#if defined(__x86_64__)

#include "adapter/arch/pml_call_layout.h"

  .data
  .globl pml__arch_state, pml__arch_state_bytes
  .hidden pml__arch_state, pml__arch_state_bytes
  .type pml__arch_state, @object
  .type pml__arch_state_bytes, @object
  .balign 8
pml__arch_state_bytes: /* size of the area that registers are saved in */
  .quad 576
pml__arch_state: /* components to save, of XCR0, and the flags below; 0: with FXSAVE */
  .long 0
  .size pml__arch_state_bytes, 8
  .size pml__arch_state, 4

  .section .data.rel.ro.local, "aw", @progbits
  .balign 8
known:
  .quad pml__call_table + KNOWN_AT

  .text

/*
 * The x87, vector and mask registers to the stack, for a function in C, whose x87 is empty; and back. State that is not
 * in use stays so: zeros loaded into upper halves would slow all SSE code that follows. Moves of the registers in use
 * take a third of the time of XSAVEC and XRSTOR on some processors; where XGETBV does not tell which are in use, or the
 * x87 has values on its stack, these save all. Without values only the status of the x87 can change, because functions
 * in C preserve its control word, and no convention preserves MMX registers.
 * -16(%rbp): the components that moves saved, and MOVED; or 0. Clobber rax, rcx, rdx.
 */
#define STATE_XSAVEC 0x80000000
#define STATE_MOVES 0x40000000
#define X87 0x01
#define AVX 0x04
#define AVX512 0xe0
#define MOVED 0x100
#define TOP 0x3800 /* of the x87's stack, in its status */
/* In the area: MXCSR, the x87's status, its environment; and behind the header that XRSTOR reads. */
#define STATUS_AT 4
#define ENVIRONMENT_AT 64
#define REGISTERS_AT 576
#define MASKS_AT 576 + 32 * 64

  .macro each_register operation, register, bytes, numbers:vararg
  .irp number, \numbers
  \operation \register\number, \bytes, \number
  .endr
  .endm
  .macro store register, bytes, number
  vmovups %\register, REGISTERS_AT + \bytes * \number(%rsp)
  .endm
  .macro load register, bytes, number
  vmovups REGISTERS_AT + \bytes * \number(%rsp), %\register
  .endm
  .macro store_mask register, bytes, number
  kmovq %\register, MASKS_AT + \bytes * \number(%rsp)
  .endm
  .macro load_mask register, bytes, number
  kmovq MASKS_AT + \bytes * \number(%rsp), %\register
  .endm
#define LOW 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
#define HIGH 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
#define MASKS 0, 1, 2, 3, 4, 5, 6, 7

  .macro clear_header
  xorl %edx, %edx
  .irp at, 512, 520, 528, 536, 544, 552, 560, 568
  movq %rdx, \at(%rsp)
  .endr
  .endm

  .macro save_state
  subq pml__arch_state_bytes(%rip), %rsp
  andq $-64, %rsp
  testl $STATE_MOVES, pml__arch_state(%rip)
  jz 4f
  movl $1, %ecx
  xgetbv
  xorl %edx, %edx
  testl $X87, %eax
  jz 7f
  movl %eax, %ecx
  fnstsw %ax
  movzwl %ax, %edx
  movl %ecx, %eax
  testl $TOP, %edx
  jnz 4f
  emms
7:
  orl $MOVED, %eax
  movl %eax, -16(%rbp)
  stmxcsr (%rsp)
  movl %edx, STATUS_AT(%rsp)
  testl $AVX512, %eax
  jnz 6f
  testl $AVX, %eax
  jnz 5f
  each_register store, xmm, 16, LOW
  jmp 8f
5:
  each_register store, ymm, 32, LOW
  jmp 8f
6:
  each_register store, zmm, 64, LOW
  each_register store, zmm, 64, HIGH
  each_register store_mask, k, 8, MASKS
  jmp 8f
4:
  clear_header
  movl %edx, -16(%rbp)
  movl pml__arch_state(%rip), %eax
  testl %eax, %eax
  jz 1f
  js 2f
  xsave64 (%rsp)
  jmp 3f
1:
  fxsave64 (%rsp)
  jmp 3f
2:
  xsavec64 (%rsp)
3:
  emms
8:
  .endm

/*
 * What the function in C began to use is put out of use by XRSTOR; with the upper halves of AVX, by vzeroupper: moves of
 * xmm registers clear them, but some processors slow SSE code until then. XGETBV takes longer than the moves, so it is
 * left out where only the x87 can have come into use, whose status is not 0 then if anything can be seen of it.
 */
  .macro load_state
  movl -16(%rbp), %ecx
  testl %ecx, %ecx
  jz 4f
  fnstsw %ax
  cmpw %ax, STATUS_AT(%rsp)
  je 2f
  testl $X87, %ecx
  jz 1f
  fnstenv ENVIRONMENT_AT(%rsp)
  movl STATUS_AT(%rsp), %eax
  movw %ax, 4 + ENVIRONMENT_AT(%rsp)
  fldenv ENVIRONMENT_AT(%rsp)
2:
  testl $AVX512, %ecx
  jnz 3f
  testl $AVX512, pml__arch_state(%rip)
  jz 3f
1:
  movl $1, %ecx
  xgetbv
  movl -16(%rbp), %ecx
  movl %ecx, %edx
  notl %edx
  andl %edx, %eax
  andl $X87 | AVX512, %eax
  jz 3f
  clear_header
  xrstor64 (%rsp)
3:
  ldmxcsr (%rsp)
  testl $AVX512, %ecx
  jnz 6f
  testl $AVX, %ecx
  jnz 5f
  vzeroupper
  each_register load, xmm, 16, LOW
  jmp 8f
5:
  each_register load, ymm, 32, LOW
  jmp 8f
6:
  each_register load, zmm, 64, LOW
  each_register load, zmm, 64, HIGH
  each_register load_mask, k, 8, MASKS
  jmp 8f
4:
  xorl %edx, %edx
  movl pml__arch_state(%rip), %eax
  testl %eax, %eax
  jz 1f
  xrstor64 (%rsp)
  jmp 8f
1:
  fxrstor64 (%rsp)
8:
  .endm

  .macro push registers:vararg
  .irp register, \registers
  pushq %\register
  .cfi_adjust_cfa_offset 8
  .endr
  .endm
  .macro pop registers:vararg
  .irp register, \registers
  popq %\register
  .cfi_adjust_cfa_offset -8
  .endr
  .endm

  .macro frame bytes
  pushq %rbp
  .cfi_adjust_cfa_offset 8
  .cfi_rel_offset %rbp, 0
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  subq $\bytes, %rsp
  .endm

/*
 * @thread: the thread's block. Begins a delivery, whose guard also claims the thread's lists, if none is under way, the
 * thread is not suspended, and it has learnt the consumers in use, which all have fast functions. Otherwise jumps to
 * @other, with nothing changed. Clobbers rax.
 */
  .macro begin thread, other
  movq THREAD_GUARD(%\thread), %rax
  testq %rax, %rax
  jns \other
  movq %rsp, THREAD_GUARD(%\thread) /* before the test, as pml_stream.c says */
  cmpq pml__stream_sparing(%rip), %rax
  jne \other\()_restore
  .endm
  .macro restore thread, other
\other\()_restore:
  movq %rax, THREAD_GUARD(%\thread)
\other:
  .endm
/* Clobbers rax. */
  .macro end thread
  movq THREAD_FREE(%\thread), %rax
  movq %rax, THREAD_GUARD(%\thread)
  .endm
/* To %rdx. Clobbers rax. */
  .macro clock
  rdtsc
  shlq $32, %rdx
  orq %rax, %rdx
  .endm

/*
 * From a thunk: %r11 is the address of the function's description, whose first word is its target. r10 may contain the
 * frame of the outer function of a nested one. Without a consumer the stub jumps to the target.
 *
 * The stub handles the usual case of pml__call_enter(): consumers that leave r8 to r11 alone, a free frame, a known
 * return address, no tail call, no call that a longjmp ended. pml__call_enter() handles other calls, with all general
 * registers saved.
 */
  .globl pml__arch_enter
  .hidden pml__arch_enter
  .type pml__arch_enter, @function
  .balign 64
pml__arch_enter:
  .cfi_startproc
  cmpq $-1, pml__stream_generation(%rip) /* of enters: no consumer */
  jne .Lenter_wanted
  jmp *(%r11)
.Lenter_wanted:
  push rax, rdx, rcx, rdi, rsi
  movq pml__stream_own@gottpoff(%rip), %rdi
  movq %fs:OWN_STREAM(%rdi), %rcx
  begin rcx, .Lenter_other
  movq %fs:OWN_OPEN(%rdi), %rsi
  leaq 40(%rsp), %rdx
  cmpq %rdx, FRAME_SP(%rsi)
  jbe .Lenter_other_again
  cmpq %rdx, %fs:OWN_FROM(%rdi)
  ja .Lenter_other_again /* another stack */
  movq FRAME_INNER(%rsi), %rax
  testq %rax, %rax
  jz .Lenter_other_again
  movq %rdx, FRAME_SP(%rax)
  imull $HASH, 40(%rsp), %esi
  shrl $KNOWN_SHIFT, %esi
  andl $KNOWN_MASK, %esi
  addq known(%rip), %rsi
  movq 40(%rsp), %rdx
  cmpq %rdx, KNOWN_BACK(%rsi)
  jne .Lenter_other_again /* its slot is elsewhere, or there is none yet */
  movq %rsi, FRAME_KNOWN(%rax)
  movq KNOWN_CODE(%rsi), %rdx
  movq %rdx, 40(%rsp) /* in the place of the return address: where that of the slot will stand */
  movl FUNCTION_REGION(%r11), %esi
  movl %esi, FRAME_REGION(%rax)
  movq %rax, %fs:OWN_OPEN(%rdi)
  clock
  movq ENTERS_DATA(%rcx), %rdi
  call *ENTERS_FAST(%rcx)
  testq %rax, %rax
  jnz .Lenter_begun
  movq pml__stream_own@gottpoff(%rip), %rsi
  movq %fs:OWN_STREAM(%rsi), %rsi
  end rsi
  .cfi_remember_state
  pop rsi, rdi, rcx, rdx, rax
  leaq 8(%rsp), %rsp
  .cfi_def_cfa_offset 0
  notrack jmp *-8(%rsp) /* a slot has no room for an endbr64 */
  .cfi_restore_state
/* Among others where the innermost call is: its end, which is a tail call, or a later call. */
.Lenter_other_again:
  movq THREAD_FREE(%rcx), %rax
  restore rcx, .Lenter_other
  .cfi_remember_state
  push r8, r9, r10, r11
  cmpq %rax, pml__stream_generation(%rip) /* a consumer that is not learnt, or a delivery: save all registers */
  jne .Lenter_nothing
  cmpb $0, pml__call_plain(%rip) /* so where the counts, or the clock, take others */
  je .Lenter_nothing
  movq %r11, %rdi
  movq 72(%rsp), %rsi
  leaq 72(%rsp), %rdx
  call pml__call_enter
  cmpq $1, %rax /* PML__CALL_BEGUN */
  jbe .Lenter_all
.Lenter_recorded:
  movq %rax, 72(%rsp)
  .cfi_remember_state
  pop r11, r10, r9, r8, rsi, rdi, rcx, rdx, rax
  leaq 8(%rsp), %rsp
  .cfi_def_cfa_offset 0
  notrack jmp *-8(%rsp)
.Lenter_unrecorded:
  .cfi_restore_state
  .cfi_remember_state
  pop r11, r10, r9, r8, rsi, rdi, rcx, rdx, rax
  jmp *(%r11)
.Lenter_nothing:
  .cfi_restore_state
  .cfi_remember_state
  xorl %eax, %eax
.Lenter_all:
  .cfi_restore_state
  .cfi_remember_state
  frame 16
  movq %rax, -8(%rbp)
  save_state
  movq 8(%rbp), %rdi
  movq 80(%rbp), %rsi
  leaq 80(%rbp), %rdx
  movl -8(%rbp), %ecx
  call pml__call_enter_full
  movq %rax, -8(%rbp)
  load_state
  movq -8(%rbp), %rax
  leave
  .cfi_restore_state
  testq %rax, %rax
  jnz .Lenter_recorded
  jmp .Lenter_unrecorded
/* The consumers want all registers: all is done but for the event. */
.Lenter_begun:
  .cfi_restore_state
  push r8, r9, r10, r11
  movq pml__stream_own@gottpoff(%rip), %rdi
  movq %rax, %fs:OWN_TICKS(%rdi) /* for the _full twin */
  movl $1, %eax /* PML__CALL_BEGUN */
  jmp .Lenter_all
  .cfi_endproc
  .size pml__arch_enter, . - pml__arch_enter

/*
 * From a return slot, which the function has just returned to: %r11 is its code, then where the call returns to. The
 * return address is also below the stack pointer, but memory checkers such as valgrind treat that memory as undefined.
 */
  .globl pml__arch_leave
  .hidden pml__arch_leave
  .type pml__arch_leave, @function
  .balign 64
pml__arch_leave:
  .cfi_startproc
  .cfi_def_cfa %rsp, 0
  .cfi_register %rip, %r11
  push rax, rdx, rcx, rsi, rdi
  movq pml__stream_own@gottpoff(%rip), %rdi
  movq %fs:OWN_STREAM(%rdi), %rcx
  begin rcx, .Lleave_other
  movq %fs:OWN_OPEN(%rdi), %rdx
  movq FRAME_KNOWN(%rdx), %rax
  cmpq %r11, KNOWN_CODE(%rax)
  jne .Lleave_other_again
  leaq 32(%rsp), %rsi
  cmpq %rsi, FRAME_SP(%rdx)
  jne .Lleave_other_again /* not the innermost call's: another stack, or a frame that returns once more */
  movq KNOWN_BACK(%rax), %r11
  .cfi_remember_state
  pushq FRAME_OUTER(%rdx)
  .cfi_adjust_cfa_offset 8
  movl FRAME_REGION(%rdx), %esi
  clock
  movq LEAVES_DATA(%rcx), %rdi
  call *LEAVES_FAST(%rcx)
  testq %rax, %rax
  jnz .Lleave_begun
  movq pml__stream_own@gottpoff(%rip), %rcx
  popq %fs:OWN_OPEN(%rcx) /* the call ends with its event: pml_call.h says why */
  .cfi_adjust_cfa_offset -8
  movq %fs:OWN_STREAM(%rcx), %rcx
  end rcx
  pop rdi, rsi, rcx, rdx, rax
  push r11
  .cfi_offset %rip, -8
  ret
.Lleave_other_again:
  .cfi_restore_state
  movq THREAD_FREE(%rcx), %rax
  restore rcx, .Lleave_other
  push r8, r9, r10, r11
  .cfi_offset %rip, -72
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  cmpq %rax, 8 + pml__stream_generation(%rip)
  jne .Lleave_nothing
  cmpb $0, pml__call_plain(%rip)
  je .Lleave_nothing
  movq %r11, %rdi
  leaq 72(%rsp), %rsi
  call pml__call_leave
  cmpq $1, %rax
  jbe .Lleave_all
.Lleave_done:
  movq %rax, 8(%rsp)
  .cfi_remember_state
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  pop r11
  .cfi_register %rip, %r11
  pop r10, r9, r8, rdi, rsi, rcx, rdx, rax
  push r11
  .cfi_offset %rip, -8
  ret
.Lleave_nothing:
  .cfi_restore_state
  .cfi_remember_state
  xorl %eax, %eax
.Lleave_all:
  .cfi_restore_state
  .cfi_remember_state
  movl %eax, (%rsp)
  frame 16
  save_state
  movq 16(%rbp), %rdi
  leaq 80(%rbp), %rsi
  movl 8(%rbp), %edx
  call pml__call_leave_full
  movq %rax, -8(%rbp)
  load_state
  movq -8(%rbp), %rax
  leave
  .cfi_restore_state
  jmp .Lleave_done
.Lleave_begun:
  .cfi_def_cfa_offset 48
  .cfi_register %rip, %r11
  movq pml__stream_own@gottpoff(%rip), %rdi
  movq %rax, %fs:OWN_TICKS(%rdi) /* for the _full twin */
  movq %fs:OWN_OPEN(%rdi), %rcx
  movq FRAME_KNOWN(%rcx), %rcx
  movq KNOWN_CODE(%rcx), %r11 /* the slot's code again */
  leaq 8(%rsp), %rsp
  .cfi_adjust_cfa_offset -8
  push r8, r9, r10, r11
  .cfi_offset %rip, -72
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  movl $1, %eax /* PML__CALL_BEGUN */
  jmp .Lleave_all
  .cfi_endproc
  .size pml__arch_leave, . - pml__arch_leave

#endif
