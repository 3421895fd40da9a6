/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/arch/x86_64/decode.h - one instruction: length, branch target, and effect on a general register.
 * Internal.
 *
 * Uncertain cases are PML__INSN_UNKNOWN or PML__REG_READ, because callers change code only where they are certain.
 */
#ifndef PML_DECODE_H
#define PML_DECODE_H

#include <stdbool.h>
#include <stdint.h>

enum pml__insn_kind {
  PML__INSN_UNKNOWN,
  PML__INSN_PLAIN,    /* continues behind itself */
  PML__INSN_BRANCH,   /* continues at `to` or behind itself */
  PML__INSN_JUMP,     /* continues at `to` */
  PML__INSN_JUMP_REG, /* jumps to the address in register `reg` */
  PML__INSN_JUMP_ANY, /* jumps elsewhere */
  PML__INSN_CALL,     /* calls `to`, or what lies in memory */
  PML__INSN_CALL_REG, /* calls what register `reg` has */
  PML__INSN_RETURN,
  PML__INSN_END /* nothing follows: ud2, hlt, int3 */
};

enum pml__reg_use { PML__REG_LEFT, PML__REG_WRITTEN, PML__REG_READ };

struct pml__insn {
  enum pml__insn_kind kind;
  enum pml__reg_use use; /* use of the requested register, except as the target of a CALL_REG or JUMP_REG */
  uint8_t length, reg;
  uintptr_t to;
};

/* The instruction at @at, of which @n bytes can be read, and its use of general register @r, by the number that
 * instructions have for it. */
struct pml__insn pml__decode(const uint8_t *at, uintptr_t n, unsigned r);

#endif
