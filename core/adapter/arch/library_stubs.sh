#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# core/adapter/arch/library_stubs.sh PREFIX TABLE OBJECT... - assembly that stands for a library's functions, those with this
# prefix that the objects need: each jumps to where TABLE_functions has it, in the order of TABLE_names.
# Try: core/adapter/arch/library_stubs.sh OTF2_ pml__otf2 build/obj/core/read/otf2/write/*.o
prefix=$1 table=$2
shift 2
nm -u "$@" | sed -n "s/^ *U \($prefix[A-Za-z0-9_]*\)$/\1/p" | LC_ALL=C sort -u | awk -v table="$table" '
BEGIN {
  functions = table "_functions"
  print "  .hidden " functions ", " table "_names\n  .globl " functions ", " table "_names"
  print "  .macro stub name, at\n  .globl \\name\n  .hidden \\name\n  .type \\name, %function\n\\name:"
  print "#if defined(__x86_64__)\n  jmp *" functions " + \\at(%rip)"
  print "#elif defined(__aarch64__)\n  adrp x16, " functions " + \\at\n  ldr x16, [x16, #:lo12:" functions " + \\at]\n  br x16"
  print "#endif\n  .size \\name, . - \\name\n  .endm\n  .text"
}
{ print "  stub " $1 ", " 8 * n++; names = names "  .string \"" $1 "\"\n" }
END {
  print "  .section .rodata\n" table "_names:\n" names "  .string \"\""
  print "  .bss\n  .balign 8\n" functions ":\n  .skip " 8 * n
  print "  .section .note.GNU-stack, \"\", %progbits"
}'
