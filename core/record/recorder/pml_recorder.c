/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/recorder/pml_recorder.c - open, push, and concurrent reads of recorders. */
#include "record/pml_recorder.h"

#include "base/pml_error.h"
#include "base/pml_pack.h"
#include "base/pml_process.h"
#include "record/recorder/pml_recorder_lane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define ALPHA 0.01
#define ATTEMPTS 8

/* --- opening ---------------------------------------------------------------------------------------------------------
 */

static size_t bytes_of(enum pml_type type) {
  static const size_t bytes[] = {
      [PML_TYPE_INT64] = 8, [PML_TYPE_INT32] = 4, [PML_TYPE_DOUBLE] = 8, [PML_TYPE_FLOAT] = 4};
  return type < PML_TYPE_OTHER ? bytes[type] : 0;
}

static int check_options(struct pml_recorder_options *o) {
  if ((unsigned)o->type > PML_TYPE_OTHER || (unsigned)o->keep > PML_KEEP_SKETCH)
    return pml_fail(-EINVAL, "recorder: unknown type (%d) or way of keeping (%d)", (int)o->type, (int)o->keep);
  if (o->bytes == 0) o->bytes = bytes_of(o->type);
  if (o->bytes == 0 || o->bytes > PML_RECORDER_BYTES_MAX ||
      (o->type != PML_TYPE_OTHER && o->bytes != bytes_of(o->type)))
    return pml_fail(-EINVAL, "recorder: an element of this type cannot have %zu bytes", o->bytes);
  if (o->keep == PML_KEEP_SKETCH && o->type == PML_TYPE_OTHER)
    return pml_fail(-EINVAL, "recorder: a sketch keeps numbers only; keep all elements of other types");
  if (o->alpha == 0) o->alpha = ALPHA;
  if (o->keep == PML_KEEP_SKETCH) o->cap = 0; /* its memory is bounded anyway */
  if (o->cap > PML__RECORDER_CAP_MAX)
    return pml_fail(-EINVAL, "recorder: the cap is above 2^%d; 0 means no limit", PML__RECORDER_GRANT_BITS);
  return 0;
}

/* A reset is one store, and one to the key of a handle; all other data of an epoch is tagged with it. */
static void begin_epoch(struct pml_recorder *r) {
  pml__process_look();
  uint64_t epoch = pml__recorder_new_epoch();
  __atomic_store_n(&r->dropped, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&r->head.epoch, epoch, __ATOMIC_SEQ_CST);
  pml__recorder_cache_renew(r);
  struct pml__log_cell *cell = pml__recorder_cell(r);
  if (cell == NULL) return;
  __atomic_store_n(&cell->more, 0, __ATOMIC_RELAXED);
  __atomic_store_n(&cell->epoch, epoch, __ATOMIC_RELEASE);
}

static int open_reading(struct pml_recorder *r) {
  const struct pml_recorder_options *o = &r->options;
  return o->keep == PML_KEEP_SKETCH ? pml_sketch_open(&r->merged, o->alpha, PML__RECORDER_BUCKETS)
                                    : pml_quantile_open(&r->quantile, o->type, o->bytes, o->compare);
}

static void free_recorder(struct pml_recorder *r) {
  pml__recorder_free_lanes(r);
  pml_quantile_close(r->quantile);
  pml_sketch_close(r->merged);
  free(r);
}

int pml_recorder_open(struct pml_recorder **out, const struct pml_recorder_options *options) {
  *out = NULL;
  struct pml_recorder_options o = *options;
  int rc = check_options(&o);
  if (rc < 0) return rc;
  struct pml_recorder *r = aligned_alloc(64, sizeof *r);
  if (r == NULL) return pml_fail(-ENOMEM, "recorder: out of memory");
  memset(r, 0, sizeof *r);
  r->options = o;
  begin_epoch(r);
  r->opened = r->head.epoch;
  rc = open_reading(r);
  if (rc == 0) rc = pml__recorder_slot_take(r);
  bool whole = o.keep == PML_KEEP_ALL && o.bytes == 8;
  r->head.at = r->slot * sizeof(struct pml__recorder_cell);
  r->head.at_8 = whole ? r->head.at : PML__RECORDER_NOWHERE;
  r->head.at_double = whole && o.type == PML_TYPE_DOUBLE ? r->head.at : PML__RECORDER_NOWHERE;
  if (rc < 0) {
    free_recorder(r);
    return pml_fail(rc, "recorder: out of memory");
  }
  *out = r;
  return 0;
}

