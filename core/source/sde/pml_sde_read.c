/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/sde/pml_sde_read.c - lock-free read of an event's value; write and reset. */
#include "source/sde/pml_sde.h"

#include "base/pml_error.h"
#include "source/sde/pml_sde_private.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* One piece each: the writer of the variable uses plain stores, and the caller of register promised alignment. */
static inline struct pml_value load(const void *at, int type) {
  struct pml_value v = {.type = PML_TYPE_INT64};
  float f;
  switch (type) {
  case PML_TYPE_INT64:
    v.i = __atomic_load_n((const int64_t *)at, __ATOMIC_RELAXED);
    break;
  case PML_TYPE_INT32:
    v.i = __atomic_load_n((const int32_t *)at, __ATOMIC_RELAXED);
    break;
  case PML_TYPE_DOUBLE:
    v.type = PML_TYPE_DOUBLE;
    __atomic_load((const double *)at, &v.d, __ATOMIC_RELAXED);
    break;
  default: /* PML_TYPE_FLOAT */
    v.type = PML_TYPE_DOUBLE;
    __atomic_load((const float *)at, &f, __ATOMIC_RELAXED);
    v.d = (double)f;
  }
  return v;
}

static void sample_member(struct pml__sde_reader *r, const struct pml__sde_body *b, struct pml__sde_sample *s);

static inline const struct pml__sde_members *members_of(const struct pml__sde_body *b, uint32_t *n) {
  struct pml__sde_members *m = atomic_load_explicit(&((struct pml__sde_body *)b)->members, memory_order_acquire);
  *n = m == NULL ? 0 : atomic_load_explicit(&m->n, memory_order_acquire);
  return m;
}

static inline int type_of(const struct pml__sde_leaf *leaf) {
  return atomic_load_explicit(&((struct pml__sde_leaf *)leaf)->type, memory_order_seq_cst); /* pml__sde_enter() */
}

/* Integers are summed apart from doubles: no bit of a large count is lost unless there are doubles to add it to. */
struct sums {
  uint64_t i, ibase;
  double d, dbase;
  bool doubles;
};

static void add_value(struct sums *t, const struct pml_value *v, const struct pml_value *base) {
  if (v->type == PML_TYPE_DOUBLE) {
    t->d += v->d;
    t->dbase += base->d;
    t->doubles = true;
  } else {
    t->i += (uint64_t)v->i;
    t->ibase += (uint64_t)base->i;
  }
}

static void add_other(struct pml__sde_reader *r, struct sums *t, const struct pml__sde_leaf *leaf, int type) {
  struct pml__sde_sample s = {.has = true};
  if (type == PML__LEAF_GONE) return;
  if (type == PML__LEAF_BODY) {
    sample_member(r, leaf->at, &s);
  } else {
    s.value = s.base = load(leaf->at, type);
    if (leaf->relative == 0) s.base.i = 0; /* the bits of 0.0, too */
  }
  if (s.has) add_value(t, &s.value, &s.base);
}

static void sample_sum(struct pml__sde_reader *r, const struct pml__sde_body *b, struct pml__sde_sample *s) {
  uint32_t n;
  const struct pml__sde_members *m = members_of(b, &n);
  uint64_t i = 0, ibase = 0;
  struct sums t = {0};
  for (uint32_t k = 0; k < n; k++) {
    const struct pml__sde_leaf *leaf = &m->leaf[k];
    int type = type_of(leaf);
    if (PML_LIKELY(type == PML_TYPE_INT64)) {
      uint64_t v = __atomic_load_n((const uint64_t *)leaf->at, __ATOMIC_RELAXED);
      i += v;
      ibase += v & leaf->relative;
    } else {
      add_other(r, &t, leaf, type);
    }
  }
  i += t.i;
  ibase += t.ibase;
  s->has = true;
  if (PML_UNLIKELY(t.doubles)) {
    s->value = (struct pml_value){.type = PML_TYPE_DOUBLE, .d = t.d + (double)(int64_t)i};
    s->base = (struct pml_value){.type = PML_TYPE_DOUBLE, .d = t.dbase + (double)(int64_t)ibase};
  } else {
    s->value = (struct pml_value){.type = PML_TYPE_INT64, .i = (int64_t)i};
    s->base = (struct pml_value){.type = PML_TYPE_INT64, .i = (int64_t)ibase};
  }
}

