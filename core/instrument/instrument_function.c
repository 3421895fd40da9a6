/* SPDX-License-Identifier: BSD-3-Clause */
/* core/instrument/instrument_function.c - operations of a function, and the additions that count them. */
#include "instrument/instrument_function.h"

#include "base/pml_array.h"
#include "base/pml_map.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number of @block, or PML__MAP_NONE. */
static uint32_t number_of(const struct pml_body *f, LLVMBasicBlockRef block) {
  uint64_t hash = pml__hash(PML__HASH, (uintptr_t)block);
  uint32_t at = 0, i = pml__map_next(&f->numbers, hash, &at);
  while (i != PML__MAP_NONE && f->block[i].block != block) i = pml__map_next(&f->numbers, hash, &at);
  return i;
}

static int take_blocks(struct pml_body *f) {
  f->blocks = LLVMCountBasicBlocks(f->function);
  f->block = calloc(f->blocks, sizeof *f->block);
  if (f->block == NULL) return -ENOMEM;
  for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f->function); b != NULL; b = LLVMGetNextBasicBlock(b)) {
    uint32_t i = pml__map_add(&f->numbers, pml__hash(PML__HASH, (uintptr_t)b));
    if (i == PML__MAP_NONE) return -ENOMEM;
    f->block[i].block = b;
  }
  return 0;
}

void *pml_one_more(void **list, uint32_t *used, uint32_t *room, size_t size) {
  uint32_t next = (uint32_t)pml__array_next(*room, *used + 1);
  if (*used == *room) {
    if (!pml__array_resize(list, *room, next, size, false)) return NULL;
    *room = next;
  }
  return memset((char *)*list + size * (*used)++, 0, size);
}

static struct pml_stretch *new_stretch(struct pml_body *f) {
  return pml_one_more((void **)&f->stretch, &f->stretches, &f->stretch_room, sizeof *f->stretch);
}

static void note_uncounted(struct pml_body *f, LLVMValueRef i, const struct pml_class *c) {
  f->uncounted++;
  if (f->uncounted > 1) return;
  unsigned n = 0;
  const char *file = LLVMGetDebugLocFilename(i, &n);
  unsigned line = file != NULL ? LLVMGetDebugLocLine(i) : 0;
  snprintf(f->uncounted_what, sizeof f->uncounted_what, "%s%s%.64s", c->uncounted, c->name != NULL ? ": " : "",
           c->name != NULL ? c->name : "");
  if (line > 0)
    snprintf(f->uncounted_where, sizeof f->uncounted_where, "%.*s:%u", (int)(n < 200 ? n : 200), file, line);
  else
    snprintf(f->uncounted_where, sizeof f->uncounted_where, "%.200s", f->m->o->name);
}

/* The position of additions at the end of a block. If the block returns the result of a tail call, the additions are
 * placed before the call, because nothing may stand between a tail call and the return. */
static LLVMValueRef before_end(LLVMValueRef terminator) {
  if (LLVMGetInstructionOpcode(terminator) != LLVMRet) return terminator;
  LLVMValueRef i = LLVMGetPreviousInstruction(terminator);
  if (i != NULL && LLVMIsABitCastInst(i)) i = LLVMGetPreviousInstruction(i);
  return i != NULL && LLVMIsACallInst(i) && pml_calls_intrinsic(i) == NULL ? i : terminator;
}

static int note_dynamic(struct pml_body *f, LLVMValueRef i, const struct pml_class *c) {
  struct pml_dynamic *d = pml_one_more((void **)&f->dynamic, &f->dynamics, &f->dynamic_room, sizeof *d);
  if (d == NULL) return -ENOMEM;
  *d = (struct pml_dynamic){.before = i, .what = *c};
  if (c->dynamic_also == PML_CELL_COUNT) return 0;
  struct pml_class also = *c;
  also.dynamic_cell = c->dynamic_also;
  also.dynamic_also = PML_CELL_COUNT;
  return note_dynamic(f, i, &also);
}

static bool is_call(LLVMValueRef i) {
  LLVMOpcode op = LLVMGetInstructionOpcode(i);
  return op == LLVMCall || op == LLVMInvoke || op == LLVMCallBr;
}

/* Read the counts of an instruction; after inlining, only marks have counts. Returns 0 or -ENOMEM. */
static int read_instruction(struct pml_body *f, LLVMValueRef i, struct pml_counts *counts) {
  struct pml_class c;
  bool marked = f->m->mark != NULL && !f->m->marking;
  int err = marked ? pml_mark_read(f->m, i, counts, &c) : pml_classify(f->m, i, counts, &c);
  if (err < 0) return err;
  if (c.uncounted != NULL) note_uncounted(f, i, &c);
  return c.dynamic != NULL ? note_dynamic(f, i, &c) : 0;
}