void pml_recorder_close(struct pml_recorder *r) {
  if (r == NULL) return;
  pml__recorder_slot_give(r);
  free_recorder(r);
}

struct pml_recorder_options pml_recorder_options(const struct pml_recorder *r) {
  return r->options;
}

void pml_recorder_reset(struct pml_recorder *r) {
  begin_epoch(r);
}

/* --- pushing ---------------------------------------------------------------------------------------------------------
 */

static double number_of(enum pml_type type, const void *element) {
  union {
    int64_t i64;
    int32_t i32;
    double d;
    float f;
  } v;
  switch (type) {
  case PML_TYPE_INT64:
    return (double)*(const int64_t *)memcpy(&v.i64, element, sizeof v.i64);
  case PML_TYPE_INT32:
    return (double)*(const int32_t *)memcpy(&v.i32, element, sizeof v.i32);
  case PML_TYPE_FLOAT:
    return (double)*(const float *)memcpy(&v.f, element, sizeof v.f);
  default:
    return *(const double *)memcpy(&v.d, element, sizeof v.d);
  }
}

/*
 * The element is stored before the tail passes it, as seen by readers that load the tail with acquire. @bytes is a
 * constant for the common sizes, so that the copy is one store.
 */
static inline int store(struct pml__recorder_tail *t, const void *element, size_t bytes) {
  char *at = t->at;
  memcpy(at, element, bytes);
  __atomic_store_n(&t->at, at + bytes, __ATOMIC_RELEASE);
  return 0;
}

/* Apart, so that 4 bytes need no registers for it. */
static __attribute__((noinline)) int store_any(struct pml__recorder_tail *t, const void *element, size_t bytes) {
  return store(t, element, bytes);
}

static __attribute__((noinline)) int push_slow(struct pml_recorder *r, const void *element) {
  /* Acquire: a lane that is made now sees the reset that began the epoch complete. */
  uint64_t epoch = __atomic_load_n(&r->head.epoch, __ATOMIC_ACQUIRE);
  struct pml__recorder_lane *lane = pml__recorder_enter(r, epoch);
  if (lane == NULL) {
    pml__recorder_dropped(r);
    return PML_EFULL;
  }
  if (lane->sketch != NULL) {
    pml_sketch_add(lane->sketch, number_of(r->options.type, element));
    __atomic_store_n(&lane->added, lane->added + 1, __ATOMIC_RELEASE);
    return 0; /* there is no chunk, so that each push comes here */
  }
  if (lane->mark->tail.at == lane->mark->tail.end) {
    int rc = pml__recorder_more(r, lane, epoch);
    if (rc < 0) return rc;
  }
  return store(&lane->mark->tail, element, r->options.bytes);
}

static __attribute__((noinline)) int push_other(struct pml_recorder *r, const void *element) {
  struct pml__recorder_tail *t = pml__recorder_tail(&r->head, r->head.at);
  if (PML_UNLIKELY(t == NULL)) return push_slow(r, element);
  return r->options.bytes == 4 ? store(t, element, 4) : store_any(t, element, r->options.bytes);
}

int pml_recorder_push(struct pml_recorder *r, const void *element) {
  if (PML_UNLIKELY(r == NULL || element == NULL)) return -EINVAL;
  return PML_LIKELY(pml__recorder_push_8(&r->head, r->head.at_8, element)) ? 0 : push_other(r, element);
}

