/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/otf2/pml_otf2_walk.c - call stack, and the contribution of each event to sums. */
#include "read/otf2/pml_otf2_walk.h"

#include "base/pml_array.h"
#include "record/quantile/pml_sketch.h"

#include <stdlib.h>

/* Sketches of durations: accurate to 1 % of the value, over 8 decades and more. */
#define ALPHA 0.01
#define BUCKETS 1024u

/* ---- the call tree ---- */

/* The call of @region in @parent, which is added if it is new; PML_OTF2_NONE: no memory. */
static size_t tree_node(struct pml__otf2_tree *t, size_t parent, size_t region) {
  uint64_t hash = pml__hash(pml__hash(PML__HASH, parent), region);
  uint32_t at = 0, i;
  while ((i = pml__map_next(&t->map, hash, &at)) != PML__MAP_NONE)
    if (t->node[i].parent == parent && t->node[i].region == region) return i;
  if (!PML__ARRAY_ROOM(t->node, t->capacity, t->map.n + 1) || pml__map_add(&t->map, hash) == PML__MAP_NONE)
    return PML_OTF2_NONE;
  t->node[t->n] = (struct pml_otf2_path){parent, region};
  return t->n++;
}

bool pml__otf2_tree_join(struct pml__otf2_tree *into, const struct pml__otf2_tree *from, size_t *map) {
  for (size_t i = 0; i < from->n; i++) {
    size_t parent = from->node[i].parent;
    map[i] = tree_node(into, parent != PML_OTF2_NONE ? map[parent] : PML_OTF2_NONE, from->node[i].region);
    if (map[i] == PML_OTF2_NONE) return false;
  }
  return true;
}

struct child {
  size_t parent, region, node; /* parent: node + 1, or 0 */
};

static int by_parent(const void *a, const void *b) {
  const struct child *x = a, *y = b;
  if (x->parent != y->parent) return x->parent < y->parent ? -1 : 1;
  return (x->region > y->region) - (x->region < y->region);
}

/* Children of a node are contiguous; first[p] is the position of parent p's children. A stack of positions replaces
 * recursion. */
static void number(const struct child *child, const size_t *first, size_t *stack, size_t *map) {
  size_t depth = 1, next = 0;
  stack[0] = first[0];
  while (depth > 0) {
    size_t at = stack[depth - 1]++, parent = depth > 1 ? child[stack[depth - 2] - 1].node + 1 : 0;
    if (at == first[parent + 1]) {
      depth--;
      continue;
    }
    map[child[at].node] = next++;
    stack[depth++] = first[child[at].node + 1];
  }
}

static void renumber(struct pml__otf2_tree *t, const size_t *map, struct pml_otf2_path *to) {
  for (size_t i = 0; i < t->n; i++) {
    size_t parent = t->node[i].parent;
    to[map[i]] = (struct pml_otf2_path){parent != PML_OTF2_NONE ? map[parent] : PML_OTF2_NONE, t->node[i].region};
  }
  free(t->node);
  t->node = to;
}

bool pml__otf2_tree_order(struct pml__otf2_tree *t, size_t *map) {
  struct child *child = calloc(t->n + 1, sizeof *child);
  size_t *first = calloc(t->n + 2, sizeof *first), *stack = calloc(t->n + 2, sizeof *stack);
  struct pml_otf2_path *to = calloc(t->n + 1, sizeof *to);
  bool done = child != NULL && first != NULL && stack != NULL && to != NULL;
  if (done) {
    for (size_t i = 0; i < t->n; i++) child[i] = (struct child){t->node[i].parent + 1, t->node[i].region, i};
    qsort(child, t->n, sizeof *child, by_parent);
    for (size_t i = 0; i < t->n; i++) first[child[i].parent + 1]++;
    for (size_t i = 0; i <= t->n; i++) first[i + 1] += first[i];
    number(child, first, stack, map);
    renumber(t, map, to);
  } else {
    free(to);
  }
  free(child);
  free(first);
  free(stack);
  return done;
}

static void tree_free(struct pml__otf2_tree *t) {
  free(t->node);
  pml__map_free(&t->map);
  *t = (struct pml__otf2_tree){0};
}

/* ---- sums ---- */