static bool is_more(const struct pml_value *a, const struct pml_value *b) {
  if (a->type == PML_TYPE_INT64 && b->type == PML_TYPE_INT64) return a->i > b->i;
  return pml_value_number(a) > pml_value_number(b);
}

static bool is_nan(const struct pml_value *v) {
  return v->type == PML_TYPE_DOUBLE && isnan(v->d);
}

/* The extreme of the members' current values, which is always instant. */
static void sample_extreme(struct pml__sde_reader *r, const struct pml__sde_body *b, struct pml__sde_sample *s) {
  uint32_t n;
  const struct pml__sde_members *m = members_of(b, &n);
  bool doubles = false;
  s->has = false;
  for (uint32_t k = 0; k < n; k++) {
    struct pml__sde_sample one = {.has = true};
    int type = type_of(&m->leaf[k]);
    if (type == PML__LEAF_GONE) continue;
    if (type == PML__LEAF_BODY)
      sample_member(r, m->leaf[k].at, &one);
    else
      one.value = load(m->leaf[k].at, type);
    if (!one.has) continue;
    doubles |= one.value.type == PML_TYPE_DOUBLE;
    bool better = b->operation == PML_SDE_MAX ? is_more(&one.value, &s->value) : is_more(&s->value, &one.value);
    if (!s->has || better || is_nan(&s->value)) s->value = one.value;
    s->has = true;
  }
  if (s->has && doubles) s->value = (struct pml_value){.type = PML_TYPE_DOUBLE, .d = pml_value_number(&s->value)};
  s->base = (struct pml_value){.type = s->value.type, .i = 0};
}

/* An int or a float that a callback gives is in the low bytes, as libsde has it. */
static struct pml_value call(const struct pml__sde_body *b) {
  pml__sde_callback_begin();
  int64_t bits = b->callback(b->param);
  pml__sde_callback_end();
  return load(&bits, (int)b->type);
}

static void sample_counter(const struct pml__sde_body *b, struct pml__sde_sample *s) {
  s->has = true;
  s->value = b->kind == PML_SDE_REGISTERED ? load(b->variable, (int)b->type) : call(b);
  struct pml__sde_overflow *o = atomic_load_explicit(&((struct pml__sde_body *)b)->overflow, memory_order_acquire);
  if (PML_UNLIKELY(o != NULL)) pml__sde_check_overflow(o, &s->value);
}

/* A set's thread is the first thread that reads such an event: the thread that opened the set, if the event existed
 * then. */
static uint64_t per_thread(struct pml__sde_reader *r, struct pml__sde_terms *t) {
  if (!r->whole && r->cells == NULL) pml__sde_compiler_take(r);
  return r->cells != NULL ? pml__sde_terms_of(t, r->cells) : pml__sde_compiler_total(t);
}

static void sample_body(struct pml__sde_reader *r, const struct pml__sde_body *b, struct pml__sde_sample *s) {
  s->has = true;
  s->value = (struct pml_value){.type = PML_TYPE_INT64, .i = -1};
  switch (b->kind) {
  case PML_SDE_REGISTERED:
  case PML_SDE_CALLBACK:
    sample_counter(b, s);
    break;
  case PML_SDE_CREATED:
    s->value.i = pml_sde_counter_read(b->counter);
    break;
  case PML_SDE_GROUP:
    b->operation == PML_SDE_SUM ? sample_sum(r, b, s) : sample_extreme(r, b, s);
    return;
  case PML_SDE_RECORDER:
  case PML_SDE_COUNT:
    s->value.i = (int64_t)pml_recorder_count(b->recorder->recorder);
    break;
  case PML_SDE_QUANTILE:
    s->has = pml_recorder_quantile(b->recorder->recorder, b->percent, &s->value) == 0;
    break;
  case PML_SDE_SET:
    s->value.i = (int64_t)pml__sde_set_size(b->set);
    break;
  case PML_SDE_PER_THREAD:
    s->value.i = (int64_t)per_thread(r, b->terms);
    break;
  case PML_SDE_PLACEHOLDER:
    s->has = false;
  }
  s->base = s->value;
  if ((b->mode & PML_SDE_INSTANT) != 0) s->base.i = 0; /* the bits of 0.0, too */
}

