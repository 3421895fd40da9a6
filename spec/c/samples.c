/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/samples.c - a series keeps, sorts, summarises and writes its samples exactly, also in the log of a run. */
#include "base/pml_clock.h"
#include "check.h"
#include "folder.h"
#include "read/log/pml_samples_left.h"
#include "record/log/pml_log_format.h"
#include "record/pml_samples.h"
#include "record/pml_samples_log.h"

#include <errno.h>
#include <math.h>
#include <sys/mman.h>
#include <sys/stat.h>

static uint64_t seed = 88172645463325252u;

static uint64_t random64(void) {
  seed ^= seed << 13;
  seed ^= seed >> 7;
  return seed ^= seed << 17;
}

static void fill(struct pml_samples *s, const uint64_t *v, size_t n) {
  s->n = 0;
  for (size_t i = 0; i < n; i++) pml_samples_push(s, v[i]);
}

/* A push must not be the first to touch its page. */
static void touched(void) {
  struct pml_samples s;
  size_t page = (size_t)sysconf(_SC_PAGESIZE), n = 1u << 20;
  if (!CHECK(pml_samples_open(&s, n) == 0, "a series of a million opens")) return;
  uintptr_t first = ((uintptr_t)s.value + page - 1) / page * page, end = (uintptr_t)(s.value + n) / page * page;
  size_t pages = (end - first) / page, absent = 0;
  unsigned char *in = calloc(pages, 1);
  if (in && mincore((void *)first, end - first, in) == 0)
    for (size_t i = 0; i < pages; i++) absent += !(in[i] & 1);
  else
    absent = pages;
  CHECK(pages > 1000 && absent == 0, "all its memory is there before the first push");
  free(in);
  pml_samples_close(&s);
}