/* NULL: no memory. */
static inline struct pml__otf2_sums *sums_of(struct pml__otf2_walk *w, size_t item) {
  if (item < w->items && w->sums[item].touched) return &w->sums[item];
  if (!PML__ARRAY_ZEROS(w->sums, w->items, item + 1) ||
      !PML__ARRAY_ROOM(w->touched, w->touched_room, w->ntouched + 1)) {
    w->refused = true;
    return NULL;
  }
  w->sums[item] = (struct pml__otf2_sums){.least = UINT64_MAX, .first = UINT64_MAX, .touched = true};
  w->touched[w->ntouched++] = item;
  return &w->sums[item];
}

static void add_duration(struct pml__otf2_walk *w, struct pml__otf2_sums *s, uint64_t ticks) {
  if (s->durations == NULL && pml_sketch_open(&s->durations, ALPHA, BUCKETS) < 0) {
    s->durations = NULL;
    w->refused = true;
  }
  if (s->durations != NULL) pml_sketch_add(s->durations, (double)ticks / (double)w->trace->resolution);
}

/* ---- calls ---- */

/* The part of a call that lies in the column, until @time. */
static inline uint64_t account(struct pml__otf2_walk *w, struct pml__otf2_frame *f, struct pml__otf2_sums *s,
                               uint64_t time) {
  uint64_t from = f->enter > w->from ? f->enter : w->from, to = time < w->to ? time : w->to;
  uint64_t span = to > from ? to - from : 0;
  s->exclusive += span - (f->inside < span ? f->inside : span);
  if (f->outer) s->inclusive += span;
  if (f->top) w->topmost += span;
  return span;
}

static inline bool began(const struct pml__otf2_walk *w, const struct pml__otf2_frame *f) {
  return f->enter >= w->from && f->enter <= w->to;
}

static void count(struct pml__otf2_sums *s, const struct pml__otf2_frame *f) {
  s->calls++;
  if (f->enter < s->first) s->first = f->enter;
}

static void complete(struct pml__otf2_walk *w, struct pml__otf2_sums *s, const struct pml__otf2_frame *f,
                     uint64_t time) {
  uint64_t whole = time - f->enter;
  if (whole > s->most || s->least == UINT64_MAX) {
    s->most = whole;
    s->most_began = f->enter;
  }
  if (whole < s->least) s->least = whole;
  if (time > s->last) s->last = time;
  if (w->question->sketches && f->wanted) add_duration(w, s, whole);
}

enum ending { RETURNED, UNRETURNED, GOES_ON };

static void pop(struct pml__otf2_walk *w, uint64_t time, enum ending ending) {
  struct pml__otf2_frame *f = &w->stack[--w->depth];
  struct pml__otf2_sums *s = sums_of(w, f->item);
  w->open[f->region]--;
  w->ntop -= f->wanted;
  if (s == NULL) return;
  uint64_t span = account(w, f, s, time);
  if (began(w, f)) {
    count(s, f);
    s->unreturned += ending == UNRETURNED;
    if (ending == RETURNED && time <= w->to) complete(w, s, f, time);
  }
  if (w->depth > 0) w->stack[w->depth - 1].inside += span;
}

static bool push(struct pml__otf2_walk *w, size_t region, uint64_t time) {
  w->refused = w->refused || !PML__ARRAY_ROOM(w->stack, w->stack_capacity, w->depth + 1);
  if (w->refused) return false;
  size_t item = region;
  if (w->by_path) {
    item = tree_node(&w->tree, w->depth > 0 ? w->stack[w->depth - 1].item : PML_OTF2_NONE, region);
    w->refused |= item == PML_OTF2_NONE;
    if (item == PML_OTF2_NONE || sums_of(w, item) == NULL) return false;
  }
  bool wanted = w->wanted[region];
  w->stack[w->depth++] = (struct pml__otf2_frame){
      region, item, time, 0, wanted, w->open[region] == 0 || w->by_path, wanted && w->ntop == 0};
  w->open[region]++;
  w->ntop += wanted;
  return true;
}

/* ---- columns ---- */

