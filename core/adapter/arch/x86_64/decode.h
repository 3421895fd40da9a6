/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/arch/x86_64/decode.h - one instruction: length, branch target, and effect on a general register.
 * Internal.
 *
 * What is not known for certain is PML__INSN_UNKNOWN or PML__REG_READ: callers change code only where they know.
 */
#ifndef PML_DECODE_H
#define PML_DECODE_H

#include <stdbool.h>
#include <stdint.h>

enum pml__insn_kind {
  PML__INSN_UNKNOWN,
  PML__INSN_PLAIN,    /* goes on behind itself */
  PML__INSN_BRANCH,   /* goes on at `to` or behind itself */
  PML__INSN_JUMP,     /* goes on at `to` */
  PML__INSN_JUMP_REG, /* jumps to what register `reg` has */
  PML__INSN_JUMP_ANY, /* jumps elsewhere */
  PML__INSN_CALL,     /* calls `to`, or what lies in memory */
  PML__INSN_CALL_REG, /* calls what register `reg` has */
  PML__INSN_RETURN,
  PML__INSN_END /* nothing follows: ud2, hlt, int3 */
};

enum pml__reg_use { PML__REG_LEFT, PML__REG_WRITTEN, PML__REG_READ };

struct pml__insn {
  enum pml__insn_kind kind;
  enum pml__reg_use use; /* of the register that was asked for; the register of a CALL_REG or JUMP_REG is not counted */
  uint8_t length, reg;
  uintptr_t to;
};

/* The instruction at @at, of which @n bytes can be read, and its use of general register @r, by the number that
 * instructions have for it. */
struct pml__insn pml__decode(const uint8_t *at, uintptr_t n, unsigned r);

#endif
