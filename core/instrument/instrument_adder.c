/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/instrument/instrument_adder.c - shared functions that add to counters, instead of repeated code.
 *
 * They keep all registers, and find the cells in one that calls of the program keep, too: a call is hardly more than a
 * jump there and back. First each stretch calls a function. When the whole module is known, a function that too few
 * places call gives way to its additions, or to another function that makes a part of them.
 */
#include "instrument/instrument_function.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEEPS_ALL 15u /* LLVM's preserve_allcc */
#define CALL_BYTES 5u
#define RETURN_BYTES 1u
#define QUICK_BYTES_MIN 28u /* where code is to stay quick: a call is two instructions more */
#define FIRST ((LLVMAttributeIndex)1)

struct adder {
  LLVMValueRef function;
  struct pml_counts counts; /* that it adds, by cell; none: its body is there already */
  uint32_t uses;            /* calls of it, once the module is known */
  bool called;              /* it is a function to the end */
  int64_t *key;
  uint32_t words;
};

#define PARTS_MAX 1024u /* the most used ones: so that a large module is not looked through again for each */

struct pml_adders { /* open addressing; a power of two */
  struct adder *slot;
  uint32_t slots, used;
  const struct adder **part; /* functions that may make a part of what others add */
  uint32_t parts;
};

/* Of a parameter: the register that functions keep. */
static LLVMAttributeRef kept(const struct pml_module *m) {
  return LLVMCreateEnumAttribute(m->context, LLVMGetEnumAttributeKindForName("swiftself", 9), 0);
}

static uint64_t hash(const int64_t *key, uint32_t words) {
  uint64_t h = words;
  for (uint32_t i = 0; i < words; i++) h = (h ^ (uint64_t)key[i]) * 0x9e3779b97f4a7c15u, h ^= h >> 29;
  return h;
}

static struct adder *slot_of(const struct pml_adders *a, const int64_t *key, uint32_t words) {
  uint32_t i = (uint32_t)hash(key, words) & (a->slots - 1);
  while (a->slot[i].function != NULL &&
         (a->slot[i].words != words || memcmp(a->slot[i].key, key, words * sizeof *key) != 0))
    i = (i + 1) & (a->slots - 1);
  return &a->slot[i];
}

static int make_room(struct pml_module *m) {
  if (m->adders == NULL && (m->adders = calloc(1, sizeof *m->adders)) == NULL) return -ENOMEM;
  struct pml_adders *a = m->adders, more = {.slots = a->slots == 0 ? 64 : 2 * a->slots, .used = a->used};
  if (2 * (a->used + 1) <= a->slots) return 0;
  more.slot = calloc(more.slots, sizeof *more.slot);
  if (more.slot == NULL) return -ENOMEM;
  for (uint32_t i = 0; i < a->slots; i++)
    if (a->slot[i].function != NULL) *slot_of(&more, a->slot[i].key, a->slot[i].words) = a->slot[i];
  free(a->slot);
  *a = more;
  return 0;
}

static LLVMValueRef new_function(struct pml_module *m, uint32_t numbers) {
  LLVMTypeRef taken[PML_ADDER_NUMBERS_MAX + 1] = {m->i64_pointer};
  for (uint32_t i = 1; i <= numbers; i++) taken[i] = m->i64;
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(m->context), taken, numbers + 1, 0);
  LLVMValueRef f = LLVMAddFunction(m->module, "pml_count.add", type);
  LLVMSetLinkage(f, LLVMInternalLinkage);
  LLVMSetFunctionCallConv(f, KEEPS_ALL);
  pml_promise(m, f, PML_TOUCHES_CELLS);
  pml_give(m, f, "noinline");
  pml_give(m, f, "optsize"); /* or it would be aligned */
  LLVMAddAttributeAtIndex(f, FIRST, kept(m));
  return f;
}

LLVMValueRef pml_adder_of(struct pml_module *m, const int64_t *key, uint32_t words, uint32_t numbers) {
  if (make_room(m) < 0) return NULL;
  struct adder *a = slot_of(m->adders, key, words);
  if (a->function != NULL) return a->function;
  a->key = malloc(words * sizeof *key);
  if (a->key == NULL) return NULL;
  memcpy(a->key, key, words * sizeof *key);
  a->words = words;
  a->function = new_function(m, numbers);
  m->adders->used++;
  return a->function;
}

void pml_adder_use(struct pml_module *m, LLVMValueRef adder, LLVMValueRef *args) {
  LLVMTypeRef type = LLVMGlobalGetValueType(adder);
  LLVMValueRef call = LLVMBuildCall2(m->builder, type, adder, args, LLVMCountParamTypes(type), "");
  LLVMSetInstructionCallConv(call, KEEPS_ALL);
  LLVMAddCallSiteAttribute(call, FIRST, kept(m));
  pml_promise(m, call, PML_TOUCHES_CELLS);
}

int pml_adder_add(struct pml_body *f, struct pml_counts *c) {
  uint32_t words = 2 * c->used, n = 0;
  int64_t *key = calloc(words, sizeof *key);
  if (key == NULL) return -ENOMEM;
  for (uint32_t i = 0; i < c->used; i++) {
    key[n++] = c->at[i].cell;
    key[n++] = c->at[i].n;
  }
  LLVMValueRef adder = pml_adder_of(f->m, key, words, 0);
  struct adder *a = adder != NULL ? slot_of(f->m->adders, key, words) : NULL;
  free(key);
  if (a == NULL) return -ENOMEM;
  if (a->counts.used == 0) {
    a->counts = *c;
    *c = (struct pml_counts){0};
  }
  pml_adder_use(f->m, adder, &f->cells);
  return 0;
}

