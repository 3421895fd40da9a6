/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/arch/x86_64/slots.S - the code that recorded calls return to, and how to unwind it. */

  .section .note.GNU-stack, "", %progbits

#if defined(__x86_64__)

  .text
  .balign 16
begin: /* a return address is looked up as one less: the first slot's own address must be found, too */
  .fill 16, 1, 0x90
  .globl pml__arch_slots
  .hidden pml__arch_slots
  .type pml__arch_slots, @function
pml__arch_slots:
  .rept 65536
  .balign 16, 0x90
  call *(%r11) /* where the function is described, its target first */
  leaq -10(%rip), %r11 /* the slot's code; PML_ARCH_SLOT_RETURN is here */
  jmp pml__arch_leave
  .endr
  .balign 16, 0x90
end:
  .size pml__arch_slots, . - pml__arch_slots

/*
 * The unwinder stands in a slot's code: register 16 is where. The caller's address is in the slot, at (register 16 &
 * -16) + the distance of the table from the code. The stack pointer is the caller's, behind the call as before it.
 *
 * A slot has no frame: to libgcc, which knows its way back to the handler by the stack pointer, it would be the frame
 * of its caller. The mark of a signal's frame ("S") sets them apart. It also says that the caller stands at the
 * address, not behind a call before it, so the rule gives the address less one. libunwind's fast backtrace, though,
 * takes what has the mark for the kernel's frame, looks for registers on the stack and ends. Without the mark it would
 * take its slow path, which is right; but then only another CFA could set the slot apart for libgcc, and libunwind
 * takes the CFA for the caller's stack pointer.
 */
  .section .eh_frame, "a", @unwind
  .balign 8
cie:
  .long cie_end - cie_begin
cie_begin:
  .long 0
  .byte 1
  .asciz "zRS"
  .uleb128 1
  .sleb128 -8
  .byte 16
  .uleb128 1
  .byte 0x1b /* DW_EH_PE_pcrel | DW_EH_PE_sdata4 */
  .byte 0x0c, 7, 0 /* DW_CFA_def_cfa rsp + 0 */
  .balign 8, 0
cie_end:
  .long fde_end - fde_begin
fde_begin:
  .long fde_begin - cie
  .long begin - .
  .long end - begin
  .uleb128 0
  .byte 0x16, 16 /* DW_CFA_val_expression of the return address */
  .uleb128 rule_end - rule
rule:
  .byte 0x80, 1    /* DW_OP_breg16 1 */
  .byte 0x09, 0xf0 /* DW_OP_const1s -16 */
  .byte 0x1a       /* DW_OP_and */
  .byte 0x0d       /* DW_OP_const4s */
  .long pml__call_table - rule
  .byte 0x22       /* DW_OP_plus */
  .byte 0x0d
  .long pml__arch_slots - rule
  .byte 0x1c       /* DW_OP_minus */
  .byte 0x06, 0x31, 0x1c /* DW_OP_deref, DW_OP_lit1, DW_OP_minus */
rule_end:
  .balign 8, 0
fde_end:

#endif
