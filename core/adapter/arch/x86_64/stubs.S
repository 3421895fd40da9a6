/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/arch/x86_64/stubs.S - what runs before and after an intercepted function.
 *
 * pml__arch_vectors, which arch.c sets, says what the CPU has, in the bits of XCR0: 0 the x87, 2 the upper halves of
 * AVX, 6 those of AVX-512; bit 31: XGETBV tells which of them are in use. State that is not in use is left so: loading
 * zeros into the upper halves would slow all SSE code that follows.
 */

  .section .note.GNU-stack, "", %progbits

#if defined(__x86_64__)

#include "adapter/arch/pml_call_layout.h"

#define X87 0x01
#define AVX 0x04
#define AVX512 0x40

  .data
  .globl pml__arch_vectors
  .hidden pml__arch_vectors
  .type pml__arch_vectors, @object
  .balign 4
pml__arch_vectors:
  .long X87
  .size pml__arch_vectors, . - pml__arch_vectors

  .text

/* %r10d: the state that is in use. Clobbers rax, rcx, rdx. */
  .macro in_use
  movl pml__arch_vectors(%rip), %r10d
  testl %r10d, %r10d
  jns 1f
  movl $1, %ecx
  xgetbv
  andl %eax, %r10d
1:
  .endm

/* The first @last + 1 vector registers to (%rsp), or from there. */
  .macro vectors to, last
  testb $AVX512, %r10b
  jnz 2f
  testb $AVX, %r10b
  jnz 1f
  .set i, 0
  .rept \last + 1
  vector movaps, xmm, %i, \to
  .set i, i + 1
  .endr
  jmp 3f
1:
  .set i, 0
  .rept \last + 1
  vector vmovaps, ymm, %i, \to
  .set i, i + 1
  .endr
  jmp 3f
2:
  .set i, 0
  .rept \last + 1
  vector vmovaps, zmm, %i, \to
  .set i, i + 1
  .endr
3:
  .endm

  .altmacro
  .macro vector move, kind, n, to
  .if \to
  \move %\kind\n, 64 * \n(%rsp)
  .else
  \move 64 * \n(%rsp), %\kind\n
  .endif
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
 * @thread: the thread's block. Begins a pass, which also claims the thread's lists, if the thread is in none, is not
 * held back, and knows the consumers in use, which are all sparing. Otherwise jumps to @other, with nothing changed.
 * Clobbers rax.
 */
  .macro begin thread, other
  movq THREAD_PASS(%\thread), %rax
  movq %rsp, THREAD_PASS(%\thread) /* first: a handler that comes now counts its calls as made inside */
  cmpq pml__stream_sparing(%rip), %rax
  jne \other\()_put_back
  .endm
  .macro put_back thread, other
\other\()_put_back:
  movq %rax, THREAD_PASS(%\thread)
  .endm
/* Clobbers rax. */
  .macro end thread
  movq THREAD_FREE(%\thread), %rax
  movq %rax, THREAD_PASS(%\thread)
  .endm
/* To %rdx. Clobbers rax. */
  .macro clock
  rdtsc
  shlq $32, %rdx
  orq %rax, %rdx
  .endm

/*
 * From a thunk: %r11 is where the function is described, its target first. r10 may carry the frame of a nested
 * function's outer one. Without a consumer it jumps on to the target.
 *
 * What most calls need is here, as pml__call_enter() has it: consumers that leave r8 to r11 alone, a free frame, a
 * return address that was seen before, no tail call, no call that was left by a longjmp. Other calls are left to that,
 * with all general registers saved.
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
  movq %fs:OWN_LANE(%rdi), %rcx
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
  leaq KNOWN_AT + pml__call_table(%rip), %rdx
  addq %rdx, %rsi
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
  call *ENTERS_PLAIN(%rcx)
  testq %rax, %rax
  jnz .Lenter_begun
  movq pml__stream_own@gottpoff(%rip), %rsi
  movq %fs:OWN_LANE(%rsi), %rsi
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
  put_back rcx, .Lenter_other
  .cfi_remember_state
  push r8, r9, r10, r11
  cmpq %rax, pml__stream_generation(%rip) /* a consumer that is not known, or a pass: all registers at once */
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
  movl %eax, -4(%rbp)
  andq $-64, %rsp
  subq $512, %rsp
  in_use
  movl %r10d, -8(%rbp)
  vectors 1, 7
  movq 8(%rbp), %rdi
  movq 80(%rbp), %rsi
  leaq 80(%rbp), %rdx
  movl -4(%rbp), %ecx
  call pml__call_enter_full
  movl -8(%rbp), %r10d
  vectors 0, 7
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

