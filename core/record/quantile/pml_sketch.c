/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/quantile/pml_sketch.c - geometric histogram that coarsens as a series grows. */
#include "record/quantile/pml_sketch.h"

#include "base/pml_error.h"
#include "base/pml_pack.h"
#include "record/quantile/pml_quantile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEVELS_MAX 40                /* indices halve at each: none is left to join long before */
#define INDEX_MAX ((int64_t)1 << 30) /* of a double at the finest scale */
#define ATTEMPTS 1000 /* of a copy that takes microseconds, against moves that become rare as a window grows */

/*
 * Bucket i of level l holds (g^(i-1), g^i] with g = gamma^(2^l): joining the buckets 2j-1 and 2j gives bucket j of the
 * next level. It lies at place i modulo the size, so that the window of indices in use moves without moving counts.
 *
 * Memory order: one thread adds, another reads meanwhile. A reader may miss a concurrent addition. A collapse moves
 * counts, and a wider window says what they mean: both make @version odd first and even afterwards, and a reader that
 * saw it odd or changed starts again. Every store of the adder is a release and every load of the reader an acquire: a
 * reader of anything stored after a move began also sees the version that the move began with.
 */
struct half {
  uint64_t *bucket;
  int64_t low, high; /* indices in use; low > high: none */
};

struct pml_sketch {
  double alpha, log_gamma;
  size_t size; /* buckets per half, a power of two */
  uint64_t version, level;
  struct half half[2]; /* positive, negative */
  uint64_t zeros, infinite[2], nans, count;
  double min, max;
  uint64_t *scratch;
};

#define GET(x) __atomic_load_n(&(x), __ATOMIC_ACQUIRE)
#define SET(x, v) __atomic_store_n(&(x), (v), __ATOMIC_RELEASE)

static double get_double(const double *at) {
  double v;
  __atomic_load(at, &v, __ATOMIC_ACQUIRE);
  return v;
}

static void set_double(double *at, double v) {
  __atomic_store(at, &v, __ATOMIC_RELEASE);
}

static void add_to(uint64_t *at, uint64_t n) {
  SET(*at, GET(*at) + n);
}

static uint64_t *place(const struct pml_sketch *s, const struct half *h, int64_t index) {
  return &h->bucket[(uint64_t)index & (s->size - 1)];
}

int pml_sketch_open(struct pml_sketch **out, double alpha, size_t max_buckets) {
  *out = NULL;
  if (!(alpha >= 1e-6 && alpha <= 0.5) || max_buckets > (size_t)1 << 32)
    return pml_fail(-EINVAL, "sketch: the relative error %g is not in [1e-6, 0.5], or %zu buckets are too many", alpha,
                    max_buckets);
  struct pml_sketch *s = calloc(1, sizeof *s);
  if (s == NULL) return -ENOMEM;
  for (s->size = 16; s->size < max_buckets;) s->size *= 2;
  s->alpha = alpha;
  s->log_gamma = log1p(alpha) - log1p(-alpha);
  s->half[0].bucket = calloc(s->size * 3, sizeof(uint64_t));
  if (s->half[0].bucket == NULL) {
    pml_error_note(-ENOMEM, __func__, "sketch: no memory for %zu buckets", s->size);
    free(s);
    return -ENOMEM;
  }
  s->half[1].bucket = s->half[0].bucket + s->size;
  s->scratch = s->half[1].bucket + s->size;
  pml_sketch_clear(s);
  *out = s;
  return 0;
}

void pml_sketch_close(struct pml_sketch *s) {
  if (s == NULL) return;
  free(s->half[0].bucket);
  free(s);
}

void pml_sketch_clear(struct pml_sketch *s) {
  for (int h = 0; h < 2; h++) {
    for (int64_t i = GET(s->half[h].low); i <= GET(s->half[h].high); i++) SET(*place(s, &s->half[h], i), 0);
    SET(s->half[h].low, 0);
    SET(s->half[h].high, -1);
    SET(s->infinite[h], 0);
  }
  SET(s->level, 0);
  SET(s->version, (s->version + 1) & ~(uint64_t)1); /* even, even if a fork came in the middle of a move */
  SET(s->zeros, 0);
  SET(s->nans, 0);
  SET(s->count, 0);
  set_double(&s->min, INFINITY);
  set_double(&s->max, -INFINITY);
}

