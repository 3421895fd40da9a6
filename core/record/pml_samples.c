/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/pml_samples.c - storage, order, moments, quantiles and text of a series. */
#include "record/pml_samples.h"

#include "base/pml_error.h"
#include "record/pml_samples_log.h"
#include "record/pml_sums.h"
#include "record/quantile/pml_quantile.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CACHE_LINE 64u
#define DIGITS 256u
#define BYTES sizeof(uint64_t)

int pml_samples_open(struct pml_samples *s, size_t capacity) {
  *s = (struct pml_samples){0};
  if (capacity == 0) return pml_fail(-EINVAL, "a series of samples needs a capacity of at least 1");
  if (capacity > SIZE_MAX / 2 / sizeof *s->value) return pml_fail(-ENOMEM, "no memory for %zu samples", capacity);
  size_t bytes = capacity * sizeof *s->value;
  s->value = pml__samples_log_memory(capacity, false, &s->run);
  if (s->value == NULL) s->value = aligned_alloc(CACHE_LINE, (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
  if (!s->value) return pml_fail(-ENOMEM, "no memory for %zu samples (%zu bytes)", capacity, bytes);
  memset(s->value, 0xff, bytes); /* not 0: compilers turn that into calloc, which touches nothing */
  s->capacity = capacity;
  return 0;
}

void pml_samples_close(struct pml_samples *s) {
  if (s->run != 0)
    pml__samples_log_free(s->value, s->capacity, s->run);
  else
    free(s->value);
  *s = (struct pml_samples){0};
}

void pml_samples_clear(struct pml_samples *s) {
  if (s->run != 0) pml__samples_log_clear(s->value, s->capacity);
  s->n = 0;
}

static void count_digits(const uint64_t *v, size_t n, size_t histogram[BYTES][DIGITS]) {
  for (size_t i = 0; i < n; i++)
    for (unsigned b = 0; b < BYTES; b++) histogram[b][(v[i] >> (8 * b)) & 0xff]++;
}

/* Moves @from to @to in the order of byte @b, stably. Counts become the places where each digit goes. */
static void move_by_digit(const uint64_t *from, uint64_t *to, size_t n, unsigned b, size_t place[DIGITS]) {
  size_t sum = 0;
  for (unsigned d = 0; d < DIGITS; d++) {
    size_t c = place[d];
    place[d] = sum;
    sum += c;
  }
  for (size_t i = 0; i < n; i++) to[place[(from[i] >> (8 * b)) & 0xff]++] = from[i];
}

/* Least significant digit first; a byte that is the same in all samples needs no pass. */
int pml_samples_sort(struct pml_samples *s) {
  if (s->n < 2) return 0;
  uint64_t *scratch = malloc(s->n * sizeof *scratch);
  if (!scratch) return pml_fail(-ENOMEM, "no memory to sort %zu samples", s->n);
  size_t histogram[BYTES][DIGITS] = {{0}};
  count_digits(s->value, s->n, histogram);
  uint64_t *from = s->value, *to = scratch;
  for (unsigned b = 0; b < BYTES; b++) {
    if (histogram[b][(from[0] >> (8 * b)) & 0xff] == s->n) continue;
    move_by_digit(from, to, s->n, b, histogram[b]);
    uint64_t *swap = from;
    from = to;
    to = swap;
  }
  if (from != s->value) memcpy(s->value, from, s->n * sizeof *from);
  free(scratch);
  return 0;
}

/*
 * Two passes: the mean from an exact sum, then the squares of differences to the whole number below the mean. The
 * differences are exact integers, so values far from 0, even above 2^53, lose no precision. Corrected two-pass
 * algorithm of Chan, Golub & LeVeque (1983).
 */
void pml_samples_moments(const struct pml_samples *s, struct pml_samples_moments *m) {
  *m = (struct pml_samples_moments){NAN, NAN, NAN, NAN};
  if (s->n == 0) return;
  unsigned __int128 sum = 0;
  uint64_t min = s->value[0], max = min;
  for (size_t i = 0; i < s->n; i++) {
    uint64_t v = s->value[i];
    sum += v;
    min = v < min ? v : min;
    max = v > max ? v : max;
  }
  uint64_t whole = (uint64_t)(sum / s->n);
  double n = (double)s->n, squares = 0;
  for (size_t i = 0; i < s->n; i++) {
    uint64_t v = s->value[i];
    double d = v >= whole ? (double)(v - whole) : -(double)(whole - v);
    squares += d * d;
  }
  double rest = (double)(uint64_t)(sum % s->n) / n; /* mean - whole */
  m->mean = (double)whole + rest;
  m->min = (double)min;
  m->max = (double)max;
  const struct pml_sums sums = {n, m->mean, fmax(squares - n * rest * rest, 0), m->min, m->max};
  if (s->n > 1) m->sd = pml_sums_deviation(&sums);
}

double pml_samples_quantile(const struct pml_samples *s, double q) {
  if (s->n == 0 || !(q >= 0 && q <= 1)) return NAN;
  struct pml_quantile_place p = pml_quantile_place(s->n, q);
  double lower = (double)s->value[p.at];
  return p.part > 0 ? pml_quantile_between(lower, (double)s->value[p.at + 1], p.part) : lower;
}

/* Writes @v so that it ends right before @end; returns where it starts. */
static char *put_decimal(char *end, uint64_t v) {
  static const char pairs[] = "00010203040506070809101112131415161718192021222324252627282930313233343536373839"
                              "40414243444546474849505152535455565758596061626364656667686970717273747576777879"
                              "8081828384858687888990919293949596979899";
  while (v >= 100) {
    end -= 2;
    memcpy(end, &pairs[2 * (v % 100)], 2);
    v /= 100;
  }
  if (v < 10) {
    *--end = (char)('0' + v);
    return end;
  }
  end -= 2;
  memcpy(end, &pairs[2 * v], 2);
  return end;
}

size_t pml_samples_format(const struct pml_samples *s, size_t first, size_t last, const char *prefix, char *buf,
                          size_t size, size_t *next) {
  size_t nprefix = prefix ? strlen(prefix) : 0, used = 0, i = first;
  if (last > s->n) last = s->n;
  for (; i < last; i++) {
    char row[48]; /* index, comma, value, newline: at most 42 */
    char *end = row + sizeof row, *at = end;
    *--at = '\n';
    at = put_decimal(at, s->value[i]);
    *--at = ',';
    at = put_decimal(at, i);
    size_t nrow = (size_t)(end - at);
    if (nprefix > size - used || nrow > size - used - nprefix) break;
    if (nprefix) memcpy(buf + used, prefix, nprefix);
    memcpy(buf + used + nprefix, at, nrow);
    used += nprefix + nrow;
  }
  *next = i;
  return used;
}
