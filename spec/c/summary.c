/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/summary.c - measurements of processes add up by name in any order, and survive packing. */
#include "base/pml_lz.h"
#include "check.h"
#include "read/summary/pml_summary.h"

#include <float.h>
#include <math.h>

/* Process @number: 4 threads, 3 calls, 10 * (number + 1) ns in total, and for process 2 an additional event. */
static int add(struct pml_summary *s, int64_t number, uint32_t flags) {
  double ns = 10.0 * (double)(number + 1);
  struct pml_summary_value value[] = {
      {"events", false, 100 + number, pml_summary_one((double)(100 + number), number)},
      {"work", true, 0, pml_summary_one(0.5, number)},
      {"own", false, 7, pml_summary_one(7, number)},
  };
  struct pml_summary_row row = {.kind = PML_SUMMARY_SECTION,
                                .flags = flags,
                                .name = "solve",
                                .detail = NULL,
                                .processes = 1,
                                .threads = 4,
                                .first = number,
                                .value = value};
  row.calls = (struct pml_summary_spread){{3, ns / 3, 6, ns / 3 - 1, ns / 3 + 1}, ns, number, number};
  row.time = pml_summary_one(ns, number);
  row.self = pml_summary_one(5, number);
  row.nvalues = number == 2 ? 3 : 2;
  pml_sketch_open(&row.sketch, 0.01, 256);
  for (int i = 1; i <= 100; i++) pml_sketch_add(row.sketch, i + (double)(100 * number));
  int err = pml_summary_add(s, &row);
  pml_sketch_close(row.sketch);
  return err == 0 ? pml_summary_seen(s, number, number) : err;
}

/* As bytes a real has 28 bits. */
static bool near(double a, double b) {
  return fabs(a - b) <= 0x1p-28 * fabs(b);
}

static bool is_whole(const struct pml_summary *s) {
  const struct pml_summary_row *r = pml_summary_find(s, PML_SUMMARY_SECTION, "solve", "");
  int64_t first, last;
  if (r == NULL || r->processes != 3 || r->threads != 12 || r->first != 0 || r->nvalues != 3) return false;
  const struct pml_summary_value *v = r->value;
  bool sums = r->calls.of.count == 9 && near(r->calls.sum, 60) && near(r->time.sum, 60) && near(r->time.of.mean, 20) &&
              near(r->time.of.square, 200) && near(r->calls.of.square, 18 + 3 * 200.0 / 9);
  bool extremes = r->time.of.min == 10 && r->time.least == 0 && r->time.of.max == 30 && r->time.most == 2 &&
                  r->self.least == 0 && r->self.most == 0 && r->calls.most == 2;
  bool values = v[0].whole == 303 && v[0].of.most == 2 && v[1].real && v[1].of.sum == 1.5 && v[2].of.of.count == 1;
  bool processes =
      pml_summary_range(s, 0, &first, &last) && first == 0 && last == 2 && !pml_summary_range(s, 1, &first, &last);
  double median = pml_sketch_value(r->sketch, 0.5);
  return sums && extremes && values && processes && pml_sketch_count(r->sketch) == 300 && fabs(median - 150.5) <= 1.6;
}

static struct pml_summary *of(unsigned processes) {
  struct pml_summary *s;
  pml_summary_open(&s);
  for (int64_t i = 0; i < 3; i++)
    if (processes >> i & 1) CHECK(add(s, i, 0) == 0, "process %d is added", (int)i);
  return s;
}

static void any_order(void) {
  for (unsigned some = 0; some < 8; some++) {
    struct pml_summary *a = of(some), *b = of(7 & ~some);
    CHECK(pml_summary_merge(b, a) == 0, "processes %u join the others", some);
    CHECK(b != NULL && (is_whole(b) || some == 4), "and all is there");
    /* The value that process 2 alone has comes where it was first seen. */
    const struct pml_summary_row *r = pml_summary_find(b, PML_SUMMARY_SECTION, "solve", NULL);
    CHECK(r->nvalues == 3 && r->value[0].whole == 303, "values are added by name");
    pml_summary_close(a);
    pml_summary_close(b);
  }
}

