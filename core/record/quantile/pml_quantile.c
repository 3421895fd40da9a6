/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/quantile/pml_quantile.c - order statistics over sorted runs of 64-bit keys, or of elements with a
 * comparator. */
#include "record/quantile/pml_quantile.h"

#include "base/pml_bits.h"
#include "base/pml_error.h"
#include "record/quantile/pml_quantile_parts.h"
#include "record/quantile/pml_quantile_sort.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define RUNS 64     /* each at least RUN_RATIO times the next: more than memory can hold */
#define RUN_RATIO 4 /* merging costs each element a move per factor of this */
#define PERCENTS 101
#define PARTED 65536 /* from this number of keys on, the first run is sorted in parts, when needed */

/*
 * All elements lie in one array: sorted runs, longest first, then new elements. The four native types become unsigned
 * keys of the same order; each percentile found since the last add is cached.
 */
struct pml_quantile {
  enum pml_type type;
  size_t bytes, stored; /* size of an element as added, and as stored */
  int (*compare)(const void *, const void *);
  char *array;
  size_t n, room, nans;
  size_t run[RUNS]; /* lengths */
  size_t runs, sorted;
  struct pml__parts *parts; /* parts of the first run, if it is sorted in parts; NULL: it is sorted wholly */
  bool known[PERCENTS];
  uint64_t answer[PERCENTS]; /* an element as given */
};

#define TOP ((uint64_t)1 << 63)

static size_t type_bytes(enum pml_type type, size_t bytes) {
  switch (type) {
  case PML_TYPE_INT64:
  case PML_TYPE_DOUBLE:
    return 8;
  case PML_TYPE_INT32:
  case PML_TYPE_FLOAT:
    return 4;
  case PML_TYPE_OTHER:
    return bytes;
  }
  return 0;
}

int pml_quantile_open(struct pml_quantile **out, enum pml_type type, size_t bytes,
                      int (*compare)(const void *, const void *)) {
  *out = NULL;
  bytes = type_bytes(type, bytes);
  if (bytes == 0) return pml_fail(-EINVAL, "quantiles: unknown type %d, or elements of 0 bytes", (int)type);
  struct pml_quantile *q = calloc(1, sizeof *q);
  if (q == NULL) return -ENOMEM;
  q->type = type;
  q->bytes = bytes;
  q->stored = type == PML_TYPE_OTHER ? bytes : sizeof(uint64_t);
  q->compare = compare;
  *out = q;
  return 0;
}

void pml_quantile_close(struct pml_quantile *q) {
  if (q == NULL) return;
  free(q->parts);
  free(q->array);
  free(q);
}

void pml_quantile_clear(struct pml_quantile *q) {
  q->n = q->nans = q->runs = q->sorted = 0;
  free(q->parts);
  q->parts = NULL;
  memset(q->known, 0, sizeof q->known);
}

size_t pml_quantile_count(const struct pml_quantile *q) {
  return q->n;
}

size_t pml_quantile_nans(const struct pml_quantile *q) {
  return q->nans;
}

static bool make_room(struct pml_quantile *q, size_t n) {
  size_t most = SIZE_MAX / q->stored;
  if (n > most - q->n) return false;
  size_t need = q->n + n;
  if (need <= q->room) return true;
  size_t room = need > most - need / 4 ? most : need + need / 4; /* untouched pages take no memory */
  char *array = pml__big_alloc(room * q->stored);
  if (array == NULL) return false;
  if (q->n > 0) memcpy(array, q->array, q->n * q->stored);
  free(q->array);
  q->array = array;
  q->room = room;
  return true;
}

/* Negative numbers: all bits turned, so that more magnitude is less. Others: above them. */
static uint64_t key_of_bits(uint64_t bits) {
  return bits ^ ((uint64_t) - (int64_t)(bits >> 63) | TOP);
}

static uint64_t bits_of_key(uint64_t key) {
  return key ^ (key & TOP ? TOP : ~(uint64_t)0);
}

/* How many of the @n became keys: not the NaN. */
static size_t take_doubles(uint64_t *key, const double *v, size_t n) {
  size_t taken = 0;
  for (size_t i = 0; i < n; i++) {
    uint64_t bits;
    memcpy(&bits, &v[i], sizeof bits);
    key[taken] = key_of_bits(bits);
    taken += v[i] == v[i]; /* a NaN is overwritten by the next one */
  }
  return taken;
}

static size_t take_floats(uint64_t *key, const float *v, size_t n) {
  size_t taken = 0;
  for (size_t i = 0; i < n; i++) {
    double d = (double)v[i];
    taken += take_doubles(key + taken, &d, 1);
  }
  return taken;
}

