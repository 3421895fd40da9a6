/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/arch/x86_64/count/count_first.S - a thread's first counted function asks for its cells.
 *
 *     pml_count_first    what pml_count_begin() returns, in r13; all other registers are as they were
 *
 * Called where a function begins: arguments may be in any register. It takes some 3 KiB of stack, of which 2816 bytes
 * are for vectors. AMX's tiles are not saved, as no C library uses them. Once a thread; async-signal-safe.
 */

  .section .note.GNU-stack, "", %progbits

#if defined(__x86_64__) && !defined(__ILP32__)

#define VECTORS 0xe7 /* x87, SSE, AVX, masks, both halves of AVX-512's */
#define ROOM 2816
#define OSXSAVE 27

  .local how /* vectors are saved: 1 by fxsave, 2 by xsave; 0: not known yet, as cpuid is slow in a virtual machine */
  .comm how, 1, 1

  .text
  .globl pml_count_first
  .type pml_count_first, @function
  .balign 16
pml_count_first:
  .cfi_startproc
  endbr64
  pushq %rbp
  .cfi_def_cfa_offset 16
  .cfi_offset %rbp, -16
  movq %rsp, %rbp
  .cfi_def_cfa_register %rbp
  pushq %rax
  pushq %rbx
  pushq %rcx
  pushq %rdx
  pushq %rsi
  pushq %rdi
  pushq %r8
  pushq %r9
  pushq %r10
  pushq %r11
  subq $ROOM, %rsp
  andq $-64, %rsp
  movzbl how(%rip), %ebx
  testl %ebx, %ebx
  jnz 0f
  movl $1, %eax
  cpuid
  xorl %ebx, %ebx
  btl $OSXSAVE, %ecx
  setc %bl
  incl %ebx
  movb %bl, how(%rip)
0:
  cmpl $2, %ebx
  je 1f
  fxsave64 (%rsp)
  jmp 2f
1:
  xorl %eax, %eax
  leaq 512(%rsp), %rdi
  movl $8, %ecx
  cld
  rep stosq
  movl $VECTORS, %eax
  xorl %edx, %edx
  xsave64 (%rsp)
2:
  call pml_count_begin@PLT
  movq %rax, %r13
  cmpl $2, %ebx
  je 3f
  fxrstor64 (%rsp)
  jmp 4f
3:
  movl $VECTORS, %eax
  xorl %edx, %edx
  xrstor64 (%rsp)
4:
  leaq -80(%rbp), %rsp
  popq %r11
  popq %r10
  popq %r9
  popq %r8
  popq %rdi
  popq %rsi
  popq %rdx
  popq %rcx
  popq %rbx
  popq %rax
  popq %rbp
  .cfi_def_cfa %rsp, 8
  ret
  .cfi_endproc
  .size pml_count_first, . - pml_count_first

#endif