/* A group that lies in several others is read once in a pass, of which a reader has one at a time. */
static __attribute__((noinline)) void sample_shared(struct pml__sde_reader *r, const struct pml__sde_body *b,
                                                    struct pml__sde_sample *s) {
  uint64_t pass = atomic_load_explicit(&r->passes, memory_order_relaxed);
  const struct pml__sde_sample *found = pml__sde_memo_find(&r->memo, b, pass);
  if (found != NULL) {
    *s = *found;
    return;
  }
  sample_body(r, b, s);
  pml__sde_memo_keep(&r->memo, b, s);
}

static void sample_member(struct pml__sde_reader *r, const struct pml__sde_body *b, struct pml__sde_sample *s) {
  bool shared =
      b->kind == PML_SDE_GROUP && atomic_load_explicit(&((struct pml__sde_body *)b)->groups, memory_order_relaxed) > 1;
  shared ? sample_shared(r, b, s) : sample_body(r, b, s);
}

void pml__sde_snapshot_one(struct pml__sde_reader *r, const struct pml__sde_body *b, uint64_t *words) {
  struct pml__sde_sample s = {.has = false};
  if (b != NULL) sample_body(r, b, &s);
  words[PML__SDE_VALUE] = s.has ? (uint64_t)s.value.i : UINT64_MAX; /* a double by its bits; -1: there is nothing */
  words[PML__SDE_BASE] = s.has ? (uint64_t)s.base.i : 0;
  words[PML__SDE_WHAT] = 0;
  if (!s.has) return;
  bool level = b->kind == PML_SDE_GROUP ? b->operation != PML_SDE_SUM : (b->mode & PML_SDE_INSTANT) != 0;
  words[PML__SDE_WHAT] =
      PML__SDE_HAS | (s.value.type == PML_TYPE_DOUBLE ? PML__SDE_DOUBLE : 0u) | (level ? PML__SDE_LEVEL : 0u);
}

/* Counters of 64 bits, in variables or created, are what most events are; the rest is looked at in turn. */
static inline void snapshot_body(struct pml__sde_reader *r, const struct pml__sde_body *b, uint64_t *words) {
  uint64_t v;
  if (PML_LIKELY(pml__sde_plain(r, b, &v))) {
    words[PML__SDE_VALUE] = words[PML__SDE_BASE] = v;
    words[PML__SDE_WHAT] = PML__SDE_HAS;
  } else {
    pml__sde_snapshot_one(r, b, words);
  }
}

void pml__sde_snapshot(struct pml__sde_reader *r, struct pml_sde_event *const *ev, size_t n, uint64_t *words) {
  for (size_t i = 0; i < n; i++, words += PML__SDE_WORDS) snapshot_body(r, pml__sde_body_of(ev[i]), words);
}

/* --- one event --- */

static int no_event(void) {
  return pml_fail(-EINVAL, "software-defined event: NULL event");
}

static int no_reader(const struct pml_sde_event *ev) {
  return pml_fail(-ENOMEM, "%s: out of memory for another reader", ev->name);
}

int pml_sde_read(struct pml_sde_event *ev, struct pml_value *v) {
  uint64_t words[PML__SDE_WORDS];
  if (ev == NULL) return no_event();
  struct pml__sde_reader *r = pml__sde_reader_take();
  if (r == NULL) return no_reader(ev);
  r->whole = true;
  pml__sde_enter(r);
  const struct pml__sde_body *b = pml__sde_body_of(ev);
  if (PML_LIKELY(b == NULL || b->kind != PML_SDE_CALLBACK)) {
    snapshot_body(r, b, words);
  } else { /* it may hang */
    atomic_store_explicit(&r->alone, b, memory_order_release);
    pml__sde_snapshot_one(r, b, words);
    atomic_store_explicit(&r->alone, NULL, memory_order_release);
  }
  pml__sde_leave(r);
  pml__sde_reader_give_back(r);
  v->type = (words[PML__SDE_WHAT] & PML__SDE_DOUBLE) != 0 ? PML_TYPE_DOUBLE : PML_TYPE_INT64;
  v->i = (int64_t)words[PML__SDE_VALUE];
  return 0;
}

