/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/quantile.c - exact quantiles give what qsort gives, on data made to break them, also if memory is short.
 *
 * Link: -Wl,--wrap=pml__big_alloc
 */
#include "check.h"
#include "record/pml_samples.h"
#include "record/quantile/pml_quantile.h"
#include "record/quantile/pml_quantile_sort.h"

#include <float.h>
#include <math.h>

#define MOST 60000
#define MANY 160000 /* length of a long series */

static uint64_t seed = 88172645463325252u;

static uint64_t any(void) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  return seed ^= seed << 17;
}

static int by_double(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static int by_int64(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static double random_bits(size_t i) {
  (void)i;
  uint64_t bits = any();
  double d;
  memcpy(&d, &bits, sizeof d);
  return d;
}

static double uniform(size_t i) {
  (void)i;
  return (double)(any() >> 11) / 9007199254740992.0;
}

static double ascending(size_t i) {
  return (double)i;
}

static double descending(size_t i) {
  return -(double)i;
}

static double few_values(size_t i) {
  (void)i;
  static const double value[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, DBL_MAX, -DBL_MAX, 5e-324, -5e-324, 1, -1};
  return value[any() % (sizeof value / sizeof value[0])];
}

static double equal(size_t i) {
  (void)i;
  return 42.5;
}

/* Groups with equal high bits, each too long for insertion sort: the first radix passes leave them unsorted. */
static double low_bits(size_t i) {
  return ldexp(1.0, (int)(i % 20)) * (1.0 + (double)(any() & 0x3fffff) * DBL_EPSILON);
}

static double heavy_tail(size_t i) {
  return pow(uniform(i) + 1e-12, -3);
}

static const struct {
  const char *name;
  double (*make)(size_t);
} kinds[] = {{"random bits", random_bits},  {"uniform", uniform},        {"ascending", ascending},
             {"descending", descending},    {"few values", few_values},  {"equal", equal},
             {"equal high bits", low_bits}, {"a heavy tail", heavy_tail}};

static unsigned wrong_doubles(struct pml_quantile *q, const double *v, size_t n) {
  static double sorted[MANY];
  size_t kept = 0;
  unsigned wrong = 0;
  for (size_t i = 0; i < n; i++)
    if (!isnan(v[i])) sorted[kept++] = v[i];
  qsort(sorted, kept, sizeof *sorted, by_double);
  for (unsigned p = 0; p <= 100 && kept > 0; p++) {
    size_t index = kept * p / 100 < kept ? kept * p / 100 : kept - 1;
    const double *d = pml_quantile_at(q, p);
    wrong += d == NULL || *d != sorted[index];
  }
  return wrong + (pml_quantile_count(q) != kept) + (pml_quantile_nans(q) != n - kept);
}

/* @n values of kind @k, of which @parts(done) come next, compared often and at the end; and after clear. */
static void series(size_t k, size_t n, size_t (*parts)(size_t), const char *how) {
  static double v[MANY];
  struct pml_quantile *q;
  unsigned wrong = 0, asked = 0;
  if (pml_quantile_open(&q, PML_TYPE_DOUBLE, 0, NULL) != 0) return;
  for (size_t i = 0; i < n; i++) v[i] = kinds[k].make(i);
  for (size_t done = 0, part; done < n; done += part) {
    part = parts(done);
    if (part > n - done) part = n - done;
    wrong += pml_quantile_add(q, v + done, part) != 0;
    if (++asked < 40 || done + part == n) wrong += wrong_doubles(q, v, done + part);
  }
  pml_quantile_clear(q);
  wrong += pml_quantile_count(q) != 0 || pml_quantile_at(q, 50) != NULL || pml_quantile_add(q, v, n) != 0;
  wrong += wrong_doubles(q, v, n);
  CHECK(wrong == 0, "%s: as qsort, %s and again after clear, at every percent (%u wrong)", kinds[k].name, how, wrong);
  pml_quantile_close(q);
}

static size_t any_part(size_t done) {
  (void)done;
  return any() % 3 == 0 ? 1 + any() % 20000 : 1 + any() % 40;
}
/* So many values at once that quantiles sort them; then few more, more than a fourth, and as many again. */
static size_t long_part(size_t done) {
  static const size_t ends[] = {MANY / 2, MANY / 2 + 500, MANY / 2 + 501, MANY * 3 / 4, MANY};
  size_t i = 0;
  while (ends[i] <= done) i++;
  return ends[i] - done;
}

static void doubles(void) {
  for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
    series(k, MOST, any_part, "in parts");
    series(k, MANY, long_part, "in a long series");
  }
}

static void sorting(void) {
  static uint64_t key[MOST], want[MOST], scratch[MOST];
  unsigned wrong = 0;
  for (unsigned round = 0; round < 300; round++) {
    size_t n = any() % (round < 280 ? 3000 : MOST) + 1;
    uint64_t mask = any() >> (any() % 64), other = any();
    for (size_t i = 0; i < n; i++) want[i] = key[i] = ((any() & mask) ^ other) >> 1;
    pml__sort_keys(key, scratch, n);
    qsort(want, n, sizeof *want, by_int64);
    wrong += memcmp(key, want, n * sizeof *key) != 0;
  }
  CHECK(wrong == 0, "keys with bits that differ anywhere are sorted (%u of 300 not)", wrong);
}

static void other_types(void) {
  static const enum pml_type types[] = {PML_TYPE_INT64, PML_TYPE_INT32, PML_TYPE_FLOAT};
  static const char *const name[] = {"int64", "int32", "float"};
  static int64_t want[MOST];
  for (size_t t = 0; t < 3; t++) {
    struct pml_quantile *q;
    size_t n = 0;
    unsigned wrong = pml_quantile_open(&q, types[t], 0, NULL) != 0;
    for (size_t i = 0; i < MOST && wrong == 0; i++) {
      int64_t i64 = i == 5 ? INT64_MIN : i == 6 ? INT64_MAX : (int64_t)any();
      int32_t i32 = i == 5 ? INT32_MIN : i == 6 ? INT32_MAX : (int32_t)i64;
      float f = i % 100 == 0 ? NAN : (float)(i32 / 3);
      const void *const of[] = {&i64, &i32, &f};
      wrong += pml_quantile_add(q, of[t], 1) != 0;
      if (t < 2 || !isnan(f)) want[n++] = t == 0 ? i64 : t == 1 ? i32 : (int64_t)f;
    }
    qsort(want, n, sizeof *want, by_int64);
    for (unsigned p = 0; p <= 100 && wrong == 0; p++) {
      const void *e = pml_quantile_at(q, p);
      int64_t got = t == 0 ? *(const int64_t *)e : t == 1 ? *(const int32_t *)e : (int64_t) * (const float *)e;
      wrong += got != want[p < 100 ? n * p / 100 : n - 1];
    }
    CHECK(wrong == 0 && pml_quantile_nans(q) == MOST - n, "%s, extremes included, NaN counted apart", name[t]);
    pml_quantile_close(q);
  }
}

static void rule(void) {
  struct pml_quantile *q;
  pml_quantile_open(&q, PML_TYPE_INT32, 0, NULL);
  CHECK(pml_quantile_at(q, 50) == NULL, "nothing has no median");
  int32_t v[10] = {7, 3, 10, 1, 9, 2, 8, 5, 4, 6};
  pml_quantile_add(q, v, 10);
  const int32_t *q1 = pml_quantile_at(q, 25), *med = pml_quantile_at(q, 50), *q3 = pml_quantile_at(q, 75);
  CHECK(*q1 == 3 && *med == 6 && *q3 == 8, "1 to 10 has Q1 3, MED 6, Q3 8 (%d %d %d)", *q1, *med, *q3);
  CHECK(*(const int32_t *)pml_quantile_at(q, 0) == 1 && *(const int32_t *)pml_quantile_at(q, 100) == 10, "MIN and MAX");
  CHECK(pml_quantile_at(q, 101) == NULL, "there are no 101 percent");
  pml_quantile_close(q);
  pml_quantile_close(NULL);
  CHECK(pml_quantile_open(&q, PML_TYPE_OTHER, 0, NULL) == -EINVAL && q == NULL, "elements of no bytes are refused");
  CHECK(pml_quantile_open(&q, (enum pml_type)77, 8, NULL) == -EINVAL, "so is an unknown type");
  pml_quantile_open(&q, PML_TYPE_OTHER, 3, NULL);
  CHECK(pml_quantile_add(q, "abcdef", 2) == 0 && pml_quantile_at(q, 0) == NULL, "without a comparator, no order");
  pml_quantile_close(q);
}

static int by_bytes(const void *a, const void *b) {
  return memcmp(a, b, 7);
}

static int contradicts_itself(const void *a, const void *b) {
  (void)a, (void)b;
  return (int)(any() % 3) - 1;
}

static int always_more(const void *a, const void *b) {
  (void)a, (void)b;
  return 1;
}

static void comparators(void) {
  static char v[MOST][7], want[MOST][7];
  for (size_t i = 0; i < MOST; i++)
    for (size_t b = 0; b < 7; b++) want[i][b] = v[i][b] = (char)('a' + any() % 6);
  struct pml_quantile *q;
  pml_quantile_open(&q, PML_TYPE_OTHER, 7, by_bytes);
  unsigned wrong = 0;
  for (size_t n = 0, part; n < MOST; n += part) {
    part = n % 7 == 0 ? 1 : MOST / 9;
    if (part > MOST - n) part = MOST - n;
    wrong += pml_quantile_add(q, v[n], part) != 0 || pml_quantile_at(q, 50) == NULL;
  }
  qsort(want, MOST, 7, by_bytes);
  for (unsigned p = 0; p < 100; p++) wrong += memcmp(pml_quantile_at(q, p), want[MOST / 100 * p], 7) != 0;
  CHECK(wrong == 0, "elements of 7 bytes in the order of their comparator (%u wrong)", wrong);
  pml_quantile_close(q);
  int (*const bad[])(const void *, const void *) = {contradicts_itself, always_more};
  for (size_t c = 0; c < 2; c++) {
    pml_quantile_open(&q, PML_TYPE_OTHER, 7, bad[c]);
    wrong = 0;
    for (size_t n = 0; n + 1000 <= 20000; n += 1000) {
      pml_quantile_add(q, v[n], 1000);
      const char *e = pml_quantile_at(q, 33);
      wrong += e == NULL || e[0] < 'a' || e[6] > 'f';
    }
    CHECK(wrong == 0, "a comparator that contradicts itself gives some element of the series");
    pml_quantile_close(q);
  }
}

static const double shares[] = {0, 0.25, 0.5, 0.95, 1};
/* R: quantile(c(10, 1, 3, 2, 4), shares) and quantile(c(4, 1, 3, 2), shares). */
static const struct {
  size_t n;
  uint64_t value[5];
  double want[5];
} known[] = {{5, {10, 1, 3, 2, 4}, {1, 2, 3, 8.8, 10}}, {4, {4, 1, 3, 2}, {1, 1.75, 2.5, 3.85, 4}}};

static bool is_within(double a, double b, double share) {
  return fabs(a - b) <= share * b;
}
static bool is_near(double a, double b) {
  return is_within(a, b, 1e-12);
}

static unsigned wrong_of_quantiles(enum pml_type type, size_t k) {
  struct pml_quantile *q;
  unsigned wrong = pml_quantile_open(&q, type, 0, NULL) != 0;
  for (size_t i = 0; i < known[k].n && wrong == 0; i++) {
    int64_t i64 = (int64_t)known[k].value[i];
    int32_t i32 = (int32_t)i64;
    double d = (double)i64;
    float f = (float)d;
    const void *const of[] = {&i64, &i32, &d, &f};
    wrong += pml_quantile_add(q, of[type], 1) != 0;
  }
  for (size_t i = 0; i < 5; i++) {
    double v = 0;
    wrong += pml_quantile_value(q, shares[i], &v) != 0 || !is_near(v, known[k].want[i]);
  }
  pml_quantile_close(q);
  return wrong;
}

static unsigned wrong_of_recorder(enum pml_keep keep, size_t k) {
  struct pml_recorder *r;
  const struct pml_recorder_options o = {
      .type = PML_TYPE_DOUBLE, .bytes = sizeof(double), .keep = keep, .alpha = 0.001};
  if (pml_recorder_open(&r, &o) != 0) return 1;
  double v = 0;
  unsigned wrong = pml_recorder_value(r, 0.5, &v) != -ENOENT;
  for (size_t i = 0; i < known[k].n; i++) wrong += pml_recorder_push_double(r, (double)known[k].value[i]) != 0;
  for (size_t i = 0; i < 5; i++)
    wrong += pml_recorder_value(r, shares[i], &v) != 0 ||
             !is_within(v, known[k].want[i], keep == PML_KEEP_SKETCH ? 0.001 : 1e-12);
  wrong += pml_recorder_value(r, 1.5, &v) != -EINVAL;
  pml_recorder_close(r);
  return wrong;
}

static void one_rule(void) {
  for (size_t k = 0; k < 2; k++) {
    uint64_t copy[5], count[PML_HISTOGRAM_BUCKETS] = {0};
    memcpy(copy, known[k].value, sizeof copy);
    struct pml_samples s = {.value = copy, .n = known[k].n, .capacity = 5};
    unsigned wrong = pml_samples_sort(&s) != 0;
    for (size_t i = 0; i < known[k].n; i++) count[pml_histogram_bucket(copy[i])]++;
    for (size_t i = 0; i < 5; i++) {
      wrong += !is_near(pml_samples_quantile(&s, shares[i]), known[k].want[i]);
      wrong += !is_near(pml_histogram_quantile(count, shares[i]), known[k].want[i]);
    }
    CHECK(wrong == 0, "samples and exact buckets have the quantiles that R has (%u wrong)", wrong);
    wrong = 0;
    for (unsigned type = 0; type < 4; type++) wrong += wrong_of_quantiles((enum pml_type)type, k);
    CHECK(wrong == 0, "so have series of each type (%u wrong)", wrong);
    wrong = wrong_of_recorder(PML_KEEP_ALL, k) + wrong_of_recorder(PML_KEEP_SKETCH, k);
    CHECK(wrong == 0, "and recorders and sketches, where the rule is requested (%u wrong)", wrong);
  }
  uint64_t wide[PML_HISTOGRAM_BUCKETS] = {[16] = 4}; /* 16 and 17: the four are at 16.25, 16.75, 17.25, 17.75 */
  CHECK(is_near(pml_histogram_quantile(wide, 0.5), 17) && is_near(pml_histogram_quantile(wide, 0), 16.25),
        "values of a wide bucket are evenly spread in it");
  wide[16] = 0;
  CHECK(isnan(pml_histogram_quantile(wide, 0.5)) && isnan(pml_histogram_quantile(wide, -1)),
        "an empty series has no quantile");
}

static unsigned allocations, refused; /* the number of the allocation that fails; 0: none */
static bool refuses_all;

void *__real_pml__big_alloc(size_t bytes);
void *__wrap_pml__big_alloc(size_t bytes);
void *__wrap_pml__big_alloc(size_t bytes) {
  return ++allocations == refused || refuses_all ? NULL : __real_pml__big_alloc(bytes);
}

#define FROM (1 << 20) /* numbers above it differ in few bits, and so there are many parts */

/* Add every second one of 2 * @n numbers from @first on in a mixed order, again without memory; 7919 is prime to @n. */
static unsigned add_mixed(struct pml_quantile *q, size_t first, size_t n) {
  static double v[MANY];
  for (size_t i = 0; i < n; i++) v[i] = (double)(FROM + first + 2 * (i * 7919 % n));
  return pml_quantile_add(q, v, n) != 0 && pml_quantile_add(q, v, n) != 0;
}

/* Expects @n numbers in steps of @step. If @may_refuse, there is no memory to sort what the median did not sort. */
static unsigned wrong_numbers(struct pml_quantile *q, size_t n, unsigned step, bool may_refuse) {
  unsigned wrong = 0;
  for (unsigned i = 0; i <= 101; i++) {
    unsigned p = i == 0 ? 50 : i - 1;
    const double *d = pml_quantile_at(q, p);
    wrong += d == NULL ? !may_refuse : *d != (double)(FROM + step * (p < 100 ? n * p / 100 : n - 1));
    refuses_all = may_refuse;
  }
  refuses_all = false;
  return wrong;
}

static void short_memory(void) {
  enum { HALF = 1 << 16, STEPS = 24 };
  unsigned wrong = 0, step;
  for (step = 1; step <= STEPS && wrong == 0; step++) {
    struct pml_quantile *q;
    if (pml_quantile_open(&q, PML_TYPE_DOUBLE, 0, NULL) != 0) return;
    allocations = 0;
    refused = step;
    wrong += add_mixed(q, 0, HALF) + wrong_numbers(q, HALF, 2, true);
    wrong += add_mixed(q, 1, HALF);
    wrong += wrong_numbers(q, (size_t)2 * HALF, 1, true) + wrong_numbers(q, (size_t)2 * HALF, 1, false);
    pml_quantile_close(q);
  }
  refused = 0;
  CHECK(wrong == 0, "where one of the first %u allocations fails, or all from then on, a quantile is refused or right",
        step - 1);
}

int main(void) {
  CHECK_EACH(rule, short_memory, one_rule, sorting, doubles, other_types, comparators);
  return check_done();
}
