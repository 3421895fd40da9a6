/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/flow/pml_flow_label_gpr.c - compression of visits to labels, with general registers only. */
#include "substrate/flow/pml_flow_label.h"

static bool has_shape(const struct pml_flow_label *a, const struct pml_flow_label *run) {
  return a->k == run->k && a->j - a->i == run->j - run->i;
}

/* Extend the label by @run, if @run continues it. */
static bool go_on(struct pml_flow_label *a, const struct pml_flow_label *run) {
  if (a->m > 1) {
    if (!has_shape(a, run) || run->i != a->i + a->m * a->l) return false;
    a->m++;
    return true;
  }
  if (a->k == 0 || run->k != 0 || run->i != a->j + a->k) return false;
  a->j = run->i;
  return true;
}

/* Make a loop of the label and @run, if @run is its second iteration: two visits become a loop, two loops a nest. */
static bool begin_loop(struct pml_flow_label *a, const struct pml_flow_label *run) {
  if (a->m > 1 || !has_shape(a, run)) return false;
  if (run->k == 0) {
    a->k = run->i - a->i;
    a->j = run->i;
  } else {
    a->l = run->i - a->i;
    a->m = 2;
  }
  return true;
}

/* Whether @b repeats @a after its end. */
static bool is_again(const struct pml_flow_label *a, const struct pml_flow_label *b) {
  return a->m == b->m && a->l == b->l && has_shape(a, b) && b->i > a->j + (a->m - 1) * a->l;
}

/* If @label[b] has grown to a repetition of an earlier nest, merge both: each of their loops becomes a nest of two
 * iterations. */
static void fold(struct pml__flow_visits *s, uint32_t b, uint32_t oldest) {
  struct pml_flow_label again = s->label[b];
  if (again.m < 2 || again.m > PML__FLOW_FOLD) return;
  uint32_t a = b;
  while (a-- > oldest)
    if (is_again(&s->label[a], &again)) break;
  if (a + 1 == oldest || a >= b) return;
  struct pml_flow_label first = s->label[a];
  for (uint64_t turn = 0; turn < again.m; turn++) {
    uint32_t at = turn == 0 ? a : turn == 1 ? b : s->n++;
    uint64_t from = first.i + turn * first.l;
    s->label[at] = (struct pml_flow_label){from, from + (first.j - first.i), first.k, again.i - first.i, 2};
  }
}

static void put(struct pml__flow_visits *s, uint64_t first, uint64_t last, uint64_t stride) {
  const struct pml_flow_label run = {.i = first, .j = last, .k = stride, .l = 0, .m = 1};
  uint32_t oldest = s->n > PML__FLOW_WINDOW ? s->n - PML__FLOW_WINDOW : 0;
  for (uint32_t a = s->n; a-- > oldest;)
    if (go_on(&s->label[a], &run)) return fold(s, a, oldest);
  for (uint32_t a = s->n; a-- > oldest;)
    if (begin_loop(&s->label[a], &run)) return fold(s, a, oldest);
  s->label[s->n++] = run;
}

bool pml__flow_note_slowly(struct pml__flow_visits *s, uint64_t visit) {
  if (s->first == 0) {
    s->first = s->last = visit;
    return true;
  }
  if (s->stride == 0) {
    s->stride = visit - s->first;
    s->last = visit;
    s->next = visit + s->stride;
    return true;
  }
  if (pml__flow_needs_room(s)) return false;
  if (s->last - s->first == s->stride && visit - s->last < s->stride) {
    /* assume that the two closer ones of three visits are a loop */
    put(s, s->first, s->first, 0);
    s->first = s->last;
    s->stride = visit - s->last;
    s->last = visit;
    s->next = visit + s->stride;
    return true;
  }
  put(s, s->first, s->last, s->stride);
  s->first = s->last = visit;
  s->stride = s->next = 0;
  return true;
}

void pml__flow_visits_end(struct pml__flow_visits *s) {
  if (s->first != 0) put(s, s->first, s->last, s->stride);
  s->first = s->last = s->stride = s->next = 0;
}
