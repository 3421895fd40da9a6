/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/arch/x86_64/flow.c - uses of an address that code loads from a slot. */
#if defined(__x86_64__)
#include "adapter/arch/pml_arch.h"
#include "adapter/arch/x86_64/decode.h"

#include <string.h>

#define STEPS 2048u  /* instructions that are looked at for one load */
#define SEEN 4096u   /* a power of two */
#define WAITING 256u /* branches */

struct flow {
  const struct pml_arch_code *code;
  unsigned reg;
  bool survives; /* calls preserve the register */
  uintptr_t seen[SEEN], waiting[WAITING];
  uint32_t nseen, nwaiting;
};

/* 1: it is new; 0: it was seen; -1: there is no more room. */
static int add(struct flow *f, uintptr_t at) {
  uint32_t i = (uint32_t)(at * 0x9e3779b1u >> 7) & (SEEN - 1);
  while (f->seen[i] != 0 && f->seen[i] != at) i = (i + 1) & (SEEN - 1);
  if (f->seen[i] == at) return 0;
  if (f->nseen == STEPS) return -1;
  f->nseen++;
  f->seen[i] = at;
  return 1;
}

static bool later(struct flow *f, uintptr_t at) {
  if (f->nwaiting == WAITING) return false;
  f->waiting[f->nwaiting++] = at;
  return true;
}

/* Follow a call: the use of the register by another function is only known if the convention preserves the register. */
static bool call(struct flow *f, uintptr_t next, bool of_it) {
  uintptr_t to = 0;
  bool ends = false;
  if (!f->survives) return of_it;
  if (!f->code->landing(f->code->arg, next, &to, &ends) || (to != 0 && !later(f, to))) return false;
  return ends || later(f, next);
}

/* Follow the instruction at @at. False: the address is used, or the instruction is not understood. */
static bool step(struct flow *f, uintptr_t at, uintptr_t *next) {
  if (at < f->code->lo || at >= f->code->hi) return false;
  const uint8_t *code = (const uint8_t *)at; /* NOLINT(performance-no-int-to-ptr) */
  struct pml__insn i = pml__decode(code, f->code->hi - at, f->reg);
  uintptr_t after = at + i.length;
  if (i.use == PML__REG_READ && i.kind != PML__INSN_END) return false;
  *next = 0;
  switch (i.kind) {
  case PML__INSN_PLAIN:
    *next = i.use == PML__REG_WRITTEN ? 0 : after;
    return true;
  case PML__INSN_BRANCH:
    *next = after;
    return later(f, i.to);
  case PML__INSN_JUMP:
    *next = i.to;
    return true;
  case PML__INSN_JUMP_REG:
    return i.reg == f->reg;
  case PML__INSN_CALL:
    return call(f, after, false);
  case PML__INSN_CALL_REG:
    return call(f, after, i.reg == f->reg);
  case PML__INSN_RETURN:
    return !f->survives && f->reg != 0 && f->reg != 2; /* not a result */
  case PML__INSN_END:
    return true;
  default:
    return false;
  }
}

static bool is_kept_by_calls(unsigned r) {
  return r == 3 || r == 5 || r >= 12;
}

/* mov slot(%rip), register: REX.W, 8b, the operand. */
static bool is_load(const uint8_t *operand) {
  return operand[-1] == 0x8b && (operand[-2] & 0xf8) == 0x48 && (operand[0] & 0xc7) == 0x05;
}

bool pml_arch_only_called(const struct pml_arch_code *c, uintptr_t operand) {
  struct flow f = {.code = c};
  const uint8_t *at = (const uint8_t *)operand; /* NOLINT(performance-no-int-to-ptr) */
  if (operand < c->lo + 2 || operand + 5 > c->hi || !is_load(at)) return false;
  f.reg = (at[0] >> 3 & 7u) | (at[-2] & 4u) << 1;
  f.survives = is_kept_by_calls(f.reg);
  for (f.waiting[f.nwaiting++] = operand + 5; f.nwaiting > 0;)
    for (uintptr_t next = f.waiting[--f.nwaiting]; next != 0;) {
      int fresh = add(&f, next);
      if (fresh < 0 || (fresh > 0 && !step(&f, next, &next))) return false;
      if (fresh == 0) break;
    }
  return true;
}

/*
 * Other threads may run the instruction. A store within a cache line is atomic, also for instruction fetches (HotSpot
 * patches calls in this way); and both destinations are valid.
 */
#define LINE 64u

static uintptr_t slot_of(uintptr_t operand) {
  int32_t distance;
  memcpy(&distance, (const void *)(operand + 1), sizeof distance); /* NOLINT(performance-no-int-to-ptr) */
  return operand + 1 + sizeof distance + (uintptr_t)(intptr_t)distance;
}

bool pml_arch_leads(uintptr_t operand, uintptr_t to) {
  return slot_of(operand) == to;
}

bool pml_arch_lead(uintptr_t operand, uintptr_t from, uintptr_t to, bool alone) {
  uintptr_t at = operand + 1, end = at + sizeof(int32_t);
  intptr_t distance = (intptr_t)(to - end);
  int32_t now = (int32_t)distance;
  if (slot_of(operand) == to) return true;
  if (slot_of(operand) != from || now != distance || (!alone && at / LINE != (end - 1) / LINE)) return false;
  __asm__ volatile("movl %1, (%0)" : : "r"(at), "r"(now) : "memory");
  return true;
}

#else
typedef int pml_flow_is_another;
#endif