/* Whether the top of the x87 stack is empty: then ZF. Clobbers eax. */
  .macro empty
  fxam
  fnstsw %ax
  andl $0x4500, %eax
  cmpl $0x4100, %eax
  .endm

/*
 * From a return slot, which the function has just returned to: %r11 is its code. The address that the function
 * returned to stands below the stack pointer, too; but tools that watch memory, such as valgrind, take its contents
 * for undefined. The results are those of C, and the two more registers that Swift returns values in.
 */
  .globl pml__arch_leave
  .hidden pml__arch_leave
  .type pml__arch_leave, @function
  .balign 64
pml__arch_leave:
  .cfi_startproc
  .cfi_def_cfa %rsp, 0
  push r11, rax, rdx, rcx
  movq pml__stream_own@gottpoff(%rip), %r9
  movq %fs:OWN_LANE(%r9), %r10
  begin r10, .Lleave_other
  movq %fs:OWN_OPEN(%r9), %rcx
  movq FRAME_KNOWN(%rcx), %rax
  cmpq %r11, KNOWN_CODE(%rax)
  jne .Lleave_other_again
  leaq 24(%rsp), %rdx
  cmpq %rdx, FRAME_SP(%rcx)
  jne .Lleave_other_again /* not the innermost call's: another stack, or a frame that returns once more */
  movq FRAME_OUTER(%rcx), %r11
  movl FRAME_REGION(%rcx), %esi
  movq KNOWN_BACK(%rax), %rax
  movq %rax, 24(%rsp)
  clock
  movq LEAVES_DATA(%r10), %rdi
  call *LEAVES_PLAIN(%r10)
  testq %rax, %rax
  jnz .Lleave_begun
  movq %r11, %fs:OWN_OPEN(%r9) /* the call ends with its event: pml_call.h says why */
  end r10
  .cfi_remember_state
  pop rcx, rdx, rax
  ret
  .cfi_restore_state
.Lleave_other_again:
  movq THREAD_FREE(%r10), %rax
  put_back r10, .Lleave_other
  .cfi_remember_state
  push r8
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  cmpq %rax, 8 + pml__stream_generation(%rip)
  jne .Lleave_nothing
  cmpb $0, pml__call_plain(%rip)
  je .Lleave_nothing
  movq %r11, %rdi
  leaq 40(%rsp), %rsi
  call pml__call_leave
  cmpq $1, %rax
  jbe .Lleave_all
.Lleave_done:
  movq %rax, 40(%rsp)
  .cfi_remember_state
  addq $8, %rsp
  .cfi_adjust_cfa_offset -8
  pop r8, rcx, rdx, rax
  ret
.Lleave_nothing:
  .cfi_restore_state
  .cfi_remember_state
  xorl %eax, %eax
.Lleave_all:
  .cfi_restore_state
  .cfi_remember_state
  movl %eax, (%rsp)
  frame 64
  andq $-64, %rsp
  subq $256, %rsp
  in_use
  movl %r10d, -4(%rbp)
  vectors 1, 3
  movl $0, -8(%rbp)
  testb $X87, %r10b
  jz .Lleave_saved
  empty
  je .Lleave_saved
  fstpt -32(%rbp)
  movl $1, -8(%rbp)
  empty
  je .Lleave_saved
  fstpt -48(%rbp)
  movl $2, -8(%rbp)
.Lleave_saved:
  movq 48(%rbp), %rdi
  leaq 48(%rbp), %rsi
  movl 8(%rbp), %edx
  call pml__call_leave_full
  movl -4(%rbp), %r10d
  vectors 0, 3
  cmpl $1, -8(%rbp)
  jb .Lleave_full_done
  je .Lleave_one
  fldt -48(%rbp)
.Lleave_one:
  fldt -32(%rbp)
.Lleave_full_done:
  leave
  .cfi_restore_state
  jmp .Lleave_done
.Lleave_begun:
  .cfi_restore_state
  movq %fs:OWN_OPEN(%r9), %rcx
  movq FRAME_KNOWN(%rcx), %rcx
  movq KNOWN_CODE(%rcx), %rcx
  movq %rcx, 24(%rsp) /* the slot's code again */
  movq %rax, %fs:OWN_TICKS(%r9) /* for the _full twin */
  push r8
  subq $8, %rsp
  .cfi_adjust_cfa_offset 8
  movl $1, %eax /* PML__CALL_BEGUN */
  jmp .Lleave_all
  .cfi_endproc
  .size pml__arch_leave, . - pml__arch_leave

#endif