static int by_value(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

enum { RANDOM, TICKS, CONSTANT, ASCENDING, DESCENDING, HIGH_BYTE, MIDDLE_BYTES, EXTREMES, SHAPES };
static const char *const shape_name[SHAPES] = {"random",     "tick differences", "constant",     "ascending",
                                               "descending", "high byte",        "middle bytes", "0 and 2^64 - 1"};

static uint64_t shaped(int shape, size_t i, size_t n) {
  switch (shape) {
  case RANDOM:
    return random64();
  case TICKS:
    return 40 + random64() % 30 + (i % 997 == 0 ? 100000 : 0);
  case CONSTANT:
    return 0x1234567890abcdef;
  case ASCENDING:
    return i;
  case DESCENDING:
    return n - i;
  case HIGH_BYTE:
    return random64() << 56 | 7;
  case MIDDLE_BYTES:
    return random64() & 0x00ffff0000ff00u;
  default:
    return random64() & 1 ? UINT64_MAX : 0;
  }
}

static bool ascends(const struct pml_samples *s) {
  double last = s->n > 0 ? (double)s->value[0] : 0;
  for (int i = 0; s->n > 0 && i <= 8; i++) {
    double q = pml_samples_quantile(s, i / 8.0);
    if (!(q >= last && q <= (double)s->value[s->n - 1])) return false;
    last = q;
  }
  return true;
}

static void sorting(void) {
  static const size_t sizes[] = {0, 1, 2, 3, 255, 256, 257, 10007};
  struct pml_samples s;
  static uint64_t expected[10007];
  if (!CHECK(pml_samples_open(&s, 10007) == 0, "there is memory to sort")) return;
  for (int shape = 0; shape < SHAPES; shape++) {
    unsigned wrong = 0;
    for (size_t k = 0; k < sizeof sizes / sizeof sizes[0]; k++) {
      for (size_t i = 0; i < sizes[k]; i++) expected[i] = shaped(shape, i, sizes[k]);
      fill(&s, expected, sizes[k]);
      qsort(expected, sizes[k], sizeof *expected, by_value);
      wrong += pml_samples_sort(&s) != 0 || s.n != sizes[k] || memcmp(s.value, expected, sizes[k] * 8) != 0;
      wrong += !ascends(&s);
    }
    CHECK(wrong == 0, "a series of %s is sorted as qsort does", shape_name[shape]);
  }
  pml_samples_close(&s);
}

static bool near(double a, double b) {
  return fabs(a - b) <= 1e-12 * fabs(b);
}

static void moments(void) {
  static const uint64_t v[] = {2, 4, 4, 4, 5, 5, 7, 9};
  struct pml_samples s;
  struct pml_samples_moments m;
  if (!CHECK(pml_samples_open(&s, 100000) == 0, "there is memory to summarise")) return;
  pml_samples_moments(&s, &m);
  CHECK(isnan(m.mean) && isnan(m.sd) && isnan(m.min) && isnan(m.max), "an empty series has no moments");
  fill(&s, v, 1);
  pml_samples_moments(&s, &m);
  CHECK(m.mean == 2 && isnan(m.sd) && m.min == 2 && m.max == 2, "one sample has a mean and no deviation");
  fill(&s, v, 8);
  pml_samples_moments(&s, &m);
  CHECK(m.mean == 5 && near(m.sd, sqrt(32.0 / 7)) && m.min == 2 && m.max == 9, "2 4 4 4 5 5 7 9: 5, sqrt(32/7), 2, 9");
  for (size_t i = 0; i < 8; i++) s.value[i] += UINT64_C(1) << 62;
  pml_samples_moments(&s, &m);
  CHECK(near(m.sd, sqrt(32.0 / 7)), "the deviation is the same 2^62 further on (%.17g)", m.sd);
  fill(&s, (const uint64_t[]){UINT64_MAX, 0}, 2);
  pml_samples_moments(&s, &m);
  CHECK(near(m.mean, 0x1p63) && near(m.sd, 0x1p64 / sqrt(2)) && m.max == 0x1p64, "the largest values do not overflow");
  s.n = 0;
  while (pml_samples_push(&s, UINT64_MAX - s.n % 2) == 0) continue;
  pml_samples_moments(&s, &m);
  CHECK(near(m.sd, sqrt(0.25 * 100000 / 99999)), "a long series of huge values keeps its small spread");
  pml_samples_close(&s);
}

/* Every length of number, written piece by piece, against printf: each piece has as many whole rows as fit. */
static void text(void) {
  struct pml_samples s;
  static char expected[65536], got[65536 + 64];
  static size_t row[1201]; /* where it begins */
  size_t used = 0, next = 0, calls = 0, wrong = 0;
  if (!CHECK(pml_samples_open(&s, 1200) == 0, "there is memory for pieces")) return;
  uint64_t power = 1;
  for (int d = 0; d < 20; d++, power *= 10)
    for (int k = -1; k <= 1; k++) pml_samples_push(&s, power + (uint64_t)(int64_t)k);
  while (pml_samples_push(&s, random64() >> (random64() % 64)) == 0) continue;
  for (size_t i = 0; i < s.n; i++)
    row[i + 1] = row[i] + (size_t)snprintf(expected + row[i], sizeof expected - row[i], "p %zu,%llu\n", i,
                                           (unsigned long long)s.value[i]);
  while (next < s.n && calls++ < 40 * s.n) {
    size_t first = next, room = random64() % 90, end = first;
    while (end < s.n && row[end + 1] - row[first] <= room) end++;
    got[used + room] = '#';
    size_t n = pml_samples_format(&s, first, s.n + 7, "p ", got + used, room, &next);
    wrong += next != end || n != row[end] - row[first] || got[used + room] != '#';
    used += n;
  }
  CHECK(next == s.n && used == row[s.n] && memcmp(got, expected, used) == 0, "pieces make up what printf writes");
  CHECK(wrong == 0, "each has the rows that fit, and no byte more");
  CHECK(pml_samples_format(&s, s.n, s.n, NULL, got, 8, &next) == 0 && next == s.n, "nothing is nothing");
  pml_samples_close(&s);
}

/* The head of the file says when the run began. */
static bool began_after(const char *path, uint64_t ns, uint64_t ticks) {
  struct pml__log_head head = {.magic = 0};
  FILE *f = fopen(path, "rb");
  bool is = f != NULL && fread(&head, sizeof head, 1, f) == 1;
  if (f != NULL) fclose(f);
  return is && head.started_ns >= ns && head.started_ns <= pml_clock_realtime_ns() && head.started_ticks >= ticks &&
         head.started_ticks <= pml_clock_ticks();
}

/* Memory of closed series is used again; a reader finds the samples of the last visit. */
static void logged(void) {
  const char *temporary = getenv("TMPDIR");
  struct pml_samples_left left = {0};
  struct pml_samples s;
  struct stat file = {0};
  char dir[200], path[300];
  int err = 0;
  (void)snprintf(dir, sizeof dir, "%s/pmlua-samples-XXXXXX", temporary != NULL ? temporary : "/tmp");
  (void)pml_clock_init();
  uint64_t ns = pml_clock_realtime_ns(), ticks = pml_clock_ticks();
  if (!CHECK(mkdtemp(dir) != NULL && pml_samples_log_open(dir) == 0, "a log is made")) return;
  (void)snprintf(path, sizeof path, "%s/samples.pmlog", dir);
  CHECK(began_after(path, ns, ticks), "it says when the run began");
  for (uint64_t i = 0; i < 500 && err == 0; i++) {
    err = pml_samples_open(&s, 10000);
    for (uint64_t k = 0; k < 10000 && err == 0; k++) err = pml_samples_push(&s, i ^ k);
    if (err == 0 && s.value[9999] != (i ^ 9999)) err = 1;
    pml_samples_close(&s);
  }
  CHECK(err == 0 && stat(path, &file) == 0 && file.st_size < 4 << 20, "500 series need the room of a few: %lld B",
        (long long)file.st_size);
  for (uint32_t visit = 1; visit <= 20; visit++) {
    pml_samples_log_visit(visit, 2 * visit, visit * 1000); /* each has more samples than the last */
    for (uint32_t k = 0; k < visit * 1000; k++) pml_samples_log_push(visit + k / 2.0);
    err = pml_samples_left(path, &left);
    bool right = err == 0 && left.real && left.cell == visit && left.round == 2 * visit &&
                 left.planned == visit * 1000 && left.n == left.planned;
    for (size_t k = 0; right && k < left.n; k++) {
      double v;
      memcpy(&v, &left.value[k], sizeof v);
      right = v == visit + (double)k / 2;
    }
    CHECK(right, "a reader has the samples of visit %u", visit);
    if (err == 0) free(left.value);
  }
  pml_samples_log_close();
  CHECK(stat(path, &file) < 0 && pml_samples_log_open(dir) == 0, "the file is gone, and another run may begin");
  CHECK(pml_samples_log_open(dir) == -EALREADY, "only one at a time");
  for (int i = 0; i < 2; i++) pml_samples_log_close();
  CHECK(folder_remove(dir), "nothing is left");
}

int main(void) {
  CHECK_EACH(touched, sorting, moments, text, logged);
  return check_done();
}