int pml__recorder_push_double_slow(struct pml_recorder *r, double v) {
  return r->options.type == PML_TYPE_DOUBLE ? push_slow(r, &v) : -EINVAL;
}

/* --- reading ---------------------------------------------------------------------------------------------------------
 */

static struct pml__recorder_lane *first_lane(const struct pml_recorder *r) {
  return __atomic_load_n(&r->lanes, __ATOMIC_ACQUIRE);
}

static struct pml__recorder_lane *next_lane(const struct pml__recorder_lane *l) {
  return __atomic_load_n(&l->next, __ATOMIC_ACQUIRE);
}

static uint64_t epoch_of(const struct pml_recorder *r) {
  return __atomic_load_n(&r->head.epoch, __ATOMIC_ACQUIRE);
}

/* Lanes may start again while they are added up; if the epoch is the same afterwards, none has. */
uint64_t pml_recorder_count(const struct pml_recorder *r) {
  pml__process_look();
  uint64_t count = 0, epoch = epoch_of(r);
  for (int i = 0; i < ATTEMPTS; i++) {
    count = 0;
    for (struct pml__recorder_lane *l = first_lane(r); l != NULL; l = next_lane(l))
      if (__atomic_load_n(&l->epoch, __ATOMIC_ACQUIRE) == epoch) count += pml__recorder_lane_count(l, r->options.bytes);
    uint64_t now = epoch_of(r);
    if (now == epoch) break;
    epoch = now;
  }
  return count;
}

uint64_t pml_recorder_dropped(const struct pml_recorder *r) {
  return __atomic_load_n(&r->dropped, __ATOMIC_RELAXED);
}

/* Called with elements that lie together; less than 0 ends the walk. */
typedef int visit(void *arg, const void *elements, size_t n);

/* Elements @first to @end of a pinned lane. */
static int visit_lane(const struct pml__recorder_lane *l, size_t bytes, uint64_t first, uint64_t end, visit *f,
                      void *arg) {
  if (first >= end) return 0; /* there may be no chunk yet, or one about to be */
  const struct pml__recorder_chunk *c = l->first;
  while (first < end) {
    while (first >= c->first + c->capacity) c = c->next;
    uint64_t till = c->first + c->capacity < end ? c->first + c->capacity : end;
    int rc = f(arg, (const char *)c->data + (first - c->first) * bytes, till - first);
    if (rc < 0) return rc;
    first = till;
  }
  return 0;
}

struct copy {
  char *out;
  size_t bytes;
};

static int copy_some(void *arg, const void *elements, size_t n) {
  struct copy *c = arg;
  memcpy(c->out, elements, n * c->bytes);
  c->out += n * c->bytes;
  return 0;
}

size_t pml_recorder_copy(struct pml_recorder *r, size_t first, void *out, size_t n) {
  if (r->options.keep == PML_KEEP_SKETCH) return 0;
  struct copy c = {out, r->options.bytes};
  size_t left = n;
  pml__recorder_read_begin(r);
  uint64_t epoch = epoch_of(r);
  for (struct pml__recorder_lane *l = first_lane(r); l != NULL && left > 0; l = next_lane(l)) {
    if (!pml__recorder_pin(l, epoch)) continue;
    uint64_t count = pml__recorder_lane_count(l, r->options.bytes);
    uint64_t skip = first < count ? first : count, take = count - skip < left ? count - skip : left;
    visit_lane(l, c.bytes, skip, skip + take, copy_some, &c);
    pml__recorder_unpin(l);
    first -= skip;
    left -= take;
  }
  pml__recorder_read_end(r);
  return n - left;
}

static int take_some(void *arg, const void *elements, size_t n) {
  return pml_quantile_add(arg, elements, n);
}