/* End the column, and the parts of calls in it; the calls continue in the next one. */
static void turn(struct pml__otf2_walk *w) {
  uint64_t inside = 0;
  for (size_t i = w->depth; i-- > 0;) {
    struct pml__otf2_frame *f = &w->stack[i];
    struct pml__otf2_sums *s = sums_of(w, f->item);
    if (s == NULL) return;
    f->inside += inside;
    inside = account(w, f, s, w->to);
    if (began(w, f)) count(s, f);
    f->inside = 0;
  }
  pml__otf2_rows_column(w);
  w->column++;
  w->from = w->boundary[w->column];
  w->to = w->boundary[w->column + 1];
}

/* The time of a location never goes back. */
static inline uint64_t at(struct pml__otf2_walk *w, uint64_t time) {
  time = pml__otf2_time(w->trace, time);
  if (time < w->last) w->backward++;
  if (time > w->last) w->last = time;
  while (w->last >= w->to && w->column + 1 < w->columns && !w->refused) turn(w);
  w->past = w->last > w->to;
  return w->last;
}

static inline OTF2_CallbackCode go_on(const struct pml__otf2_walk *w) {
  return w->refused || w->past ? OTF2_CALLBACK_INTERRUPT : OTF2_CALLBACK_SUCCESS;
}

/* ---- events ---- */

static OTF2_CallbackCode on_enter(PML__OTF2_AT, OTF2_RegionRef id) {
  struct pml__otf2_walk *w = user;
  w->kinds.of[PML__OTF2_KIND_Enter]++;
  uint64_t now = at(w, time);
  if (w->past) return OTF2_CALLBACK_INTERRUPT;
  size_t region = pml__otf2_find(&w->trace->regions, id);
  if (region == PML_OTF2_NONE)
    w->unknown++;
  else if (!w->by_path || w->wanted[region])
    (void)push(w, region, now);
  return go_on(w);
}

/* A leave of an outer call ends the calls inside it. */
static OTF2_CallbackCode on_leave(PML__OTF2_AT, OTF2_RegionRef id) {
  struct pml__otf2_walk *w = user;
  w->kinds.of[PML__OTF2_KIND_Leave]++;
  uint64_t now = at(w, time);
  size_t region = pml__otf2_find(&w->trace->regions, id);
  if (region == PML_OTF2_NONE) {
    w->unknown++;
  } else if (w->by_path && !w->wanted[region]) {
    return go_on(w);
  } else if (w->open[region] == 0) {
    w->unmatched++;
  } else {
    for (; w->stack[w->depth - 1].region != region; w->unmatched++) pop(w, now, UNRETURNED);
    pop(w, now, RETURNED);
  }
  return go_on(w);
}

/* The sums for a message; NULL: outside of the window, or of all selected calls. */
static struct pml__otf2_sums *message(struct pml__otf2_walk *w, uint64_t time) {
  uint64_t now = at(w, time);
  if (now < w->from || w->past) return NULL;
  for (size_t i = w->depth; i-- > 0;)
    if (w->stack[i].wanted) return sums_of(w, w->stack[i].item);
  w->outside++;
  return w->by_path || w->by_region ? NULL : &w->loose;
}

struct moved {
  uint64_t sent, sent_bytes, received, received_bytes;
};

static OTF2_CallbackCode move(struct pml__otf2_walk *w, enum pml__otf2_kind_id kind, uint64_t time, struct moved m) {
  struct pml__otf2_sums *s = message(w, time);
  w->kinds.of[kind]++;
  if (s != NULL) {
    s->sent += m.sent;
    s->sent_bytes += m.sent_bytes;
    s->received += m.received;
    s->received_bytes += m.received_bytes;
  }
  return go_on(w);
}

#define UNUSED PML__OTF2_UNUSED

static OTF2_CallbackCode on_send(PML__OTF2_AT, UNUSED uint32_t receiver, UNUSED OTF2_CommRef comm, UNUSED uint32_t tag,
                                 uint64_t bytes) {
  return move(user, PML__OTF2_KIND_MpiSend, time, (struct moved){.sent = 1, .sent_bytes = bytes});
}

static OTF2_CallbackCode on_isend(PML__OTF2_AT, UNUSED uint32_t receiver, UNUSED OTF2_CommRef comm, UNUSED uint32_t tag,
                                  uint64_t bytes, UNUSED uint64_t request) {
  return move(user, PML__OTF2_KIND_MpiIsend, time, (struct moved){.sent = 1, .sent_bytes = bytes});
}

