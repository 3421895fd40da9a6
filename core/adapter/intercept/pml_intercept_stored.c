/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/intercept/pml_intercept_stored.c - exported functions whose address their own object has in its code or
 * data, so that calls by pointers to them are possible. */
#include "adapter/intercept/pml_intercept_stored.h"

#include "adapter/arch/pml_arch.h"
#include "base/pml_map.h"

#include <stdlib.h>

/* ---- exported functions by address ---- */

static bool is_function(const struct pml__object *o, size_t symbol) {
  const Elf64_Sym *s = &o->sym[symbol];
  return symbol < PML__SCAN_NOTED - 1 && s->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(s->st_info) == STT_FUNC &&
         pml__object_is_code(o, o->base + s->st_value);
}

static bool count(void *arg, size_t symbol) {
  struct pml__stored *t = arg;
  t->n += is_function(t->o, symbol);
  return true;
}

static uint32_t *first_place(const struct pml__stored *t, uint64_t value) {
  return &t->at[value * PML__HASH_FACTOR >> 32 & t->mask];
}

static uint32_t *next_place(const struct pml__stored *t, const uint32_t *place) {
  return &t->at[(size_t)(place + 1 - t->at) & t->mask];
}

static bool enter(void *arg, size_t symbol) {
  struct pml__stored *t = arg;
  if (!is_function(t->o, symbol) || t->n-- == 0) return true;
  uint32_t *place = first_place(t, t->o->sym[symbol].st_value);
  while (*place != 0) place = next_place(t, place);
  *place = (uint32_t)symbol + 1;
  return true;
}

bool pml__stored_begin(struct pml__stored *t, const struct pml__object *o) {
  size_t room = 16;
  *t = (struct pml__stored){.o = o, .lo = UINTPTR_MAX};
  for (uint32_t i = 0; i < o->nsegments; i++) {
    if ((o->segment[i].flags & PF_X) == 0) continue;
    if (o->segment[i].lo < t->lo) t->lo = o->segment[i].lo;
    if (o->segment[i].hi > t->hi) t->hi = o->segment[i].hi;
  }
  if (o->sym == NULL || o->str == NULL || t->lo > t->hi) return true;
  pml__object_walk(o, count, t);
  if (t->n == 0) return true;
  while (room < 2 * t->n) room *= 2;
  t->mask = room - 1;
  t->at = calloc(room, sizeof *t->at);
  if (t->at == NULL) return false;
  pml__object_walk(o, enter, t);
  return true;
}

/* ---- uses ---- */

static void mark(struct pml__stored *t, uintptr_t value) {
  for (uint32_t *place = first_place(t, value); *place != 0; place = next_place(t, place)) {
    if (t->o->sym[(*place & ~PML__SCAN_NOTED) - 1].st_value != value || *place >= PML__SCAN_NOTED) continue;
    *place |= PML__SCAN_NOTED;
    t->marked++;
  }
}

static void note_use(void *arg, uintptr_t address, uintptr_t operand, bool call) {
  struct pml__stored *t = arg;
  (void)operand, (void)call;
  mark(t, address - t->o->base);
}

void pml__stored_text(struct pml__stored *t, const uint8_t *text, size_t n, uintptr_t at) {
  if (t->at != NULL) (void)pml_arch_scan_addresses(text, n, at, t->lo, t->hi, note_use, t);
}

/* The address that a relocation stores in data; 0: of no function of the object. */
static uintptr_t value_of(const struct pml__object *o, const Elf64_Rela *r) {
  uint32_t type = (uint32_t)ELF64_R_TYPE(r->r_info);
  if (type == pml__arch_relative) return (uintptr_t)r->r_addend;
  const Elf64_Sym *s = type == pml__arch_abs64 ? pml__object_symbol(o, ELF64_R_SYM(r->r_info)) : NULL;
  return s != NULL && s->st_shndx != SHN_UNDEF ? s->st_value + (uintptr_t)r->r_addend : 0;
}

static void look_at_data(struct pml__stored *t) {
  const struct pml__object *o = t->o;
  for (const Elf64_Rela *r = o->rela - o->nrelative; r != o->rela + o->nrela; r++) {
    uintptr_t value = value_of(o, r);
    if (o->base + value - t->lo < t->hi - t->lo) mark(t, value);
  }
}

uint32_t *pml__stored_end(struct pml__stored *t, size_t *n) {
  uint32_t *symbol = NULL;
  *n = 0;
  if (t->at == NULL) return NULL;
  if (t->o->rela != NULL) look_at_data(t);
  if (t->marked > 0) symbol = malloc(t->marked * sizeof *symbol);
  for (size_t i = 0; symbol != NULL && i <= t->mask; i++)
    if (t->at[i] >= PML__SCAN_NOTED) symbol[(*n)++] = (t->at[i] & ~PML__SCAN_NOTED) - 1;
  free(t->at);
  return symbol;
}