/* Whether an instruction must stay at the beginning of a block or function. */
static bool begins_block(LLVMValueRef i) {
  return LLVMIsAPHINode(i) || LLVMIsALandingPadInst(i) || LLVMIsAAllocaInst(i);
}

static int read_block(struct pml_body *f, struct pml_block *b) {
  b->first = f->stretches;
  struct pml_stretch *s = new_stretch(f);
  LLVMValueRef end = LLVMGetBasicBlockTerminator(b->block);
  for (LLVMValueRef i = LLVMGetFirstInstruction(b->block); i != NULL && s != NULL; i = LLVMGetNextInstruction(i)) {
    if (s->first == NULL && !begins_block(i)) s->first = i;
    if (read_instruction(f, i, &s->counts) < 0) return -ENOMEM;
    if (!is_call(i) || !pml_may_leave(f->m, i)) continue;
    s->before = i;
    b->leaves = true;
    b->end_leaves = i == end;
    if (i != end) s = new_stretch(f);
  }
  if (s == NULL) return -ENOMEM;
  if (s->before == NULL) s->before = before_end(end);
  b->stretches = f->stretches - b->first;
  return 0;
}

static int read_blocks(struct pml_body *f) {
  int err = 0;
  for (uint32_t b = 0; b < f->blocks && !err; b++) err = read_block(f, &f->block[b]);
  return err;
}

static int open_flow(struct pml_body *f) {
  uint32_t n = 0, room = 0;
  for (uint32_t b = 0; b < f->blocks; b++) room += LLVMGetNumSuccessors(LLVMGetBasicBlockTerminator(f->block[b].block));
  f->edge = calloc((size_t)room + 1, sizeof *f->edge);
  if (f->edge == NULL) return -ENOMEM;
  for (uint32_t b = 0; b < f->blocks; b++) {
    LLVMValueRef end = LLVMGetBasicBlockTerminator(f->block[b].block);
    for (unsigned s = 0; s < LLVMGetNumSuccessors(end); s++)
      f->edge[n++] = (struct pml_cfg_edge){.from = b, .to = number_of(f, LLVMGetSuccessor(end, s))};
  }
  return pml_cfg_open(&f->flow, f->blocks, f->edge, n);
}

/* A block without a number was created for a loop. */
bool pml_body_in_loop(const struct pml_body *f, LLVMBasicBlockRef block) {
  uint32_t i = number_of(f, block);
  return i == PML__MAP_NONE || f->flow.loop[i] != PML_CFG_NONE;
}

/* A mask as a number with one bit per lane. In wider lanes the sign bit is the mask. */
static LLVMValueRef mask_bits(const struct pml_module *m, LLVMValueRef mask) {
  LLVMTypeRef type = LLVMTypeOf(mask);
  if (LLVMGetTypeKind(type) == LLVMIntegerTypeKind) return mask;
  bool vector = LLVMGetTypeKind(type) == LLVMVectorTypeKind;
  unsigned lanes = vector ? LLVMGetVectorSize(type) : 8; /* otherwise MMX */
  unsigned width = (unsigned)(LLVMSizeOfTypeInBits(m->data, type) / lanes);
  if (width > 1) {
    LLVMTypeRef whole = LLVMVectorType(LLVMIntTypeInContext(m->context, width), lanes);
    mask = LLVMBuildBitCast(m->builder, mask, whole, "");
    mask = LLVMBuildICmp(m->builder, LLVMIntSLT, mask, LLVMConstNull(whole), "");
  }
  return LLVMBuildBitCast(m->builder, mask, LLVMIntTypeInContext(m->context, lanes), "");
}

LLVMValueRef pml_body_amount(struct pml_body *f, const struct pml_class *c) {
  struct pml_module *m = f->m;
  LLVMValueRef n = c->dynamic;
  if (c->lane_bytes == 0) return LLVMBuildIntCast2(m->builder, n, m->i64, 0, "");
  n = mask_bits(m, n);
  LLVMTypeRef bits = LLVMTypeOf(n);
  if (c->lanes > 0 && c->lanes < LLVMGetIntTypeWidth(bits))
    n = LLVMBuildAnd(m->builder, n, LLVMConstInt(bits, (UINT64_C(1) << c->lanes) - 1, 0), "");
  LLVMValueRef count = LLVMGetIntrinsicDeclaration(m->module, LLVMLookupIntrinsicID("llvm.ctpop", 10), &bits, 1);
  n = LLVMBuildCall2(m->builder, LLVMFunctionType(bits, &bits, 1, 0), count, &n, 1, "");
  n = LLVMBuildIntCast2(m->builder, n, m->i64, 0, "");
  return LLVMBuildMul(m->builder, n, LLVMConstInt(m->i64, c->lane_bytes, 0), "");
}