/* The index at a level @by coarser: up to the next multiple of 2^by (a shift of a negative number rounds down). */
static int64_t coarser(int64_t index, uint64_t by) {
  return by >= 62 ? index > 0 : (index + (((int64_t)1 << by) - 1)) >> by;
}

static void collapse_half(struct pml_sketch *s, struct half *h) {
  int64_t low = h->low, high = h->high;
  if (low > high) return;
  memset(s->scratch, 0, s->size * sizeof *s->scratch);
  for (int64_t i = low; i <= high; i++) s->scratch[(uint64_t)coarser(i, 1) & (s->size - 1)] += GET(*place(s, h, i));
  for (size_t i = 0; i < s->size; i++) SET(h->bucket[i], s->scratch[i]);
  SET(h->low, coarser(low, 1));
  SET(h->high, coarser(high, 1));
}

static void begin_move(struct pml_sketch *s) {
  SET(s->version, s->version + 1);
}

static void end_move(struct pml_sketch *s) {
  SET(s->version, s->version + 1);
}

static void collapse(struct pml_sketch *s) {
  begin_move(s);
  collapse_half(s, &s->half[0]);
  collapse_half(s, &s->half[1]);
  SET(s->level, s->level + 1);
  end_move(s);
}

static bool fits(const struct pml_sketch *s, const struct half *h, int64_t index) {
  if (h->low > h->high) return true;
  int64_t low = index < h->low ? index : h->low, high = index > h->high ? index : h->high;
  return (uint64_t)(high - low) < s->size;
}

/* @n more in the bucket that has @index at @level, in a window wide or coarse enough for it. */
static void put(struct pml_sketch *s, int sign, int64_t index, uint64_t level, uint64_t n) {
  struct half *h = &s->half[sign];
  while (s->level < level || (!fits(s, h, coarser(index, s->level - level)) && s->level < LEVELS_MAX)) collapse(s);
  int64_t i = coarser(index, s->level - level);
  if (i < h->low || i > h->high) {
    bool first = h->low > h->high;
    begin_move(s);
    if (first || i > h->high) SET(h->high, i);
    if (first || i < h->low) SET(h->low, i);
    end_move(s);
  }
  add_to(place(s, h, i), n);
}

static void widen(struct pml_sketch *s, double min, double max) {
  if (min < s->min) set_double(&s->min, min);
  if (max > s->max) set_double(&s->max, max);
}

static inline void add(struct pml_sketch *s, double v, uint64_t n) {
  if (v != v) {
    add_to(&s->nans, n);
    return;
  }
  int sign = v < 0;
  double size = sign ? -v : v;
  widen(s, v, v);
  if (size == 0)
    add_to(&s->zeros, n);
  else if (isinf(size))
    add_to(&s->infinite[sign], n);
  else
    put(s, sign, (int64_t)ceil(log(size) / s->log_gamma), 0, n);
  add_to(&s->count, n);
}

void pml_sketch_add(struct pml_sketch *s, double v) {
  add(s, v, 1);
}

static bool copy_once(struct pml_sketch *to, const struct pml_sketch *from) {
  uint64_t version = __atomic_load_n(&from->version, __ATOMIC_ACQUIRE);
  if (version & 1) return false;
  to->level = GET(from->level);
  for (int h = 0; h < 2; h++) {
    to->half[h].low = GET(from->half[h].low);
    to->half[h].high = GET(from->half[h].high);
    to->infinite[h] = GET(from->infinite[h]);
    for (size_t i = 0; i < from->size; i++) to->half[h].bucket[i] = GET(from->half[h].bucket[i]);
  }
  to->zeros = GET(from->zeros);
  to->nans = GET(from->nans);
  to->min = get_double(&from->min);
  to->max = get_double(&from->max);
  return GET(from->version) == version;
}

static void merge_half(struct pml_sketch *into, const struct pml_sketch *from, int sign) {
  const struct half *h = &from->half[sign];
  for (int64_t i = h->low; i <= h->high; i++) {
    uint64_t n = *place(from, h, i);
    if (n == 0) continue;
    put(into, sign, i, from->level, n);
    add_to(&into->count, n);
  }
  add_to(&into->infinite[sign], from->infinite[sign]);
}

