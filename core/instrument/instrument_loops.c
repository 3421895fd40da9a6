/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/instrument/instrument_loops.c - counting of loops in registers.
 *
 * Applies to outermost loops that control leaves through their exits only. The plan chooses the blocks that have a
 * counter; at each exit the counters' values are converted to counts and added to the cells. Counters are locals, which
 * become registers later.
 *
 * A process may be killed in such a loop, or exit while another of its threads is in one. Two measures limit and report
 * the loss. A cell counts the loops of this kind that the thread is in, so that a reader can detect missing counts. A
 * loop with inner loops is flushed at the end of one of its iterations once its counters have counted FLUSH_TURNS
 * iterations. At this position the counters alone are exact: the path from the entry to this position and on to the
 * header crosses each edge of the tree as often forward as backward, so that the plan's base is due at the exit only.
 * An innermost loop is flushed at its exits only, because a branch in it would prevent vectorisation.
 */
#include "instrument/instrument_function.h"

#include <errno.h>
#include <stdlib.h>

#define COUNTERS_MAX PML_ADDER_NUMBERS_MAX /* more counters would be in memory, like the cells */
#define EXITS_MAX 8u                       /* each exit adds to all cells of the loop */
#define FLUSH_TURNS 65536u
enum { END = -1, FLUSH_AT_EXIT = -2, FLUSH_AT_TURN = -3 }; /* markers in keys that describe a flush; not cells */

struct loop {
  struct pml_body *f;
  uint32_t number, exits;
  uint32_t before; /* the only predecessor outside of the loop, which does nothing else */
  uint32_t exit[EXITS_MAX];
  struct pml_cfg_plan plan;
  struct pml_counts *worth; /* [counters + 1] counts of each counter's unit; the last: of entering the loop */
  uint64_t cells[PML_COUNT_CELLS / 64]; /* cells with counts; a loop has a dozen */
  LLVMValueRef *counter;
  bool called;           /* flushing calls functions, because there may be several positions */
  LLVMValueRef flush[2]; /* these functions, for an iteration and for an exit */
};

/* Find the exit blocks, which must be reachable from the loop only. */
static bool find_exits(struct loop *l) {
  const struct pml_cfg *g = &l->f->flow;
  for (uint32_t e = 0; e < g->edges; e++) {
    uint32_t to = g->edge[e].to;
    if (!pml_cfg_within(g, g->edge[e].from, l->number) || pml_cfg_within(g, to, l->number)) continue;
    for (uint32_t p = g->first_in[to]; p < g->first_in[to + 1]; p++)
      if (!pml_cfg_within(g, g->into[p], l->number)) return false;
    bool known = false;
    for (uint32_t i = 0; i < l->exits; i++) known |= l->exit[i] == to;
    if (known) continue;
    if (l->exits == EXITS_MAX) return false;
    l->exit[l->exits++] = to;
  }
  return l->exits > 0;
}

static bool find_entry(struct loop *l) {
  const struct pml_cfg *g = &l->f->flow;
  uint32_t header = g->in[l->number].header;
  l->before = PML_CFG_NONE;
  for (uint32_t p = g->first_in[header]; p < g->first_in[header + 1]; p++) {
    uint32_t from = g->into[p];
    if (pml_cfg_within(g, from, l->number)) continue;
    if (l->before != PML_CFG_NONE || g->first[from] + 1 != g->first[from + 1]) return false;
    l->before = from;
  }
  return l->before != PML_CFG_NONE;
}

static bool stays(const struct loop *l) {
  for (uint32_t b = 0; b < l->f->blocks; b++)
    if (l->f->block[b].leaves && pml_cfg_within(&l->f->flow, b, l->number)) return false;
  return true;
}

