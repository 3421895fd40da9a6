/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/instrument/instrument_adder.c - shared functions that add to counters, instead of repeated code.
 *
 * The functions preserve all registers, and expect the cells in the register that calls of the program preserve as
 * well, so a call costs hardly more than two jumps. At first each stretch calls a function. When the whole module is
 * known, a function with too few callers is replaced by its additions, or by a call of another function that makes some
 * of them.
 */
#include "instrument/instrument_function.h"

#include "base/pml_array.h"
#include "base/pml_map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define KEEPS_ALL 15u /* LLVM's preserve_allcc */
#define CALL_BYTES 5u
#define RETURN_BYTES 1u
#define QUICK_BYTES_MIN 28u /* the limit in code optimised for speed, because a call executes two more instructions */
#define FIRST ((LLVMAttributeIndex)1)

struct adder {
  LLVMValueRef function;
  struct pml_counts counts; /* its additions, by cell; empty: it has a body already */
  uint32_t uses;            /* number of calls, once the module is known */
  bool called;              /* it remains a function */
  int64_t *key;
  uint32_t words;
};

#define PARTS_MAX 1024u /* the most used ones, so that adders of a large module do not search a long list */

struct pml_adders {
  struct pml__map map; /* by key */
  struct adder *at;    /* by number in the map */
  uint32_t room;
  const struct adder **part; /* functions that make a part of other functions' additions */
  uint32_t parts;
};

/* The attribute of a parameter in a preserved register. */
static LLVMAttributeRef kept(const struct pml_module *m) {
  return LLVMCreateEnumAttribute(m->context, LLVMGetEnumAttributeKindForName("swiftself", 9), 0);
}

static uint64_t hash(const int64_t *key, uint32_t words) {
  return pml__hash_bytes(words, key, words * sizeof *key);
}

/* The function for this key; NULL: not made yet. */
static struct adder *find(const struct pml_adders *a, const int64_t *key, uint32_t words) {
  uint32_t at = 0, i;
  while (a->at != NULL && (i = pml__map_next(&a->map, hash(key, words), &at)) != PML__MAP_NONE)
    if (a->at[i].words == words && memcmp(a->at[i].key, key, words * sizeof *key) == 0) return &a->at[i];
  return NULL;
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
  pml_give(m, f, "optsize"); /* otherwise it would be aligned */
  LLVMAddAttributeAtIndex(f, FIRST, kept(m));
  return f;
}

LLVMValueRef pml_adder_of(struct pml_module *m, const int64_t *key, uint32_t words, uint32_t numbers) {
  if (m->adders == NULL && (m->adders = calloc(1, sizeof *m->adders)) == NULL) return NULL;
  struct pml_adders *all = m->adders;
  const struct adder *known = find(all, key, words);
  if (known != NULL) return known->function;
  int64_t *copy = malloc(words * sizeof *key);
  if (copy == NULL || !PML__ARRAY_ROOM(all->at, all->room, all->map.n + 1) ||
      pml__map_add(&all->map, hash(key, words)) == PML__MAP_NONE) {
    free(copy);
    return NULL;
  }
  memcpy(copy, key, words * sizeof *key);
  struct adder *a = &all->at[all->map.n - 1];
  *a = (struct adder){.key = copy, .words = words, .function = new_function(m, numbers)};
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
  struct adder *a = adder != NULL ? find(f->m->adders, key, words) : NULL;
  free(key);
  if (a == NULL) return -ENOMEM;
  if (a->counts.used == 0) {
    a->counts = *c;
    *c = (struct pml_counts){0};
  }
  pml_adder_use(f->m, adder, &f->cells);
  return 0;
}

/* --- the choice between functions and inlined additions, once the module is known --- */

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

/* Store @whole minus @part in @rest, which has room for @whole. Returns false if @part is not contained in @whole. */
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

/* The function whose call, together with the additions in @rest, replaces @c by the fewest bytes; NULL: none saves
 * bytes. */
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

/* A function with one call is inlined by LLVM's inliner. */
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

/* Choose the functions that remain. Returns 0 or -ENOMEM. */
static int choose_called(struct pml_module *m, struct pml_adders *all) {
  all->part = calloc(all->map.n + 1, sizeof *all->part);
  if (all->part == NULL) return -ENOMEM;
  for (uint32_t i = 0; i < all->map.n; i++) {
    struct adder *a = &all->at[i];
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
  uint32_t n = m->adders != NULL ? m->adders->map.n : 0;
  int err = n > 0 ? choose_called(m, m->adders) : 0;
  for (uint32_t i = 0; i < n && !err; i++) err = settle(m, &m->adders->at[i]);
  return err;
}

void pml_adders_close(struct pml_module *m) {
  if (m->adders == NULL) return;
  for (uint32_t i = 0; i < m->adders->map.n; i++) {
    free(m->adders->at[i].counts.at);
    free(m->adders->at[i].key);
  }
  pml__map_free(&m->adders->map);
  free(m->adders->at);
  free(m->adders->part);
  free(m->adders);
  m->adders = NULL;
}
