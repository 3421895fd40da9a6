/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/arch/x86_64/stubs.S - what runs before and after an intercepted function.
 *
 * pml__arch_vectors says what the CPU has, in the bits of XCR0: 0 the x87, 2 the upper halves of AVX, 6 those of
 * AVX-512; bit 31: XGETBV tells which of them are in use. State that is not in use is left so: loading zeros into the
 * upper halves would slow all SSE code that follows.
 */

  .section .note.GNU-stack, "", %progbits

#if defined(__x86_64__)

  .text

#define X87 0x01
#define AVX 0x04
#define AVX512 0x40

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

  .macro general op, at
  gp \op, rax, \at
  gp \op, rdx, \at + 8
  gp \op, rcx, \at + 16
  gp \op, rdi, \at + 24
  gp \op, rsi, \at + 32
  gp \op, r8, \at + 40
  gp \op, r9, \at + 48
  .endm
  .macro gp op, register, at
  .if \op
  movq %\register, \at(%rsp)
  .else
  movq \at(%rsp), %\register
  .endif
  .endm

/* From a thunk: %r11d is the function. r10 may carry the frame of a nested function's outer one. */
  .globl pml__arch_enter
  .hidden pml__arch_enter
  .type pml__arch_enter, @function
  .balign 16
pml__arch_enter:
  .cfi_startproc
  endbr64
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  andq $-64, %rsp
  subq $640, %rsp
  general 1, 512
  movq %r10, 568(%rsp)
  in_use
  movl %r10d, 576(%rsp)
  vectors 1, 7
  movl %r11d, %edi
  leaq 8(%rbp), %rsi
  movq %rsi, %rdx
  call pml__intercept_enter
  movq %rax, %r11
  movl 576(%rsp), %r10d
  vectors 0, 7
  general 0, 512
  movq 568(%rsp), %r10
  leave
  .cfi_def_cfa %rsp, 8
  jmp *%r11
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
 * From a pad: %r11 is its address. It ends with a jump, not with a return: the function's return has taken the
 * caller's entry from the CPU's stack of predictions already.
 */
  .globl pml__arch_leave
  .hidden pml__arch_leave
  .type pml__arch_leave, @function
  .balign 16
pml__arch_leave:
  .cfi_startproc
  .cfi_def_cfa %rsp, 0
  .cfi_register %rip, %r11
  pushq %r11
  .cfi_def_cfa_offset 8
  .cfi_offset %rip, -8
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  andq $-64, %rsp
  subq $448, %rsp
  general 1, 256
  in_use
  movl %r10d, 320(%rsp)
  vectors 1, 3
  movl $0, 324(%rsp)
  testb $X87, %r10b
  jz 9f
  empty
  je 9f
  fstpt 336(%rsp)
  movl $1, 324(%rsp)
  empty
  je 9f
  fstpt 352(%rsp)
  movl $2, 324(%rsp)
9:
  movq 8(%rbp), %rdi
  leaq 16(%rbp), %rsi
  call pml__intercept_leave
  movq %rax, 8(%rbp)
  cmpl $1, 324(%rsp)
  jb 8f
  je 7f
  fldt 352(%rsp)
7:
  fldt 336(%rsp)
8:
  movl 320(%rsp), %r10d
  vectors 0, 3
  general 0, 256
  leave
  .cfi_def_cfa %rsp, 8
  popq %r11
  .cfi_def_cfa_offset 0
  .cfi_register %rip, %r11
  jmp *%r11
  .cfi_endproc
  .size pml__arch_leave, . - pml__arch_leave

/*
 * Doors to dlopen and dlsym, which look at their return address to know who asks: what needs that goes on to the true
 * function as it came. name, who decides (the same arguments, and the return address), the true one, ours.
 */
  .macro door name, decide, real, ours
  .globl \name
  .hidden \name
  .type \name, @function
  .balign 16
\name:
  .cfi_startproc
  endbr64
  pushq %rdi
  .cfi_adjust_cfa_offset 8
  pushq %rsi
  .cfi_adjust_cfa_offset 8
  pushq %rax
  .cfi_adjust_cfa_offset 8
  movq 24(%rsp), %rdx
  call \decide
  movzbl %al, %ecx /* a bool is one byte */
  popq %rax
  .cfi_adjust_cfa_offset -8
  popq %rsi
  .cfi_adjust_cfa_offset -8
  popq %rdi
  .cfi_adjust_cfa_offset -8
  testl %ecx, %ecx
  jnz \ours
  jmp *\real(%rip)
  .cfi_endproc
  .size \name, . - \name
  .endm

  door pml__arch_dlopen, pml__intercept_takes_dlopen, pml__intercept_real_dlopen, pml__intercept_dlopen
  door pml__arch_dlsym, pml__intercept_takes_dlsym, pml__intercept_real_dlsym, pml__intercept_dlsym

#endif
