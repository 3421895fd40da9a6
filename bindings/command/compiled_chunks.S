/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/command/compiled_chunks.S - the file that compile.lua makes, as data of the command. */
  .section .rodata
  .balign 16
  .globl compiled_chunks
  .hidden compiled_chunks
compiled_chunks:
  .incbin "compiled.bin"
  .zero 16 /* the header, if the file is empty */
#if defined __linux__
  .section .note.GNU-stack, "", %progbits
#endif