static void take_int64(uint64_t *key, const int64_t *v, size_t n) {
  for (size_t i = 0; i < n; i++) key[i] = (uint64_t)v[i] ^ TOP;
}

static void take_int32(uint64_t *key, const int32_t *v, size_t n) {
  for (size_t i = 0; i < n; i++) key[i] = (uint64_t)(int64_t)v[i] ^ TOP;
}

int pml_quantile_reserve(struct pml_quantile *q, size_t n) {
  return make_room(q, n) ? 0 : pml_fail(-ENOMEM, "quantiles: no memory for %zu more elements", n);
}

int pml_quantile_add(struct pml_quantile *q, const void *elements, size_t n) {
  if (n == 0) return 0;
  int rc = pml_quantile_reserve(q, n);
  if (rc < 0) return rc;
  void *end = q->array + q->n * q->stored;
  size_t taken = n;
  switch (q->type) {
  case PML_TYPE_DOUBLE:
    taken = take_doubles(end, elements, n);
    break;
  case PML_TYPE_FLOAT:
    taken = take_floats(end, elements, n);
    break;
  case PML_TYPE_INT64:
    take_int64(end, elements, n);
    break;
  case PML_TYPE_INT32:
    take_int32(end, elements, n);
    break;
  case PML_TYPE_OTHER:
    memcpy(end, elements, n * q->bytes);
    break;
  }
  q->n += taken;
  q->nans += n - taken;
  memset(q->known, 0, sizeof q->known);
  return 0;
}

static void sort_tail(struct pml_quantile *q, void *scratch) {
  char *tail = q->array + q->sorted * q->stored;
  size_t n = q->n - q->sorted;
  if (q->type == PML_TYPE_OTHER)
    pml__sort_elements(tail, scratch, n, q->bytes, q->compare);
  else
    pml__sort_keys((uint64_t *)(void *)tail, scratch, n);
}

static void merge_last_two(struct pml_quantile *q, void *scratch) {
  size_t b = q->run[--q->runs], a = q->run[q->runs - 1];
  char *first = q->array + (q->n - a - b) * q->stored;
  if (q->type == PML_TYPE_OTHER)
    pml__merge_elements(first, a, b, scratch, q->bytes, q->compare);
  else
    pml__merge_keys((uint64_t *)(void *)first, a, b, scratch);
  q->run[q->runs - 1] = a + b;
}

/* A comparator may see runs in one order only, so elements are merged down to one; keys are compared across runs. */
static bool should_merge(const struct pml_quantile *q, size_t last, size_t before) {
  return q->type == PML_TYPE_OTHER || before / RUN_RATIO < last;
}

/* The longest run to be merged into its predecessor determines the size of scratch. */
static size_t scratch_needed(const struct pml_quantile *q) {
  size_t last = q->n - q->sorted, most = last;
  for (size_t r = q->runs; r > 0 && should_merge(q, last, q->run[r - 1]); r--) {
    most = last;
    last += q->run[r - 1];
  }
  return most;
}

/* Whether settling merges all runs into one. */
static bool merges_all(const struct pml_quantile *q) {
  size_t last = q->n - q->sorted, r = q->runs;
  for (; r > 0 && should_merge(q, last, q->run[r - 1]); r--) last += q->run[r - 1];
  return r == 0;
}

static uint64_t *keys(const struct pml_quantile *q) {
  return (uint64_t *)(void *)q->array;
}

/* The first run, if it is long, into other memory in parts. False: sort it. */
static bool part_first(struct pml_quantile *q) {
  if (q->runs > 0 || q->n < PARTED || q->type == PML_TYPE_OTHER) return false;
  char *array = pml__big_alloc(q->room * q->stored); /* untouched pages take no memory */
  if (array == NULL) return false;
  q->parts = pml__parts_make(keys(q), q->n, (uint64_t *)(void *)array);
  char *unused = q->parts != NULL ? q->array : array;
  if (q->parts != NULL) q->array = array;
  free(unused);
  return q->parts != NULL;
}

static bool finish_parts(struct pml_quantile *q) {
  if (q->parts == NULL) return true;
  if (!pml__parts_finish(q->parts, keys(q))) return false;
  free(q->parts);
  q->parts = NULL;
  return true;
}