static void as_bytes(void) {
  struct pml_summary *s = of(7), *back;
  unsigned char *bytes, *again;
  size_t n, m;
  unsigned accepted = 0, odd = 0;
  CHECK(pml_summary_pack(s, &bytes, &n) == 0 && n < 2000, "three processes with a sketch are %zu bytes", n);
  CHECK(pml_summary_unpack(&back, bytes, n) == 0 && is_whole(back), "and come back");
  CHECK(pml_summary_pack(back, &again, &m) == 0 && m == n && memcmp(bytes, again, n) == 0, "byte by byte");
  pml_summary_close(back);
  for (size_t cut = 0; cut < n; cut++) accepted += pml_summary_unpack(&back, bytes, cut) != PML_EFORMAT || back != NULL;
  CHECK(accepted == 0, "cut anywhere they are refused");
  for (size_t i = 0; i < 8 * n; i++) {
    bytes[i / 8] ^= (unsigned char)(1u << i % 8);
    int err = pml_summary_unpack(&back, bytes, n);
    odd += err != 0 && (err != PML_EFORMAT || back != NULL || strchr(pml_error_detail(err), '\n') != NULL);
    pml_summary_close(back);
    bytes[i / 8] ^= (unsigned char)(1u << i % 8);
  }
  CHECK(odd == 0, "with any bit turned they are a summary, or are refused in one line");
  bytes[5] = 1;
  CHECK(pml_summary_unpack(&back, bytes, n) == PML_EFORMAT &&
            strstr(pml_error_detail(PML_EFORMAT), "version 1;") != NULL,
        "another version is named");
  free(bytes);
  free(again);
  pml_summary_close(s);
}

static void refused(void) {
  struct pml_summary *s = of(3);
  CHECK(add(s, 2, PML_SUMMARY_COMMUNICATION) == -EINVAL && strstr(pml_error_detail(-EINVAL), "process 2") != NULL,
        "a process that disagrees about a section is named");
  const struct pml_summary_row *r = pml_summary_find(s, PML_SUMMARY_SECTION, "solve", "");
  CHECK(r->processes == 2, "and nothing of it was added");
  pml_summary_close(s);
  CHECK(pml_summary_unpack(&s, "PMLUALOG", 8) == PML_EFORMAT && s == NULL, "other bytes are no summary");
}

static void apart(void) {
  static const uint32_t type[] = {0, PML_SUMMARY_COMMUNICATION, 0, PML_SUMMARY_COMMUNICATION | PML_SUMMARY_INCLUSIVE};
  for (unsigned order = 0; order < 24; order++) {
    struct pml_summary *s, *one;
    unsigned left = 15, k = order;
    pml_summary_open(&s);
    for (unsigned n = 4; n > 0; k /= n, n--) {
      unsigned i = 0;
      for (unsigned skip = k % n; (left >> i & 1) == 0 || skip-- > 0;) i++;
      left &= ~(1u << i);
      pml_summary_open(&one);
      CHECK(add(one, i, type[i]) == 0 && pml_summary_merge(s, one) == 0, "process %u joins", i);
      pml_summary_close(one);
    }
    uint64_t processes[4] = {0};
    size_t rows = 0;
    for (const struct pml_summary_row *r; (r = pml_summary_row(s, rows)) != NULL; rows++)
      processes[r->flags] += r->processes;
    CHECK(rows == 3 && processes[0] == 2 && processes[1] == 1 && processes[3] == 1, "three types have a row each");
    struct pml_summary *twice;
    pml_summary_open(&twice);
    CHECK(pml_summary_merge(twice, s) == 0 && pml_summary_merge(twice, s) == 0 && pml_summary_row(twice, 2) != NULL &&
              pml_summary_row(twice, 3) == NULL,
          "and keep them");
    pml_summary_close(twice);
    pml_summary_close(s);
  }
}

static void names(void) {
  struct pml_summary *s;
  struct pml_summary_row row = {.kind = PML_SUMMARY_CALL, .processes = 1};
  char name[16];
  unsigned wrong = 0;
  pml_summary_open(&s);
  for (int i = 0; i < 3000; i++) {
    snprintf(name, sizeof name, "f%d", i % 1000);
    row.name = name;
    row.detail = i % 2 ? "a.c" : "b.c";
    wrong += pml_summary_add(s, &row) != 0;
  }
  CHECK(wrong == 0 && pml_summary_row(s, 999) != NULL && pml_summary_row(s, 1000) == NULL, "a thousand names");
  for (size_t i = 0; i < 1000; i++) wrong += pml_summary_row(s, i)->processes != 3;
  CHECK(wrong == 0, "have the added values");
  CHECK(pml_summary_find(s, PML_SUMMARY_CALL, "f1", "b.c") == NULL &&
            pml_summary_find(s, PML_SUMMARY_SECTION, "f1", "a.c") == NULL,
        "kind and detail are part of a name");
  pml_summary_close(s);
}