static OTF2_CallbackCode on_receive(PML__OTF2_AT, UNUSED uint32_t sender, UNUSED OTF2_CommRef comm, UNUSED uint32_t tag,
                                    uint64_t bytes) {
  return move(user, PML__OTF2_KIND_MpiRecv, time, (struct moved){.received = 1, .received_bytes = bytes});
}

static OTF2_CallbackCode on_ireceive(PML__OTF2_AT, UNUSED uint32_t sender, UNUSED OTF2_CommRef comm,
                                     UNUSED uint32_t tag, uint64_t bytes, UNUSED uint64_t request) {
  return move(user, PML__OTF2_KIND_MpiIrecv, time, (struct moved){.received = 1, .received_bytes = bytes});
}

static OTF2_CallbackCode on_collective(PML__OTF2_AT, UNUSED OTF2_CollectiveOp operation, UNUSED OTF2_CommRef comm,
                                       UNUSED uint32_t root, uint64_t out, uint64_t in) {
  return move(user, PML__OTF2_KIND_MpiCollectiveEnd, time, (struct moved){.sent_bytes = out, .received_bytes = in});
}

static OTF2_CallbackCode on_metric(PML__OTF2_AT, UNUSED OTF2_MetricRef id, UNUSED uint8_t n,
                                   UNUSED const OTF2_Type *type, UNUSED const OTF2_MetricValue *value) {
  ((struct pml__otf2_walk *)user)->kinds.of[PML__OTF2_KIND_Metric]++;
  return OTF2_CALLBACK_SUCCESS;
}

static void count_other(void *user, enum pml__otf2_kind_id kind, uint64_t time) {
  (void)time;
  ((struct pml__otf2_walk *)user)->kinds.of[kind]++;
}

void pml__otf2_walk_callbacks(OTF2_EvtReaderCallbacks *c) {
  pml__otf2_other_kinds(c);
  (void)OTF2_EvtReaderCallbacks_SetEnterCallback(c, on_enter);
  (void)OTF2_EvtReaderCallbacks_SetLeaveCallback(c, on_leave);
  (void)OTF2_EvtReaderCallbacks_SetMpiSendCallback(c, on_send);
  (void)OTF2_EvtReaderCallbacks_SetMpiIsendCallback(c, on_isend);
  (void)OTF2_EvtReaderCallbacks_SetMpiRecvCallback(c, on_receive);
  (void)OTF2_EvtReaderCallbacks_SetMpiIrecvCallback(c, on_ireceive);
  (void)OTF2_EvtReaderCallbacks_SetMpiCollectiveEndCallback(c, on_collective);
  (void)OTF2_EvtReaderCallbacks_SetMetricCallback(c, on_metric);
}

/* ---- locations ---- */

void pml__otf2_walk_begin(struct pml__otf2_walk *w, size_t location) {
  w->location = location;
  w->column = 0;
  w->from = w->boundary[0];
  w->to = w->boundary[1];
  w->last = 0;
  w->past = false;
}

void pml__otf2_walk_end(struct pml__otf2_walk *w) {
  while (w->depth > 0) pop(w, w->last, w->past ? GOES_ON : UNRETURNED);
  pml__otf2_rows_column(w);
}

bool pml__otf2_walk_open(struct pml__otf2_walk *w) {
  size_t n = w->trace->regions.n + 1;
  w->other.take = count_other;
  w->by_path = w->question->by & PML_OTF2_BY_PATH;
  w->by_region = w->question->by & PML_OTF2_BY_REGION;
  w->open = calloc(n, sizeof *w->open);
  w->loose = (struct pml__otf2_sums){.least = UINT64_MAX, .first = UINT64_MAX};
  return w->open != NULL;
}

void pml__otf2_walk_close(struct pml__otf2_walk *w) {
  for (size_t i = 0; i < w->ntouched; i++) pml_sketch_close(w->sums[w->touched[i]].durations);
  for (size_t i = 0; i < w->nrows; i++) pml_sketch_close(w->row[i].sums.durations);
  tree_free(&w->tree);
  free(w->open);
  free(w->sums);
  free(w->touched);
  free(w->stack);
  free(w->row);
}