static int weigh(struct loop *l) {
  const struct pml_cfg_plan *p = &l->plan;
  l->worth = calloc((size_t)p->counters + 1, sizeof *l->worth);
  l->counter = calloc((size_t)p->counters + 1, sizeof(LLVMValueRef));
  if (l->worth == NULL || l->counter == NULL) return -ENOMEM;
  for (uint32_t b = 0; b < p->blocks; b++) {
    const struct pml_counts *counts = &l->f->stretch[l->f->block[p->block[b]].first].counts;
    for (uint32_t c = 0; c <= p->counters; c++) {
      int64_t share = c < p->counters ? p->share[b * p->counters + c] : p->base[b];
      for (uint32_t i = 0; i < counts->used && share != 0; i++) {
        l->cells[counts->at[i].cell / 64] |= UINT64_C(1) << counts->at[i].cell % 64;
        if (pml_counts_add(&l->worth[c], counts->at[i].cell, counts->at[i].n * share) < 0) return -ENOMEM;
      }
    }
  }
  return 0;
}

static void make_counters(struct loop *l) {
  struct pml_module *m = l->f->m;
  LLVMValueRef zero = LLVMConstInt(m->i64, 0, 0);
  for (uint32_t c = 0; c < l->plan.counters; c++) {
    LLVMPositionBuilderBefore(m->builder, LLVMGetFirstInstruction(l->f->entry));
    l->counter[c] = LLVMBuildAlloca(m->builder, m->i64, "turns");
    LLVMPositionBuilderBefore(m->builder, LLVMGetBasicBlockTerminator(l->f->entry));
    LLVMBuildStore(m->builder, zero, l->counter[c]);
    LLVMBasicBlockRef at = l->f->block[l->plan.block[l->plan.counter[c]]].block;
    LLVMPositionBuilderBefore(m->builder, LLVMGetBasicBlockTerminator(at));
    LLVMValueRef n = LLVMBuildLoad2(m->builder, m->i64, l->counter[c], "");
    LLVMBuildStore(m->builder, LLVMBuildAdd(m->builder, n, LLVMConstInt(m->i64, 1, 0), ""), l->counter[c]);
  }
}

static int64_t worth_of(const struct pml_counts *w, unsigned cell) {
  for (uint32_t i = 0; i < w->used; i++)
    if (w->at[i].cell == cell) return w->at[i].n;
  return 0;
}

/* The value to add to @cell: the sum over counters, and, when the loop is @left, the counts of entering. NULL: zero. */
static LLVMValueRef sum(struct loop *l, unsigned cell, LLVMValueRef *turns, bool left) {
  struct pml_module *m = l->f->m;
  uint32_t counters = l->plan.counters;
  int64_t base = left ? worth_of(&l->worth[counters], cell) : 0;
  LLVMValueRef total = base != 0 ? LLVMConstInt(m->i64, (uint64_t)base, 1) : NULL;
  for (uint32_t c = 0; c < counters; c++) {
    int64_t worth = worth_of(&l->worth[c], cell);
    if (worth == 0) continue;
    LLVMValueRef n = turns[c];
    if (worth != 1) n = LLVMBuildMul(m->builder, n, LLVMConstInt(m->i64, (uint64_t)worth, 1), "");
    total = total != NULL ? LLVMBuildAdd(m->builder, total, n, "") : n;
  }
  return total;
}

/* Reads a counter of iterations, hidden from code generation, which would otherwise keep each multiple of it in a
 * register through the loop. Before optimisation the value is not hidden, so that the optimiser can compute it. */
static LLVMValueRef read_turns(const struct loop *l, LLVMValueRef counter) {
  struct pml_module *m = l->f->m;
  LLVMValueRef n = LLVMBuildLoad2(m->builder, m->i64, counter, "");
  if (!m->o->final) return n;
  LLVMTypeRef type = LLVMFunctionType(m->i64, &m->i64, 1, 0);
  static char same[] = "=r,0", nothing[] = "";
  LLVMValueRef hide = LLVMGetInlineAsm(type, nothing, 0, same, sizeof same - 1, 0, 0, LLVMInlineAsmDialectATT, 0);
  return LLVMBuildCall2(m->builder, type, hide, &n, 1, "");
}

static void add_turns(struct loop *l, LLVMValueRef *turns, bool left) {
  for (unsigned word = 0; word < PML_COUNT_CELLS / 64; word++)
    for (uint64_t rest = l->cells[word]; rest != 0; rest &= rest - 1) {
      unsigned cell = 64 * word + (unsigned)__builtin_ctzll(rest);
      LLVMValueRef n = sum(l, cell, turns, left);
      if (n != NULL) pml_body_add(l->f, cell, n);
    }
}

