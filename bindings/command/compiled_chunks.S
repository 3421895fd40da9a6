/* SPDX-License-Identifier: BSD-3-Clause */
/* bindings/command/compiled_chunks.S - the file that compile.lua makes, as data of the command. */
  .section .rodata
  .balign 16
  .globl compiled_chunks, compiled_chunks_end
  .hidden compiled_chunks, compiled_chunks_end
compiled_chunks:
  .incbin "compiled.bin"
compiled_chunks_end:
  .byte 0
#if defined __linux__
  .section .note.GNU-stack, "", %progbits
#endif
