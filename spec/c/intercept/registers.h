/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/intercept/registers.h - all registers but those that a PLT may change: set from `given`, copied to `seen`. */
#ifndef REGISTERS_H
#define REGISTERS_H

#include <stdint.h>

struct registers {
  uint64_t general[32];
  uint8_t vector[32][64];
  uint16_t mask[8];
};
__attribute__((used)) static struct registers seen;

/* Bytes of a vector register. */
__attribute__((used)) static int wide;

#define N16 "0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15"
#define N32 N16 ", 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31"

#ifdef __x86_64__
#define GENERAL(move)                                                                                                  \
  move("rax", "0") move("rbx", "8") move("rcx", "16") move("rdx", "24") move("rsi", "32") move("rdi", "40")            \
      move("rbp", "48") move("r8", "56") move("r9", "64") move("r10", "72") move("r12", "80") move("r13", "88")        \
          move("r14", "96") move("r15", "104")
#define NGENERAL 14
#define COPY_GENERAL(name, at) "movq %" name ", seen + " at "(%rip)\n"
#define SET_GENERAL(name, at) "movq given + " at "(%rip), %" name "\n"
#define BY_WIDTH(sse, avx, masks, avx512)                                                                              \
  "cmpl $32, wide(%rip)\n ja 2f\n je 1f\n"                                                                             \
  ".irp n, " N16 "\n" sse "\n.endr\n jmp 3f\n 1: .irp n, " N16 "\n" avx "\n.endr\n jmp 3f\n"                           \
  "2: .irp n, 0, 1, 2, 3, 4, 5, 6, 7\n" masks "\n.endr\n .irp n, " N32 "\n" avx512 "\n.endr\n 3:\n"
#define COPY_REGISTERS                                                                                                 \
  BY_WIDTH("movups %xmm\\n, seen + 256 + 64 * \\n(%rip)", "vmovups %ymm\\n, seen + 256 + 64 * \\n(%rip)",              \
           "kmovw %k\\n, seen + 2304 + 2 * \\n(%rip)", "vmovups %zmm\\n, seen + 256 + 64 * \\n(%rip)")                 \
  GENERAL(COPY_GENERAL)
#define SET_REGISTERS                                                                                                  \
  BY_WIDTH("movups given + 256 + 64 * \\n(%rip), %xmm\\n", "vmovups given + 256 + 64 * \\n(%rip), %ymm\\n",            \
           "kmovw given + 2304 + 2 * \\n(%rip), %k\\n", "vmovups given + 256 + 64 * \\n(%rip), %zmm\\n")               \
  GENERAL(SET_GENERAL)
#define FUNCTION(name) ".text\n.globl " name "\n.type " name ", @function\n" name ":\n"
#else
#define NGENERAL 30
#define EACH_REGISTER(memory, pair, one)                                                                               \
  "adrp x17, " memory "\n add x17, x17, #:lo12:" memory "\n .irp n, " N32 "\n" one                                     \
  " q\\n, [x17, #256 + 64 * \\n]\n.endr\n"                                                                             \
  ".macro two a, b\n" pair " x\\a, x\\b, [x17, #8 * \\a]\n.endm\n two 0, 1\n two 2, 3\n two 4, 5\n two 6, 7\n"         \
  "two 8, 9\n two 10, 11\n two 12, 13\n two 14, 15\n two 18, 19\n two 20, 21\n two 22, 23\n two 24, 25\n"              \
  "two 26, 27\n two 28, 29\n .purgem two\n"
#define COPY_REGISTERS EACH_REGISTER("seen", "stp", "str")
#define SET_REGISTERS EACH_REGISTER("given", "ldp", "ldr")
#define FUNCTION(name) ".text\n.globl " name "\n.type " name ", %function\n" name ":\n"
#endif

#endif