static void note_underway(struct loop *l, uint64_t change) {
  pml_body_add(l->f, PML_CELL_UNDERWAY, LLVMConstInt(l->f->m->i64, change, 1));
}

/* Describe a flush as a key; returns its length. */
static uint32_t describe_flush(const struct loop *l, bool left, int64_t *key) {
  uint32_t n = 0;
  key[n++] = left ? FLUSH_AT_EXIT : FLUSH_AT_TURN;
  for (uint32_t c = 0; c < l->plan.counters + left; c++) {
    for (unsigned word = 0; word < PML_COUNT_CELLS / 64; word++)
      for (uint64_t rest = l->cells[word]; rest != 0; rest &= rest - 1) {
        unsigned cell = 64 * word + (unsigned)__builtin_ctzll(rest);
        int64_t worth = worth_of(&l->worth[c], cell);
        if (worth == 0) continue;
        key[n++] = cell;
        key[n++] = worth;
      }
    key[n++] = END;
  }
  return n;
}

/* Make a function that adds @turns to the cells, and at an exit also records the end of the loop. */
static void make_flush(struct loop *l, LLVMValueRef f, bool left) {
  struct pml_module *m = l->f->m;
  LLVMBuilderRef builder = m->builder;
  LLVMValueRef cells = l->f->cells, turns[COUNTERS_MAX] = {NULL};
  m->builder = LLVMCreateBuilderInContext(m->context);
  LLVMPositionBuilderAtEnd(m->builder, LLVMAppendBasicBlockInContext(m->context, f, ""));
  l->f->cells = LLVMGetParam(f, 0);
  for (uint32_t c = 0; c < l->plan.counters; c++) turns[c] = LLVMGetParam(f, c + 1);
  add_turns(l, turns, left);
  if (left) note_underway(l, UINT64_MAX);
  LLVMBuildRetVoid(m->builder);
  LLVMDisposeBuilder(m->builder);
  m->builder = builder;
  l->f->cells = cells;
}

/* Loops with the same flush share one function; inlining creates many of them. */
static int find_flush(struct loop *l, bool left) {
  uint32_t words = 1;
  for (uint32_t c = 0; c <= l->plan.counters; c++) words += 2 * l->worth[c].used + 1;
  int64_t *key = calloc(words, sizeof *key);
  if (key == NULL) return -ENOMEM;
  l->flush[left] = pml_adder_of(l->f->m, key, describe_flush(l, left, key), l->plan.counters);
  free(key);
  if (l->flush[left] == NULL) return -ENOMEM;
  if (LLVMCountBasicBlocks(l->flush[left]) == 0) make_flush(l, l->flush[left], left);
  return 0;
}

/* Add the counters' counts to the cells, at the builder's position; @left: with the counts that are due at an exit. */
static int flush(struct loop *l, bool left) {
  struct pml_module *m = l->f->m;
  LLVMValueRef taken[COUNTERS_MAX + 1] = {l->f->cells}, *turns = taken + 1;
  int err = l->called && l->flush[left] == NULL ? find_flush(l, left) : 0;
  if (err) return err;
  for (uint32_t c = 0; c < l->plan.counters; c++)
    turns[c] = l->called ? LLVMBuildLoad2(m->builder, m->i64, l->counter[c], "") : read_turns(l, l->counter[c]);
  if (l->called)
    pml_adder_use(m, l->flush[left], taken);
  else
    add_turns(l, turns, left);
  for (uint32_t c = 0; c < l->plan.counters; c++) LLVMBuildStore(m->builder, LLVMConstInt(m->i64, 0, 0), l->counter[c]);
  return 0;
}

static int add_at_exit(struct loop *l, LLVMBasicBlockRef exit) {
  LLVMValueRef at = LLVMGetFirstInstruction(exit);
  while (LLVMIsAPHINode(at)) at = LLVMGetNextInstruction(at);
  LLVMPositionBuilderBefore(l->f->m->builder, at);
  int err = flush(l, true);
  if (!err && !l->called) note_underway(l, UINT64_MAX);
  return err;
}