/* New elements of @l go to the quantiles, which were emptied if the epoch is new. */
static int take_lane(struct pml_recorder *r, struct pml__recorder_lane *l, uint64_t epoch) {
  if (!pml__recorder_pin(l, epoch)) return 0;
  uint64_t count = pml__recorder_lane_count(l, r->options.bytes);
  if (l->taken_epoch != epoch) l->taken = 0;
  l->taken_epoch = epoch;
  size_t before = pml_quantile_count(r->quantile) + pml_quantile_nans(r->quantile);
  int rc = visit_lane(l, r->options.bytes, l->taken, count, take_some, r->quantile);
  l->taken += pml_quantile_count(r->quantile) + pml_quantile_nans(r->quantile) - before;
  pml__recorder_unpin(l);
  return rc;
}

static int merge_lane(struct pml_recorder *r, struct pml__recorder_lane *l, uint64_t epoch) {
  if (!pml__recorder_pin(l, epoch)) return 0;
  int rc = pml_sketch_merge(r->merged, l->sketch);
  pml__recorder_unpin(l);
  return rc;
}

/* Updates the quantiles, or the merged sketch, to the recorded elements. One reader at a time. */
static int catch_up(struct pml_recorder *r) {
  bool sketch = r->options.keep == PML_KEEP_SKETCH;
  uint64_t epoch = epoch_of(r);
  if (r->quantile == NULL && r->merged == NULL) {
    int err = open_reading(r);
    if (err < 0) return err;
  }
  if (sketch)
    pml_sketch_clear(r->merged);
  else if (r->epoch != epoch)
    pml_quantile_clear(r->quantile);
  r->epoch = epoch;
  uint64_t count = pml_recorder_count(r),
           have = sketch ? 0 : pml_quantile_count(r->quantile) + pml_quantile_nans(r->quantile);
  int rc = sketch || count <= have ? 0 : pml_quantile_reserve(r->quantile, count - have);
  for (struct pml__recorder_lane *l = first_lane(r); l != NULL && rc == 0; l = next_lane(l))
    rc = sketch ? merge_lane(r, l, epoch) : take_lane(r, l, epoch);
  return rc;
}

static int nothing_yet(void) {
  return pml_fail(-ENOENT, "recorder: nothing was recorded yet, so it has no quantiles; push a value first");
}

static int order_of(struct pml_recorder *r, unsigned percent, const void **element) {
  int rc = catch_up(r);
  if (rc < 0) return rc;
  if (pml_quantile_count(r->quantile) == 0) return nothing_yet();
  *element = pml_quantile_at(r->quantile, percent);
  return *element != NULL ? 0 : pml_fail(-ENOMEM, "recorder: no memory to sort its values");
}

static int sketch_at(struct pml_recorder *r, unsigned percent, struct pml_value *out) {
  int rc = catch_up(r);
  if (rc < 0) return rc;
  if (pml_sketch_count(r->merged) == 0) return nothing_yet();
  out->type = PML_TYPE_DOUBLE;
  out->d = pml_sketch_at(r->merged, percent / 100.0);
  return 0;
}

static void widen(enum pml_type type, const void *element, struct pml_value *out) {
  bool whole = type == PML_TYPE_INT64 || type == PML_TYPE_INT32;
  out->type = whole ? PML_TYPE_INT64 : PML_TYPE_DOUBLE;
  if (type == PML_TYPE_INT64)
    memcpy(&out->i, element, sizeof out->i);
  else if (whole)
    out->i = (int64_t)number_of(type, element);
  else
    out->d = number_of(type, element);
}

static int check_percent(unsigned percent) {
  return percent <= 100 ? 0 : pml_fail(-EINVAL, "recorder: quantile of %u percent; give 0 to 100", percent);
}

int pml_recorder_quantile(struct pml_recorder *r, unsigned percent, struct pml_value *out) {
  int rc = check_percent(percent);
  if (rc < 0) return rc;
  if (r->options.type == PML_TYPE_OTHER)
    return pml_fail(PML_EMODE, "recorder: elements of other types are not numbers; read their bytes");
  const void *element;
  pml__recorder_read_begin(r);
  if (r->options.keep == PML_KEEP_SKETCH)
    rc = sketch_at(r, percent, out);
  else if ((rc = order_of(r, percent, &element)) == 0)
    widen(r->options.type, element, out);
  pml__recorder_read_end(r);
  return rc;
}

