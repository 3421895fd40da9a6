/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/recording/pml_recording_values_file.c - reader of values of calls in a recording. */
#include "base/pml_bits.h"
#include "base/pml_error.h"
#include "read/log/pml_log_read.h"
#include "read/recording/pml_recording_read_private.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* The sum of one value over all stripes. */
struct total {
  uint64_t count, low, high;
  int64_t least, most;
  double sum, least_real, most_real;
};

static void add(struct total *t, const struct pml__log_figures *f) {
  uint64_t before = t->low;
  t->count += f->count;
  t->low += f->low;
  t->high += f->high + (t->low < before);
  if ((int64_t)f->least < t->least) t->least = (int64_t)f->least;
  if ((int64_t)f->most > t->most) t->most = (int64_t)f->most;
  t->sum += pml__as_double(f->low);
  t->least_real = fmin(t->least_real, pml__as_double(f->least));
  t->most_real = fmax(t->most_real, pml__as_double(f->most));
}

static struct pml_value real(double d) {
  return (struct pml_value){.type = PML_TYPE_DOUBLE, .d = d};
}

static struct pml_value integer(int64_t i) {
  return (struct pml_value){.type = PML_TYPE_INT64, .i = i};
}

/* A double if the sum does not fit into 64 bits. */
static struct pml_value integer_sum(const struct total *t) {
  bool fits = t->high == ((int64_t)t->low < 0 ? UINT64_MAX : 0);
  return fits ? integer((int64_t)t->low) : real((double)(int64_t)t->high * 0x1p64 + (double)t->low);
}

/* Returns false without a value, or before its extremes are stored. */
static bool give(const struct total *t, bool is_real, struct pml_recording_function_value *v) {
  v->count = t->count;
  if (t->count == 0) return false;
  if (!is_real) {
    v->sum = integer_sum(t);
    v->least = integer(t->least);
    v->most = integer(t->most);
    return t->least <= t->most;
  }
  bool numbers = t->least_real <= t->most_real; /* otherwise all were NaN */
  v->sum = real(t->sum);
  v->least = real(numbers ? t->least_real : NAN);
  v->most = real(numbers ? t->most_real : NAN);
  return true;
}

static int check_count(const struct pml_recording_reader *r, uint64_t count) {
  if (pml__recording_plausible_calls(r, count)) return 0;
  return pml_fail(PML_EFORMAT, "the log is damaged: calls with a value: %" PRIu64 " cannot be since it was begun",
                  count);
}

/* ---- blocks ---- */

/* A block of the file, and its names. */
struct block {
  union {
    struct pml__log_values values;
    char bytes[PML__RECORDING_VALUES_BYTES_MAX];
  } b;
  struct pml__recording_named_values named;
};

/* The names follow the figures and must lie within the block. */
static bool find_names(struct block *from, uint64_t bytes) {
  struct pml__log_values *b = &from->b.values;
  const char *name = (const char *)pml__recording_figures(b, b->n, PML__LOG_STRIPES), *end = from->b.bytes + bytes;
  for (uint32_t i = 0; i < b->n; i++) {
    size_t n = strnlen(name, (size_t)(end - name));
    if (n == 0 || n > PML__LOG_VALUE_NAME_MAX || n == (size_t)(end - name)) return false;
    from->named.name[i] = name;
    name += n + 1;
  }
  return true;
}

/* Returns 1 if the block is complete, 0 if it has another kind or is damaged. */
static int read_block(const struct pml_recording_reader *r, const struct pml__log_block *block, uint64_t at,
                      struct block *to) {
  struct pml__log_values *b = &to->b.values;
  if (block->used != PML__LOG_USED || block->part != PML__LOG_VALUES_PART) return 0;
  if (block->bytes < sizeof *b || block->bytes > sizeof to->b) return 0;
  int err = pml__log_read_at(&r->log, at, &to->b, block->bytes);
  if (err < 0 || b->n == 0 || b->n > PML_RECORDING_VALUES_MAX) return err;
  if (sizeof *b + PML__LOG_STRIPES * pml__recording_stripe_bytes(b->n) >= block->bytes) return 0;
  to->named.region = pml__recording_region(r, b->region);
  to->named.results = b->results != 0;
  to->named.n = b->n;
  to->named.real = b->real;
  return to->named.region != 0 && find_names(to, block->bytes);
}

/* Visits each block with one of two functions: for the names, or for the figures. */
struct visiting {
  int (*named)(const struct pml__recording_named_values *v, void *arg);
  int (*value)(const struct pml_recording_function_value *v, void *arg);
  void *arg;
};

static int visit_values(const struct pml_recording_reader *r, struct block *from, const struct visiting *to) {
  struct pml__log_values *b = &from->b.values;
  struct pml_recording_function_value v = {.region = from->named.region};
  int err = 0;
  for (uint32_t i = 0; i < b->n && err == 0; i++) {
    struct total t = {.least = INT64_MAX, .most = INT64_MIN, .least_real = HUGE_VAL, .most_real = -HUGE_VAL};
    for (uint32_t k = 0; k < PML__LOG_STRIPES && err == 0; k++) {
      const struct pml__log_figures *f = &pml__recording_figures(b, b->n, k)[i];
      err = check_count(r, f->count);
      add(&t, f);
    }
    v.name = from->named.name[i];
    if (err == 0 && give(&t, (b->real >> i & 1) != 0, &v)) err = to->value(&v, to->arg);
  }
  return err;
}

static int visit_block(const struct pml_recording_reader *r, const struct pml__log_block *block, uint64_t at,
                       void *arg) {
  const struct visiting *to = arg;
  struct block from;
  int err = read_block(r, block, at, &from);
  if (err <= 0) return err;
  return to->named != NULL ? to->named(&from.named, to->arg) : visit_values(r, &from, to);
}

int pml_recording_read_values(struct pml_recording_reader *r,
                              int (*visit)(const struct pml_recording_function_value *v, void *arg), void *arg) {
  struct visiting to = {.value = visit, .arg = arg};
  return pml__recording_each_block(r, visit_block, &to);
}

int pml__recording_name_values(const struct pml_recording_reader *r,
                               int (*visit)(const struct pml__recording_named_values *v, void *arg), void *arg) {
  struct visiting to = {.named = visit, .arg = arg};
  return pml__recording_each_block(r, visit_block, &to);
}