/* A stretch's counts are added at its beginning. At its end, more values would be held in registers during the
 * addition, such as the operands of the block's comparison. */
static int add_stretch(struct pml_body *f, struct pml_stretch *s) {
  LLVMPositionBuilderBefore(f->m->builder, s->first);
  return pml_body_add_all(f, &s->counts);
}

static void add_dynamic(struct pml_body *f, const struct pml_dynamic *d) {
  LLVMPositionBuilderBefore(f->m->builder, d->before);
  pml_body_add(f, d->what.dynamic_cell, pml_body_amount(f, &d->what));
}

static bool is_static_alloca(LLVMValueRef i) {
  return LLVMIsAAllocaInst(i) && LLVMIsAConstantInt(LLVMGetOperand(i, 0));
}

/* Static allocas must be in the entry block, and the function has a new one. */
static void move_locals(struct pml_body *f, LLVMBasicBlockRef from) {
  for (LLVMValueRef i = LLVMGetFirstInstruction(from), next; i != NULL; i = next) {
    next = LLVMGetNextInstruction(i);
    if (!is_static_alloca(i)) continue;
    LLVMInstructionRemoveFromParent(i);
    LLVMInsertIntoBuilder(f->m->builder, i);
  }
}

void pml_set_unlikely(const struct pml_module *m, LLVMValueRef branch) {
  LLVMTypeRef i32 = LLVMInt32TypeInContext(m->context);
  LLVMMetadataRef weights[] = {LLVMMDStringInContext2(m->context, "branch_weights", 14),
                               LLVMValueAsMetadata(LLVMConstInt(i32, 1, 0)),
                               LLVMValueAsMetadata(LLVMConstInt(i32, 2000, 0))};
  LLVMMetadataRef node = LLVMMDNodeInContext2(m->context, weights, 3);
  LLVMSetMetadata(branch, LLVMGetMDKindIDInContext(m->context, "prof", 4), LLVMMetadataAsValue(m->context, node));
}

/* Phis must precede debug records. */
static void position_at_start(LLVMBuilderRef builder, LLVMBasicBlockRef block) {
#if PML_LLVM_MAJOR < 19
  LLVMPositionBuilderBefore(builder, LLVMGetFirstInstruction(block));
#else
  LLVMPositionBuilderBeforeInstrAndDbgRecords(builder, LLVMGetFirstInstruction(block));
#endif
}

/* The cells are looked up once per function. The load is marked invariant, so that one look-up remains after inlining:
 * a function that still reads NULL calls the runtime, and gets the same cells. */
static void look_up(struct pml_body *f, LLVMBasicBlockRef entry, LLVMBasicBlockRef old) {
  struct pml_module *m = f->m;
  LLVMBasicBlockRef first = LLVMInsertBasicBlockInContext(m->context, old, "count.begin");
  LLVMValueRef self = LLVMBuildLoad2(m->builder, m->i64_pointer, m->self, "");
  LLVMSetMetadata(self, LLVMGetMDKindIDInContext(m->context, "invariant.load", 14),
                  LLVMMetadataAsValue(m->context, LLVMMDNodeInContext2(m->context, NULL, 0)));
  pml_set_unlikely(m, LLVMBuildCondBr(m->builder, LLVMBuildIsNull(m->builder, self, ""), first, old));
  LLVMPositionBuilderAtEnd(m->builder, first);
  LLVMValueRef given = LLVMBuildCall2(m->builder, LLVMFunctionType(m->i64_pointer, NULL, 0, 0), m->begin, NULL, 0, "");
  LLVMBuildBr(m->builder, old);
  position_at_start(m->builder, old);
  f->cells = LLVMBuildPhi(m->builder, m->i64_pointer, "cells");
  LLVMAddIncoming(f->cells, &self, &entry, 1);
  LLVMAddIncoming(f->cells, &given, &first, 1);
}

static void begin_function(struct pml_body *f) {
  struct pml_module *m = f->m;
  LLVMBasicBlockRef old = LLVMGetEntryBasicBlock(f->function);
  f->entry = LLVMInsertBasicBlockInContext(m->context, old, "count");
  LLVMPositionBuilderAtEnd(m->builder, f->entry);
  LLVMSetCurrentDebugLocation2(m->builder, NULL); /* it belongs to the previous function */
  move_locals(f, old);
  if (!m->assembles) {
    look_up(f, f->entry, old);
    return;
  }
  f->cells = pml_assemble_look_up(m);
  LLVMBuildBr(m->builder, old);
}