static void overflow(void) {
  struct pml_summary *s;
  struct pml_summary_value v = {"n", false, INT64_MAX, pml_summary_one(0x1p63, 0)};
  struct pml_summary_row row = {.kind = PML_SUMMARY_COUNTER, .name = "c", .nvalues = 1, .value = &v};
  pml_summary_open(&s);
  pml_summary_add(s, &row);
  pml_summary_add(s, &row);
  CHECK(pml_summary_row(s, 0)->value[0].real && pml_summary_row(s, 0)->value[0].of.sum == 0x1p64,
        "a sum that is too large becomes real");
  pml_summary_close(s);
}

/* Whole numbers below 2^53 are unpacked exactly, others to 2^-28; unpacking twice gives the same. */
static void reals(void) {
  static const double value[] = {0,          -0.0,         1,         -1,           0.1,          -1 / 3.0, 0x1p53 - 1,
                                 1 - 0x1p53, 0x1p53 - 0.5, 0x1p53,    M_PI,         0x1p-1074,    1e-310,   1e300,
                                 DBL_MAX,    INFINITY,     -INFINITY, 0x1p30 + 0.5, 123456789.125};
  struct pml__pack p = {0};
  unsigned wrong = 0;
  for (size_t i = 0; i < sizeof value / sizeof *value; i++) pml__pack_short_real(&p, value[i]);
  struct pml__unpack u = {p.at, p.n, false};
  for (size_t i = 0; i < sizeof value / sizeof *value; i++) {
    double v = value[i], back = pml__unpack_short_real(&u);
    bool exact = fabs(v) < 0x1p53 && v == nearbyint(v), large = fabs(v) > 1e308;
    wrong += back != pml__pack_rounded(v) || back != pml__pack_rounded(back);
    wrong += exact || isinf(v) ? back != v : large ? !isinf(back) : !(fabs(back - v) <= 0x1p-28 * fabs(v) + 0x1p-1074);
  }
  CHECK(wrong == 0 && !u.failed && u.left == 0, "reals come back rounded once");
  size_t n = p.n;
  pml__pack_short_real(&p, 1234567.25);
  CHECK(p.n - n == 5, "and take five bytes (%zu)", p.n - n);
  CHECK(isinf(pml__pack_rounded(NAN)), "a value that is no number is too large");
  free(p.at);
}

static bool survives(const unsigned char *bytes, size_t n, size_t *packed) {
  struct pml__pack p = {0};
  pml__lz_pack(&p, bytes, n);
  struct pml__unpack u = {p.at, p.n, false};
  unsigned char *back = pml__lz_unpack(&u, n);
  bool same = back != NULL && memcmp(back, bytes, n) == 0;
  free(back);
  for (size_t cut = 0; cut < p.n; cut++) {
    u = (struct pml__unpack){p.at, cut, false};
    back = pml__lz_unpack(&u, n);
    same &= back == NULL && u.failed;
    free(back);
  }
  *packed = p.n;
  free(p.at);
  return same;
}

/* Bytes without a pattern, of few letters, and all alike; of every short length. */
static void repeats(void) {
  static unsigned char bytes[3][3000];
  size_t n, wrong = 0, packed = 0;
  uint32_t r = 1;
  for (size_t i = 0; i < sizeof bytes[0]; i++) {
    r = r * 1664525u + 1013904223u;
    bytes[0][i] = (unsigned char)(r >> 24);
    bytes[1][i] = r >> 31 ? 'a' : 'b';
    bytes[2][i] = 'x';
  }
  for (size_t k = 0; k < 3; k++)
    for (n = 0; n < 300; n++) wrong += !survives(bytes[k], n, &packed);
  CHECK(wrong == 0, "bytes come back from their steps, and cut ones do not");
  CHECK(survives(bytes[0], sizeof bytes[0], &packed) && packed < sizeof bytes[0] + 10, "random ones take %zu", packed);
  CHECK(survives(bytes[1], sizeof bytes[1], &packed) && packed < sizeof bytes[0], "two letters take %zu", packed);
  CHECK(survives(bytes[2], sizeof bytes[2], &packed) && packed < 100, "equal ones take %zu", packed);
  struct pml__unpack u = {bytes[2], 9, false};
  CHECK(pml__lz_unpack(&u, SIZE_MAX / 2) == NULL && u.failed, "nine bytes are not 2^62");
}