static void add_at_entry(struct loop *l) {
  LLVMPositionBuilderBefore(l->f->m->builder, LLVMGetBasicBlockTerminator(l->f->block[l->before].block));
  note_underway(l, 1);
}

static bool has_inner(const struct loop *l) {
  const struct pml_cfg *g = &l->f->flow;
  for (uint32_t i = 0; i < g->loops; i++)
    if (g->in[i].parent == l->number) return true;
  return false;
}

/* The block at the end of every iteration; NONE: there are several. */
static uint32_t latch_of(const struct loop *l) {
  const struct pml_cfg *g = &l->f->flow;
  uint32_t header = g->in[l->number].header, latch = PML_CFG_NONE;
  for (uint32_t p = g->first_in[header]; p < g->first_in[header + 1]; p++) {
    if (!pml_cfg_within(g, g->into[p], l->number)) continue;
    if (latch != PML_CFG_NONE) return PML_CFG_NONE;
    latch = g->into[p];
  }
  return latch;
}

/* Add a flush at the end of an iteration. */
static int add_at_turn(struct loop *l) {
  struct pml_module *m = l->f->m;
  uint32_t latch = has_inner(l) ? latch_of(l) : PML_CFG_NONE;
  if (latch == PML_CFG_NONE || l->plan.counters == 0) return 0;
  LLVMBasicBlockRef end = l->f->block[latch].block, now = pml_body_part(m, end);
  if (now == NULL) return 0;
  LLVMValueRef turns = LLVMBuildLoad2(m->builder, m->i64, l->counter[0], "");
  for (uint32_t c = 1; c < l->plan.counters; c++)
    turns = LLVMBuildAdd(m->builder, turns, LLVMBuildLoad2(m->builder, m->i64, l->counter[c], ""), "");
  LLVMValueRef full = LLVMBuildICmp(m->builder, LLVMIntUGE, turns, LLVMConstInt(m->i64, FLUSH_TURNS, 0), "");
  LLVMBasicBlockRef out = LLVMInsertBasicBlockInContext(m->context, end, "count.flush");
  pml_set_unlikely(m, LLVMBuildCondBr(m->builder, full, out, end));
  LLVMPositionBuilderAtEnd(m->builder, out);
  int err = flush(l, false);
  LLVMBuildBr(m->builder, end);
  return err;
}

/* Returns 1 if the loop is counted in registers, 0 if it cannot be, or -ENOMEM. */
static int count_loop(struct pml_body *f, uint32_t number) {
  struct loop l = {.f = f, .number = number};
  if (!stays(&l) || !find_exits(&l) || !find_entry(&l)) return 0;
  int err = pml_cfg_plan_open(&l.plan, &f->flow, number, COUNTERS_MAX);
  bool counted = err == 0;
  if (counted) {
    err = weigh(&l);
    l.called = (l.exits > 1 || !pml_is_quick(f->m)) && f->m->assembles;
    if (!err) make_counters(&l);
    if (!err) add_at_entry(&l);
    for (uint32_t i = 0; i < l.exits && !err; i++) err = add_at_exit(&l, f->block[l.exit[i]].block);
    if (!err) err = add_at_turn(&l);
    for (uint32_t b = 0; b < l.plan.blocks; b++) f->block[l.plan.block[b]].in_registers = true;
  }
  for (uint32_t c = 0; l.worth != NULL && c <= l.plan.counters; c++) free(l.worth[c].at);
  free(l.worth);
  free(l.counter);
  pml_cfg_plan_close(&l.plan);
  return err == -ENOMEM ? err : counted;
}

/* Outer loops have higher numbers, and come first. */
int pml_body_loops(struct pml_body *f) {
  int err = 0;
  for (uint32_t l = f->flow.loops; l-- > 0 && err >= 0;)
    if (!f->block[f->flow.in[l].header].in_registers) err = count_loop(f, l);
  return err < 0 ? err : 0;
}