/* Replaces @old by @now in all predecessors. Returns false if the address of @old is taken. */
static bool take_over(LLVMBasicBlockRef old, LLVMBasicBlockRef now) {
  for (LLVMUseRef u = LLVMGetFirstUse(LLVMBasicBlockAsValue(old)); u != NULL; u = LLVMGetNextUse(u))
    if (!LLVMIsAInstruction(LLVMGetUser(u))) return false;
  for (LLVMUseRef u; (u = LLVMGetFirstUse(LLVMBasicBlockAsValue(old))) != NULL;) {
    LLVMValueRef from = LLVMGetUser(u);
    for (unsigned s = 0; s < LLVMGetNumSuccessors(from); s++)
      if (LLVMGetSuccessor(from, s) == old) LLVMSetSuccessor(from, s, now);
  }
  return true;
}

LLVMBasicBlockRef pml_body_part(struct pml_module *m, LLVMBasicBlockRef block) {
  LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
  LLVMBasicBlockRef now = LLVMInsertBasicBlockInContext(m->context, block, "");
  if (!take_over(block, now)) {
    LLVMDeleteBasicBlock(now);
    return NULL;
  }
  LLVMPositionBuilderAtEnd(m->builder, now);
  LLVMSetCurrentDebugLocation2(m->builder, NULL); /* otherwise inserted instructions would inherit it */
  for (LLVMValueRef i = LLVMGetFirstInstruction(block), next; i != end; i = next) {
    next = LLVMGetNextInstruction(i);
    LLVMInstructionRemoveFromParent(i);
    LLVMInsertIntoBuilder(m->builder, i);
  }
  return now;
}

/* Without optimisation, fast instruction selection leaves a whole block to the slow selector if it does not support the
 * block's terminator. So the counts of a block that ends with a switch get a separate block. */
static void part_from_end(struct pml_module *m, LLVMBasicBlockRef block) {
  LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
  if (LLVMGetInstructionOpcode(end) != LLVMSwitch || LLVMGetFirstInstruction(block) == end) return;
  if (pml_body_part(m, block) != NULL) LLVMBuildBr(m->builder, block);
}

static bool is_empty(const struct pml_body *f) {
  for (uint32_t s = 0; s < f->stretches; s++)
    if (f->stretch[s].counts.used > 0) return false;
  return f->dynamics == 0;
}

static int emit(struct pml_body *f) {
  if (is_empty(f)) return 0;
  int err = open_flow(f);
  if (err) return err;
  begin_function(f);
  if (f->m->touch != NULL) pml_body_touch(f); /* first, while all accesses belong to the program */
  for (uint32_t d = 0; d < f->dynamics; d++) add_dynamic(f, &f->dynamic[d]);
  err = pml_body_loops(f);
  if (!err) err = pml_body_merge(f);
  if (!err) err = pml_body_share(f);
  for (uint32_t b = 0; b < f->blocks && !err; b++)
    for (uint32_t s = 0; s < f->block[b].stretches && !f->block[b].in_registers && !err; s++)
      err = add_stretch(f, &f->stretch[f->block[b].first + s]);
  for (uint32_t b = 0; b < f->blocks && !err && !f->m->o->final && !f->m->o->optimised; b++)
    part_from_end(f->m, f->block[b].block);
  return err;
}

static void report(const struct pml_body *f) {
  struct pml_instrument *o = f->m->o;
  size_t n;
  f->m->uncounted += f->uncounted;
  if (f->uncounted > 0 && o->uncounted != NULL)
    o->uncounted(o->user, f->uncounted_where, LLVMGetValueName2(f->function, &n), f->uncounted, f->uncounted_what);
}

int pml_instrument_function(struct pml_module *m, LLVMValueRef function) {
  struct pml_body f = {.m = m, .function = function};
  int err = take_blocks(&f);
  if (!err) err = read_blocks(&f);
  if (!err) err = m->marking ? pml_body_mark(&f) : emit(&f);
  if (!err) report(&f);
  if (!err && !m->marking && m->mark != NULL) pml_marks_erase(m, function);
  for (uint32_t s = 0; s < f.stretches; s++) free(f.stretch[s].counts.at);
  pml_cfg_close(&f.flow);
  free(f.stretch);
  free(f.dynamic);
  free(f.edge);
  pml__map_free(&f.numbers);
  free(f.block);
  return err;
}
