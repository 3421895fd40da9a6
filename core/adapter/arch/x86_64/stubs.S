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

  .macro general op
  gp \op, rax, 8
  gp \op, rdx, 16
  gp \op, rcx, 24
  gp \op, rdi, 32
  gp \op, rsi, 40
  gp \op, r8, 48
  gp \op, r9, 56
  gp \op, r10, 64
  .endm
  .macro results op /* of C, and the two more that Swift returns values in */
  gp \op, rax, 8
  gp \op, rdx, 16
  gp \op, rcx, 24
  gp \op, r8, 32
  .endm
  .macro gp op, register, below
  .if \op
  movq %\register, -\below(%rbp)
  .else
  movq -\below(%rbp), %\register
  .endif
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
 * From a thunk: %r11d is the function. r10 may carry the frame of a nested function's outer one. Without a consumer
 * it jumps on with a function's target, the first member of the 16 bytes of one; what is below the stack pointer is
 * used only here, and safe from signal handlers.
 */
  .globl pml__arch_enter
  .hidden pml__arch_enter
  .type pml__arch_enter, @function
  .balign 64
pml__arch_enter:
  .cfi_startproc
  endbr64
  cmpq $-1, pml__stream_generation(%rip) /* of enters: no consumer */
  jne .Lenter_wanted
  movq %rax, -16(%rsp)
  movq %rcx, -24(%rsp)
  movl %r11d, %eax
  shrl $10, %eax
  leaq pml__call_block(%rip), %rcx
  movq (%rcx, %rax, 8), %rcx
  andl $1023, %r11d
  shll $4, %r11d
  movq (%rcx, %r11), %r11
  movq -16(%rsp), %rax
  movq -24(%rsp), %rcx
  jmp *%r11
.Lenter_wanted:
  frame 96
  general 1
  movl %r11d, -72(%rbp)
  movl %r11d, %edi
  leaq 8(%rbp), %rsi
  movq %rsi, %rdx
  call pml__call_enter
  testq %rax, %rax
  jz .Lenter_all
.Lenter_recorded:
  movq %rax, %r11
  movq %rdx, 8(%rbp) /* in the place of the return address, which has been kept: it stands where the pad's will */
  general 0
  leave
  .cfi_remember_state
  .cfi_def_cfa %rsp, 8
  .cfi_restore %rbp
  leaq 8(%rsp), %rsp
  .cfi_def_cfa %rsp, 0
  notrack jmp *-8(%rsp) /* a pad has no room for an endbr64 */
.Lenter_unrecorded:
  .cfi_restore_state
  movq %rax, %r11
  general 0
  leave
  .cfi_remember_state
  .cfi_def_cfa %rsp, 8
  .cfi_restore %rbp
  jmp *%r11
.Lenter_all:
  .cfi_restore_state
  movl %edx, -76(%rbp)
  andq $-64, %rsp
  subq $512, %rsp
  in_use
  movl %r10d, -80(%rbp)
  vectors 1, 7
  movl -72(%rbp), %edi
  leaq 8(%rbp), %rsi
  movq %rsi, %rdx
  movl -76(%rbp), %ecx
  call pml__call_enter_full
  movl -80(%rbp), %r10d
  vectors 0, 7
  testq %rdx, %rdx
  jnz .Lenter_recorded
  jmp .Lenter_unrecorded
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
 * From a pad, which the function has just returned to: %r11 is an address in it. The one that the function returned to
 * stands below the stack pointer, too; but tools that watch memory, such as valgrind, take its contents for undefined.
 */
  .globl pml__arch_leave
  .hidden pml__arch_leave
  .type pml__arch_leave, @function
  .balign 64
pml__arch_leave:
  .cfi_startproc
  .cfi_def_cfa %rsp, 0
  pushq %r11
  .cfi_def_cfa_offset 8
  frame 144
  results 1
  movq 8(%rbp), %rdi
  leaq 16(%rbp), %rsi
  call pml__call_leave
  testq %rax, %rax
  jz .Lleave_all
.Lleave_done:
  movq %rax, 8(%rbp)
  results 0
  leave
  .cfi_remember_state
  .cfi_def_cfa %rsp, 8
  .cfi_restore %rbp
  ret
.Lleave_all:
  .cfi_restore_state
  movl %edx, -76(%rbp)
  andq $-64, %rsp
  subq $256, %rsp
  in_use
  movl %r10d, -80(%rbp)
  vectors 1, 3
  movl $0, -84(%rbp)
  testb $X87, %r10b
  jz .Lleave_saved
  empty
  je .Lleave_saved
  fstpt -112(%rbp)
  movl $1, -84(%rbp)
  empty
  je .Lleave_saved
  fstpt -128(%rbp)
  movl $2, -84(%rbp)
.Lleave_saved:
  movq 8(%rbp), %rdi
  leaq 16(%rbp), %rsi
  movl -76(%rbp), %edx
  call pml__call_leave_full
  movl -80(%rbp), %r10d
  vectors 0, 3
  cmpl $1, -84(%rbp)
  jb .Lleave_done
  je .Lleave_one
  fldt -128(%rbp)
.Lleave_one:
  fldt -112(%rbp)
  jmp .Lleave_done
  .cfi_endproc
  .size pml__arch_leave, . - pml__arch_leave

#endif
