/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/arch/aarch64/slots.S - the code that recorded calls return to, and how to unwind it. */

  .section .note.GNU-stack, "", %progbits

#if defined(__aarch64__)

  .text
  .balign 16
begin: /* a return address is looked up as one less: the first slot's own address must be found, too */
  .rept 4
  nop
  .endr
  .globl pml__arch_slots
  .hidden pml__arch_slots
  .type pml__arch_slots, %function
pml__arch_slots:
  .rept 65536
  hint #36 /* bti j and c */
  blr x16
  adr x16, . - 8 /* the slot's code; PML_ARCH_SLOT_RETURN is here */
  b pml__arch_leave
  .endr
end:
  .size pml__arch_slots, . - pml__arch_slots

/*
 * The unwinder stands in a slot's code: register 30 is where, perhaps signed above bit 47. The caller's address is in
 * the slot, at (register 30 & -16) + the distance of the table from the code. The stack pointer is the caller's,
 * behind the call as before it.
 *
 * A slot has no frame: to libgcc, which knows its way back to the handler by the stack pointer, it would be the frame
 * of its caller. The mark of a signal's frame ("S") sets them apart. It also says that the caller stands at the
 * address, not behind a call before it, so the rule gives the address less one.
 */
  .section .eh_frame, "a", %progbits
  .balign 8
cie:
  .word cie_end - cie_begin
cie_begin:
  .word 0
  .byte 1
  .asciz "zRS"
  .uleb128 1
  .sleb128 -8
  .byte 30
  .uleb128 1
  .byte 0x1b /* DW_EH_PE_pcrel | DW_EH_PE_sdata4 */
  .byte 0x0c, 31, 0 /* DW_CFA_def_cfa sp + 0 */
  .balign 8, 0
cie_end:
  .word fde_end - fde_begin
fde_begin:
  .word fde_begin - cie
  .word begin - .
  .word end - begin
  .uleb128 0
  .byte 0x16, 30 /* DW_CFA_val_expression of the return address */
  .uleb128 rule_end - rule
rule:
  .byte 0x8e, 1 /* DW_OP_breg30 1 */
  .byte 0x0e    /* DW_OP_const8u */
  .xword 0x0000fffffffffff0
  .byte 0x1a    /* DW_OP_and */
  .byte 0x0d    /* DW_OP_const4s */
  .word pml__call_table - rule
  .byte 0x22    /* DW_OP_plus */
  .byte 0x0d
  .word pml__arch_slots - rule
  .byte 0x1c    /* DW_OP_minus */
  .byte 0x06, 0x31, 0x1c /* DW_OP_deref, DW_OP_lit1, DW_OP_minus */
rule_end:
  .balign 8, 0
fde_end:

#endif