/* @v as an integer from @min to @max; false if it is not one. */
static bool as_integer(const struct pml_value *v, int64_t min, int64_t max, int64_t *i) {
  *i = v->i;
  if (v->type == PML_TYPE_DOUBLE) {
    if (!pml_value_is_int64(v->d) || v->d != floor(v->d)) return false;
    *i = (int64_t)v->d;
  }
  return *i >= min && *i <= max;
}

static bool store(void *at, enum pml_type type, const struct pml_value *v) {
  int64_t i = 0;
  int32_t i32;
  double d = pml_value_number(v);
  float f = (float)d;
  switch (type) {
  case PML_TYPE_INT64:
    if (!as_integer(v, INT64_MIN, INT64_MAX, &i)) return false;
    __atomic_store_n((int64_t *)at, i, __ATOMIC_RELAXED);
    return true;
  case PML_TYPE_INT32:
    if (!as_integer(v, INT32_MIN, INT32_MAX, &i)) return false;
    i32 = (int32_t)i;
    __atomic_store_n((int32_t *)at, i32, __ATOMIC_RELAXED);
    return true;
  case PML_TYPE_DOUBLE:
    __atomic_store((double *)at, &d, __ATOMIC_RELAXED);
    return true;
  default:
    if (isinf(f) && !isinf(d)) return false;
    __atomic_store((float *)at, &f, __ATOMIC_RELAXED);
    return true;
  }
}

static int no_fit(const struct pml_sde_event *ev, const struct pml__sde_body *b, const struct pml_value *v) {
  static const char *const what[] = {"64-bit integer", "32-bit integer", "double", "float"};
  if (v->type == PML_TYPE_INT64)
    return pml_fail(-EINVAL, "%s: %lld does not fit its type (%s)", ev->name, (long long)v->i, what[b->type]);
  return pml_fail(-EINVAL, "%s: %.17g does not fit its type (%s)", ev->name, v->d, what[b->type]);
}

static int write_body(const struct pml_sde_event *ev, const struct pml__sde_body *b, const struct pml_value *v) {
  bool counter = b != NULL && (b->kind == PML_SDE_REGISTERED || b->kind == PML_SDE_CREATED);
  if (!counter) return pml_fail(PML_EMODE, "%s cannot be written: it is not a registered or created counter", ev->name);
  if ((b->mode & PML_SDE_RW) == 0)
    return pml_fail(-EACCES, "%s cannot be written: its library registered it as read-only", ev->name);
  int64_t i = 0;
  bool fits = b->kind == PML_SDE_REGISTERED ? store(b->variable, b->type, v) : as_integer(v, INT64_MIN, INT64_MAX, &i);
  if (!fits) return no_fit(ev, b, v);
  if (b->kind == PML_SDE_CREATED) pml__sde_counter_write(b->counter, i);
  return 0;
}

int pml_sde_write(struct pml_sde_event *ev, const struct pml_value *v) {
  if (ev == NULL) return no_event();
  struct pml__sde_reader *r = pml__sde_reader_take();
  if (r == NULL) return no_reader(ev);
  pml__sde_enter(r);
  int rc = write_body(ev, pml__sde_body_of(ev), v);
  pml__sde_leave(r);
  pml__sde_reader_give_back(r);
  return rc;
}

static void reset_body(const struct pml__sde_body *b) {
  static const struct pml_value zero = {.type = PML_TYPE_INT64, .i = 0};
  if (b->kind == PML_SDE_CREATED) pml__sde_counter_write(b->counter, 0);
  if (b->kind == PML_SDE_SET) pml__sde_set_clear(b->set);
  /* A read-only variable is its library's alone. */
  if (b->kind == PML_SDE_REGISTERED && (b->mode & PML_SDE_RW) != 0) (void)store(b->variable, b->type, &zero);
}

int pml_sde_reset(struct pml_sde_event *ev) {
  if (ev == NULL) return no_event();
  struct pml__sde_reader *r = pml__sde_reader_take();
  if (r == NULL) return no_reader(ev);
  pml__sde_enter(r);
  const struct pml__sde_body *b = pml__sde_body_of(ev);
  if (b != NULL) reset_body(b);
  pml__sde_leave(r);
  pml__sde_reader_give_back(r);
  return 0;
}