int pml_recorder_value(struct pml_recorder *r, double share, double *out) {
  if (r->options.type == PML_TYPE_OTHER || !(share >= 0 && share <= 1))
    return pml_fail(-EINVAL, "recorder: quantile %g is outside 0 to 1", share);
  pml__recorder_read_begin(r);
  int rc = catch_up(r);
  if (rc == 0 && r->options.keep != PML_KEEP_SKETCH) {
    rc = pml_quantile_value(r->quantile, share, out);
    if (rc == -ENOMEM) rc = pml_fail(rc, "recorder: no memory to sort its values");
  } else if (rc == 0) {
    *out = pml_sketch_value(r->merged, share);
    rc = pml_sketch_count(r->merged) > 0 ? 0 : -ENOENT;
  }
  pml__recorder_read_end(r);
  return rc == -ENOENT ? nothing_yet() : rc;
}

int pml_recorder_quantile_bytes(struct pml_recorder *r, unsigned percent, void *out) {
  int rc = check_percent(percent);
  if (rc < 0) return rc;
  if (r->options.keep == PML_KEEP_SKETCH || (r->options.type == PML_TYPE_OTHER && r->options.compare == NULL))
    return pml_fail(PML_EMODE, "recorder: no order: a sketch keeps no elements, other types need a comparator");
  const void *element;
  pml__recorder_read_begin(r);
  rc = order_of(r, percent, &element);
  if (rc == 0) memcpy(out, element, r->options.bytes);
  pml__recorder_read_end(r);
  return rc;
}

double pml_recorder_error(struct pml_recorder *r) {
  if (r->options.keep != PML_KEEP_SKETCH) return 0;
  pml__recorder_read_begin(r);
  double error = catch_up(r) == 0 ? pml_sketch_error(r->merged) : 1;
  pml__recorder_read_end(r);
  return error;
}

uint64_t pml_recorder_nans(struct pml_recorder *r) {
  pml__recorder_read_begin(r);
  (void)catch_up(r); /* without memory: those that were seen */
  uint64_t nans = 0;
  if (r->merged != NULL) nans = pml_sketch_nans(r->merged);
  if (r->quantile != NULL) nans = pml_quantile_nans(r->quantile);
  pml__recorder_read_end(r);
  return nans;
}

struct sketching {
  const struct pml_recorder_options *options;
  struct pml_sketch *to;
};

static int sketch_some(void *arg, const void *elements, size_t n) {
  const struct sketching *s = arg;
  for (size_t i = 0; i < n; i++)
    pml_sketch_add(s->to, number_of(s->options->type, (const char *)elements + i * s->options->bytes));
  return 0;
}

static int sketch_lane(struct pml_recorder *r, struct pml__recorder_lane *l, struct sketching *s) {
  if (!pml__recorder_pin(l, epoch_of(r))) return 0;
  int rc = l->sketch != NULL
               ? pml_sketch_merge(s->to, l->sketch)
               : visit_lane(l, r->options.bytes, 0, pml__recorder_lane_count(l, r->options.bytes), sketch_some, s);
  pml__recorder_unpin(l);
  return rc;
}

int pml__recorder_pack(struct pml_recorder *r, struct pml__pack *p) {
  struct sketching s = {.options = &r->options};
  int rc = pml_sketch_open(&s.to, r->options.alpha, PML__RECORDER_BUCKETS);
  pml__recorder_read_begin(r);
  for (struct pml__recorder_lane *l = first_lane(r); l != NULL && rc == 0; l = next_lane(l)) rc = sketch_lane(r, l, &s);
  pml__recorder_read_end(r);
  if (rc == 0 && pml_sketch_count(s.to) == 0) rc = -ENOENT;
  if (rc == 0) pml__sketch_pack(p, s.to);
  pml_sketch_close(s.to);
  return rc == 0 && p->failed ? -ENOMEM : rc;
}