struct pml_sketch *pml__sketch_like(const struct pml_sketch *s) {
  struct pml_sketch *like;
  return pml_sketch_open(&like, s->alpha, s->size) == 0 ? like : NULL;
}

bool pml__sketch_alike(const struct pml_sketch *s, const struct pml_sketch *other) {
  return s->alpha == other->alpha;
}

int pml_sketch_merge(struct pml_sketch *into, const struct pml_sketch *from) {
  if (into == from || !pml__sketch_alike(into, from))
    return pml_fail(-EINVAL, "sketch: cannot merge sketches with errors %g and %g, or one into itself", from->alpha,
                    into->alpha);
  struct pml_sketch *still;
  int rc = pml_sketch_open(&still, from->alpha, from->size);
  if (rc < 0) return rc;
  unsigned attempts = 0;
  while (!copy_once(still, from) && attempts < ATTEMPTS) attempts++;
  if (attempts < ATTEMPTS) {
    merge_half(into, still, 0);
    merge_half(into, still, 1);
    add_to(&into->zeros, still->zeros);
    add_to(&into->nans, still->nans);
    add_to(&into->count, still->zeros + still->infinite[0] + still->infinite[1]);
    widen(into, still->min, still->max);
  }
  pml_sketch_close(still);
  return attempts < ATTEMPTS ? 0
                             : pml_fail(-EAGAIN, "sketch: a writer moved its buckets during each attempt; try again");
}

uint64_t pml_sketch_count(const struct pml_sketch *s) {
  return GET(s->count);
}

uint64_t pml_sketch_nans(const struct pml_sketch *s) {
  return GET(s->nans);
}

/* (g - 1) / (g + 1) for g = gamma^(2^level) */
double pml_sketch_error(const struct pml_sketch *s) {
  uint64_t level = GET(s->level);
  return level == 0 ? s->alpha : tanh(ldexp(s->log_gamma, (int)level) / 2);
}

/* The point of a bucket that is equally far, relatively, from both ends: 2 g^i / (g + 1). */
static double middle_of(const struct pml_sketch *s, int64_t index) {
  return exp((double)index * ldexp(s->log_gamma, (int)s->level) + log1p(-pml_sketch_error(s)));
}

/* The value of index @rank in ascending order, without regard to the exact minimum and maximum. */
static double value_at(const struct pml_sketch *s, uint64_t rank) {
  const struct half *up = &s->half[0], *down = &s->half[1];
  if (rank < s->infinite[1]) return -INFINITY;
  rank -= s->infinite[1];
  for (int64_t i = down->high; i >= down->low; i--) {
    uint64_t n = *place(s, down, i);
    if (rank < n) return -middle_of(s, i);
    rank -= n;
  }
  if (rank < s->zeros) return 0;
  rank -= s->zeros;
  for (int64_t i = up->low; i <= up->high; i++) {
    uint64_t n = *place(s, up, i);
    if (rank < n) return middle_of(s, i);
    rank -= n;
  }
  return INFINITY;
}

static double within(const struct pml_sketch *s, double v) {
  return v < s->min ? s->min : v > s->max ? s->max : v;
}

static double element(const struct pml_sketch *s, uint64_t rank) {
  if (rank == 0) return s->min;
  if (rank >= s->count - 1) return s->max;
  return within(s, value_at(s, rank));
}

void pml_sketch_add_scaled(struct pml_sketch *into, const struct pml_sketch *from, double factor) {
  static const double sign_of[2] = {1, -1};
  for (int sign = 0; sign < 2; sign++) {
    const struct half *h = &from->half[sign];
    for (int64_t i = h->low; i <= h->high; i++)
      if (*place(from, h, i) > 0)
        add(into, factor * within(from, sign_of[sign] * middle_of(from, i)), *place(from, h, i));
    if (from->infinite[sign] > 0) add(into, sign_of[sign] * INFINITY, from->infinite[sign]);
  }
  if (from->zeros > 0) add(into, 0, from->zeros);
  add_to(&into->nans, from->nans);
  if (from->count > 0) widen(into, factor * from->min, factor * from->max);
}