/* --- what becomes of them, when all of the module is known --- */

static uint32_t uses_of(LLVMValueRef f) {
  uint32_t n = 0;
  for (LLVMUseRef u = LLVMGetFirstUse(f); u != NULL; u = LLVMGetNextUse(u)) n++;
  return n;
}

static bool is_worth_a_call(const struct pml_module *m, const struct adder *a) {
  uint32_t bytes = pml_assembled_bytes(&a->counts);
  return a->uses * CALL_BYTES + bytes + RETURN_BYTES < a->uses * bytes &&
         (!pml_is_quick(m) || bytes >= QUICK_BYTES_MIN);
}

static int make_body(struct pml_module *m, const struct adder *a) {
  LLVMPositionBuilderAtEnd(m->builder, LLVMAppendBasicBlockInContext(m->context, a->function, ""));
  int err = pml_assemble_counts(m, LLVMGetParam(a->function, 0), &a->counts);
  LLVMBuildRetVoid(m->builder);
  return err;
}

/* @whole less @part in @rest, which has room for @whole. False: @part is no part of it. */
static bool take_away(const struct pml_counts *whole, const struct pml_counts *part, struct pml_counts *rest) {
  uint32_t k = 0;
  rest->used = 0;
  for (uint32_t i = 0; i < whole->used; i++) {
    struct pml_counts_at at = whole->at[i];
    bool both = k < part->used && part->at[k].cell == at.cell;
    if (both && (part->at[k].n < 0 || part->at[k].n > at.n)) return false;
    if (both) at.n -= part->at[k++].n;
    if (at.n != 0) rest->at[rest->used++] = at;
  }
  return k == part->used;
}

/* The function that makes @c the shortest if it adds what it can of it, with the rest in @rest; NULL: none does. */
static const struct adder *find_part(const struct pml_module *m, const struct pml_counts *c, struct pml_counts *rest) {
  const struct adder *best = NULL;
  uint32_t least = pml_assembled_bytes(c);
  for (uint32_t i = 0; i < m->adders->parts; i++) {
    const struct adder *a = m->adders->part[i];
    if (a->counts.used > c->used || !take_away(c, &a->counts, rest)) continue;
    uint32_t bytes = CALL_BYTES + pml_assembled_bytes(rest);
    if (bytes >= least) continue;
    least = bytes;
    best = a;
  }
  (void)take_away(c, best != NULL ? &best->counts : &(struct pml_counts){0}, rest);
  return best;
}

static int put_in_place(struct pml_module *m, const struct adder *a) {
  struct pml_counts rest = {.at = calloc(a->counts.used, sizeof *rest.at), .room = a->counts.used};
  if (rest.at == NULL) return -ENOMEM;
  const struct adder *part = find_part(m, &a->counts, &rest);
  int err = 0;
  for (LLVMUseRef u; (u = LLVMGetFirstUse(a->function)) != NULL && !err;) {
    LLVMValueRef call = LLVMGetUser(u), cells = LLVMGetArgOperand(call, 0);
    LLVMPositionBuilderBefore(m->builder, call);
    if (part != NULL) pml_adder_use(m, part->function, &cells);
    err = pml_assemble_counts(m, cells, &rest);
    LLVMInstructionEraseFromParent(call);
  }
  if (!err) LLVMDeleteFunction(a->function);
  free(rest.at);
  return err;
}

/* What is called once is left to the pass that inlines. */
static void embed(struct pml_module *m, LLVMValueRef f) {
  unsigned kind = LLVMGetEnumAttributeKindForName("noinline", 8);
  LLVMRemoveEnumAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, kind);
  pml_give(m, f, "alwaysinline");
}

static int settle(struct pml_module *m, const struct adder *a) {
  if (a->counts.used > 0) return a->called ? make_body(m, a) : put_in_place(m, a);
  if (!m->o->final && uses_of(a->function) == 1) embed(m, a->function);
  return 0;
}

static int by_uses(const void *x, const void *y) {
  const struct adder *const *a = x, *const *b = y;
  if ((*a)->uses != (*b)->uses) return (*a)->uses > (*b)->uses ? -1 : 1;
  return *a < *b ? -1 : *a > *b;
}

/* Which are functions to the end. 0 or -ENOMEM. */
static int choose_called(struct pml_module *m, struct pml_adders *all) {
  all->part = calloc(all->used + 1, sizeof *all->part);
  if (all->part == NULL) return -ENOMEM;
  for (uint32_t i = 0; i < all->slots; i++) {
    struct adder *a = &all->slot[i];
    if (a->counts.used == 0) continue;
    a->uses = uses_of(a->function);
    a->called = is_worth_a_call(m, a);
    if (a->called && !pml_is_quick(m)) all->part[all->parts++] = a;
  }
  qsort(all->part, all->parts, sizeof *all->part, by_uses);
  if (all->parts > PARTS_MAX) all->parts = PARTS_MAX;
  return 0;
}

int pml_adders_settle(struct pml_module *m) {
  uint32_t slots = m->adders != NULL ? m->adders->slots : 0;
  int err = slots > 0 ? choose_called(m, m->adders) : 0;
  for (uint32_t i = 0; i < slots && !err; i++)
    if (m->adders->slot[i].function != NULL) err = settle(m, &m->adders->slot[i]);
  return err;
}

void pml_adders_close(struct pml_module *m) {
  for (uint32_t i = 0; m->adders != NULL && i < m->adders->slots; i++) {
    free(m->adders->slot[i].counts.at);
    free(m->adders->slot[i].key);
  }
  if (m->adders != NULL) {
    free(m->adders->slot);
    free(m->adders->part);
  }
  free(m->adders);
  m->adders = NULL;
}