/* Sorts the new elements. Nothing is lost without memory: it is tried again at the next call. */
static bool settle(struct pml_quantile *q) {
  if (q->sorted == q->n) return true;
  if (!part_first(q)) {
    if (merges_all(q) && !finish_parts(q)) return false;
    void *scratch = pml__big_alloc(scratch_needed(q) * q->stored);
    if (scratch == NULL) return false;
    sort_tail(q, scratch);
    q->run[q->runs++] = q->n - q->sorted;
    while (q->runs > 1 && should_merge(q, q->run[q->runs - 1], q->run[q->runs - 2])) merge_last_two(q, scratch);
    free(scratch);
  } else {
    q->run[q->runs++] = q->n;
  }
  q->sorted = q->n;
  return true;
}

/* Keys of all runs that are below or equal to @key. */
static size_t rank_of(const struct pml_quantile *q, uint64_t key) {
  uint64_t *run = keys(q);
  size_t rank = 0;
  for (size_t r = 0; r < q->runs; run += q->run[r++])
    rank += r == 0 && q->parts != NULL ? pml__parts_rank(q->parts, run, key) : pml__keys_rank(run, q->run[r], key);
  return rank;
}

/*
 * The key of @index over all runs is at most the first run's key of @index, and at least its key of @index less the
 * number of the others' keys. So only few parts of the first run are read, and sorted.
 */
static void narrow(const struct pml_quantile *q, size_t index, uint64_t *low, uint64_t *high) {
  size_t others = q->n - q->run[0];
  if (q->parts == NULL) return;
  if (index >= others) *low = pml__parts_below(q->parts, index - others);
  if (index < q->run[0]) *high = pml__parts_above(q->parts, index);
}

/* The key of @index over all runs: the smallest that more than @index keys do not exceed. */
static uint64_t key_at(const struct pml_quantile *q, size_t index) {
  uint64_t low = 0, high = UINT64_MAX;
  if (q->runs == 1 && q->parts == NULL) return keys(q)[index];
  if (q->runs == 1 && pml__parts_key(q->parts, keys(q), index, &low)) return low;
  narrow(q, index, &low, &high);
  while (low < high) {
    uint64_t middle = low + (high - low) / 2;
    if (rank_of(q, middle) > index)
      high = middle;
    else
      low = middle + 1;
  }
  return low;
}

static uint64_t answer_of_key(enum pml_type type, uint64_t key) {
  uint64_t answer = 0;
  uint64_t bits = bits_of_key(key);
  double d = pml__as_double(bits);
  float f = (float)d; /* exact: it was one */
  int32_t i = (int32_t)(int64_t)(key ^ TOP);
  switch (type) {
  case PML_TYPE_DOUBLE:
    return bits;
  case PML_TYPE_FLOAT:
    memcpy(&answer, &f, sizeof f);
    break;
  case PML_TYPE_INT32:
    memcpy(&answer, &i, sizeof i);
    break;
  default:
    return key ^ TOP;
  }
  return answer;
}

/* n * percent / 100 without overflow. */
static size_t index_at(size_t n, unsigned percent) {
  size_t index = n / 100 * percent + n % 100 * percent / 100;
  return index < n ? index : n - 1;
}

static double number_of_key(enum pml_type type, uint64_t key) {
  if (type == PML_TYPE_INT64 || type == PML_TYPE_INT32) return (double)(int64_t)(key ^ TOP);
  return pml__as_double(bits_of_key(key));
}

int pml_quantile_value(struct pml_quantile *q, double share, double *value) {
  if (q->type == PML_TYPE_OTHER || !(share >= 0 && share <= 1)) return -EINVAL;
  if (q->n == 0) return -ENOENT;
  if (!settle(q)) return -ENOMEM;
  struct pml_quantile_place p = pml_quantile_place(q->n, share);
  *value = number_of_key(q->type, key_at(q, p.at));
  if (p.part > 0) *value = pml_quantile_between(*value, number_of_key(q->type, key_at(q, p.at + 1)), p.part);
  return 0;
}

void pml_quantile_each(const struct pml_quantile *q, void (*take)(double value, void *arg), void *arg) {
  const uint64_t *key = (const uint64_t *)(const void *)q->array;
  for (size_t i = 0; q->type != PML_TYPE_OTHER && i < q->n; i++) take(number_of_key(q->type, key[i]), arg);
}

const void *pml_quantile_at(struct pml_quantile *q, unsigned percent) {
  if (percent >= PERCENTS || q->n == 0) return NULL;
  if (q->type == PML_TYPE_OTHER) {
    if (q->compare == NULL || !settle(q)) return NULL;
    return q->array + index_at(q->n, percent) * q->bytes;
  }
  if (!q->known[percent]) {
    if (!settle(q)) return NULL;
    q->answer[percent] = answer_of_key(q->type, key_at(q, index_at(q->n, percent)));
    q->known[percent] = true;
  }
  return &q->answer[percent];
}
