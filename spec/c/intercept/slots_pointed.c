/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/intercept/slots_pointed.c - code that calls functions through slots, and takes the addresses of most of them
 * through the same slots; as compilers write it.
 */
#include "library.h"

#ifdef __x86_64__

/* A function: its name, and its code. */
#define CODE(name, code)                                                                                               \
  CALLED int name(int i);                                                                                              \
  __asm__(".text\n.balign 64\n.globl " #name "\n.type " #name ", @function\n" #name ":\n.cfi_startproc\n" code         \
          "\n.cfi_endproc\n.size " #name ", . - " #name "\n");
#define SLOT(target) "target_" #target "@GOTPCREL(%rip)"
#define FRAME "push %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_rel_offset %rbx, 0\n"
#define END "pop %rbx\n.cfi_adjust_cfa_offset -8\nret"
/* 10 calls of %reg, in a loop. */
#define LOOP(reg)                                                                                                      \
  "push %r12\n.cfi_adjust_cfa_offset 8\npush %r13\n.cfi_adjust_cfa_offset 8\nmov $10, %r12d\n"                         \
  "1: mov %edi, %r13d\ncall *" reg "\nmov %r13d, %edi\ndec %r12d\njnz 1b\n"                                            \
  "pop %r13\n.cfi_adjust_cfa_offset -8\npop %r12\n.cfi_adjust_cfa_offset -8\n"

CODE(call_called,
     "sub $8, %rsp\n.cfi_adjust_cfa_offset 8\ncall *" SLOT(called) "\nadd $8, %rsp\n.cfi_adjust_cfa_offset -8\nret")
CODE(call_jumped, "jmp *" SLOT(jumped))
CODE(call_hoisted, FRAME "mov " SLOT(hoisted) ", %rbx\n" LOOP("%rbx") END)
/* A weak function. */
CODE(call_tested, "mov " SLOT(tested) ", %rax\ntest %rax, %rax\njz 2f\njmp *%rax\n2: xor %eax, %eax\nret")
CODE(call_spilled, "sub $24, %rsp\n.cfi_adjust_cfa_offset 24\nmov " SLOT(
                       spilled) ", %rax\nmov %rax, 8(%rsp)\n"
                                "call *8(%rsp)\nadd $24, %rsp\n.cfi_adjust_cfa_offset -24\nret")
CODE(call_returned, "jmp *" SLOT(returned))
/* Where the code goes is not known: the address may be used there. */
CODE(call_switched, FRAME "mov " SLOT(switched) ", %rbx\nlea 3f(%rip), %rax\njmp *%rax\n3: call *%rbx\n" END)
CODE(call_compared, "jmp *" SLOT(compared))
/* An argument of another function, which calls it. */
CODE(call_passed, "mov " SLOT(passed) ", %rsi\nsub $8, %rsp\n.cfi_adjust_cfa_offset 8\ncall apply\nadd $8, %rsp\n"
                                      ".cfi_adjust_cfa_offset -8\nret\napply: jmp *%rsi")
CODE(call_only, FRAME "mov " SLOT(only) ", %rbx\n" LOOP("%rbx") END)
CODE(call_tail, "mov " SLOT(tail) ", %r10\nnotrack jmp *%r10")

/* Each of these takes an address. */
__asm__(
    ".text\n.globl pointers\n.type pointers, @function\npointers:\n"
    "mov " SLOT(called) ", %rax\nmov %rax, (%rdi)\nmov " SLOT(
        jumped) ", %rcx\nmov %rcx, 8(%rdi)\n"
                "mov " SLOT(hoisted) ", %rax\nmov %rax, 16(%rdi)\nmov " SLOT(
                    tested) ", %rax\nmov %rax, 24(%rdi)\n"
                            "mov " SLOT(
                                returned) ", %rax\nret\n.size pointers, . - pointers\n"
                                          ".globl is_compared\n.type is_compared, @function\nis_compared:\n"
                                          "xor %eax, %eax\ncmp " SLOT(
                                              compared) ", %rdi\nsete %al\nret\n.size is_compared, . - is_compared\n");
CALLED void *pointers(void *to[4]);
CALLED int is_compared(void *address);

#else
CALLED int pointers_are_of_another(void);
int pointers_are_of_another(void) {
  return 0;
}
#endif