double pml_sketch_at(const struct pml_sketch *s, double q) {
  if (s->count == 0 || !(q >= 0 && q <= 1)) return NAN;
  double index = floor(q * (double)s->count);
  return element(s, index < (double)s->count ? (uint64_t)index : s->count - 1);
}

double pml_sketch_value(const struct pml_sketch *s, double q) {
  if (s->count == 0 || !(q >= 0 && q <= 1)) return NAN;
  struct pml_quantile_place p = pml_quantile_place(s->count, q);
  double lower = element(s, p.at);
  return p.part > 0 ? pml_quantile_between(lower, element(s, p.at + 1), p.part) : lower;
}

/* ---- as bytes ---- */

static void pack_half(struct pml__pack *p, const struct pml_sketch *s, const struct half *h) {
  uint64_t used = 0;
  for (int64_t i = h->low; i <= h->high; i++) used += *place(s, h, i) != 0;
  pml__pack_whole(p, used);
  int64_t last = 0;
  for (int64_t i = h->low; i <= h->high; i++) {
    if (*place(s, h, i) == 0) continue;
    pml__pack_signed(p, i - last);
    pml__pack_whole(p, *place(s, h, i));
    last = i;
  }
}

void pml__sketch_pack(struct pml__pack *p, const struct pml_sketch *s) {
  pml__pack_real(p, s->alpha);
  pml__pack_whole(p, s->size);
  pml__pack_whole(p, s->level);
  pml__pack_real(p, s->min);
  pml__pack_real(p, s->max);
  pml__pack_whole(p, s->zeros);
  pml__pack_whole(p, s->nans);
  for (int h = 0; h < 2; h++) {
    pml__pack_whole(p, s->infinite[h]);
    pack_half(p, s, &s->half[h]);
  }
}

/* Counts that add up to more than a number holds are no counts. */
static void take_count(struct pml__unpack *u, struct pml_sketch *s, uint64_t n) {
  if (n > UINT64_MAX / 2 - s->count) u->failed = true;
  if (!u->failed) s->count += n;
}

static void unpack_half(struct pml__unpack *u, struct pml_sketch *s, int sign) {
  s->infinite[sign] = pml__unpack_whole(u, UINT64_MAX);
  take_count(u, s, s->infinite[sign]);
  uint64_t used = pml__unpack_whole(u, s->size);
  for (int64_t i = 0, level = (int64_t)s->level; used > 0 && !u->failed; used--) {
    int64_t gap = pml__unpack_signed(u);
    uint64_t n = pml__unpack_whole(u, UINT64_MAX);
    if (gap < -2 * INDEX_MAX || gap > 2 * INDEX_MAX || i + gap < -INDEX_MAX || i + gap > INDEX_MAX || n == 0)
      u->failed = true;
    take_count(u, s, n);
    i += u->failed ? 0 : gap;
    if (!u->failed) put(s, sign, i, (uint64_t)level, n);
    if (s->level != (uint64_t)level) u->failed = true;
  }
}

struct pml_sketch *pml__sketch_unpack(struct pml__unpack *u) {
  struct pml_sketch *s = NULL;
  double alpha = pml__unpack_real(u);
  uint64_t size = pml__unpack_whole(u, PML__SKETCH_PACKED_MAX);
  if (!(alpha >= 1e-6 && alpha <= 0.5) || size < 16 || (size & (size - 1)) != 0) u->failed = true;
  if (u->failed || pml_sketch_open(&s, alpha, size) < 0) return NULL;
  s->level = pml__unpack_whole(u, LEVELS_MAX);
  s->min = pml__unpack_real(u);
  s->max = pml__unpack_real(u);
  s->zeros = pml__unpack_whole(u, UINT64_MAX);
  s->nans = pml__unpack_whole(u, UINT64_MAX);
  take_count(u, s, s->zeros);
  unpack_half(u, s, 0);
  unpack_half(u, s, 1);
  if (s->count > 0 ? !(s->min <= s->max) : s->min != INFINITY || s->max != -INFINITY) u->failed = true;
  if (!u->failed) return s;
  pml_sketch_close(s);
  return NULL;
}