static void too_large(void) {
  static const struct pml_summary_row many[] = {
      {.kind = PML_SUMMARY_COUNTER, .name = "c", .processes = INT64_MAX},
      {.kind = PML_SUMMARY_COUNTER, .name = "c", .threads = INT64_MAX},
  };
  for (size_t i = 0; i < 2; i++) {
    struct pml_summary *s, *other, *back = NULL;
    unsigned char *bytes;
    size_t n;
    pml_summary_open(&s);
    pml_summary_open(&other);
    CHECK(pml_summary_add(s, &many[i]) == 0 && pml_summary_add(other, &many[i]) == 0, "2^63 - 1 are taken");
    struct pml_summary_row one = {.kind = PML_SUMMARY_COUNTER, .name = "c"}, less = many[i];
    *(i == 0 ? &one.processes : &one.threads) = 1;
    *(i == 0 ? &less.processes : &less.threads) -= 1;
    less.name = one.name = "d";
    CHECK(pml_summary_add(s, &less) == 0 && pml_summary_add(s, &one) == 0, "2^63 - 2 and one are");
    CHECK(pml_summary_add(s, &one) == -EINVAL, "one more is refused");
    CHECK(pml_summary_merge(s, other) == -EINVAL && strstr(pml_error_detail(-EINVAL), "damaged") != NULL,
          "more are refused");
    CHECK(pml_summary_find(s, PML_SUMMARY_COUNTER, "c", NULL)->processes == many[i].processes, "and nothing is added");
    CHECK(pml_summary_pack(s, &bytes, &n) == 0 && pml_summary_unpack(&back, bytes, n) == 0, "all contents come back");
    free(bytes);
    pml_summary_close(s);
    pml_summary_close(other);
    pml_summary_close(back);
  }
}

static void runs(void) {
  struct pml_summary *s;
  int64_t first, last;
  pml_summary_open(&s);
  for (int64_t i = 99; i > 0; i -= 2) pml_summary_seen(s, i, i);
  size_t n = 0;
  while (pml_summary_range(s, n, &first, &last)) n++;
  CHECK(n == 50, "fifty runs of one");
  for (int64_t i = 0; i < 100; i += 2) pml_summary_seen(s, i == 50 ? 51 : i, i == 50 ? 51 : i);
  CHECK(pml_summary_range(s, 0, &first, &last) && first == 0 && last == 49 && pml_summary_range(s, 1, &first, &last) &&
            first == 51 && last == 99 && !pml_summary_range(s, 2, &first, &last),
        "become two around the missing one");
  pml_summary_close(s);
}

static const struct pml_summary_spread *spread_of(const struct pml_summary *s, size_t i) {
  return &pml_summary_find(s, PML_SUMMARY_COUNTER, "odd", NULL)->value[i].of;
}

/* A NaN hides no extreme of other values, in any order, and is the extreme if it is alone. */
static void not_numbers(void) {
  static const double value[] = {3, NAN, 5, -INFINITY, NAN};
  static const unsigned order[][5] = {
      {1, 4, 0, 2, 3}, {0, 1, 2, 3, 4}, {4, 1, 3, 2, 0}, {2, 4, 3, 1, 0}, {3, 2, 0, 4, 1}};
  for (size_t k = 0; k < sizeof order / sizeof *order; k++) {
    struct pml_summary *s;
    pml_summary_open(&s);
    for (size_t i = 0; i < 5; i++) {
      int64_t number = order[k][i];
      struct pml_summary_value v[] = {{"v", true, 0, pml_summary_one(value[number], number)},
                                      {"none", true, 0, pml_summary_one(NAN, number)}};
      struct pml_summary_row row = {
          .kind = PML_SUMMARY_COUNTER, .name = "odd", .processes = 1, .first = number, .nvalues = 2, .value = v};
      CHECK(pml_summary_add(s, &row) == 0, "process %d is added", (int)number);
    }
    const struct pml_summary_spread *v = spread_of(s, 0), *none = spread_of(s, 1);
    CHECK(v->of.count == 5 && v->of.min == -INFINITY && v->least == 3 && v->of.max == 5 && v->most == 2,
          "order %zu: least of %d, most of %d", k, (int)v->least, (int)v->most);
    CHECK(isnan(v->sum) && isnan(none->of.min) && isnan(none->of.max) && none->least == 0 && none->most == 0,
          "order %zu: of no number it is the first process", k);
    pml_summary_close(s);
  }
}

int main(void) {
  CHECK_EACH(any_order, not_numbers, as_bytes, refused, apart, names, overflow, reals, repeats, too_large, runs);
  return check_done();
}
