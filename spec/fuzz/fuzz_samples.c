/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/fuzz/fuzz_samples.c - any numbers as a series: its order, moments and quantiles, and its text read back. */
#include "fuzz.h"
#include "record/pml_samples.h"

#include <math.h>

static int by_size(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

/* Rows "PREFIXindex,value\n" in pieces of @size bytes: all of them, in order. */
static void read_back(const struct pml_samples *s, const char *prefix, size_t size) {
  char *buf = malloc(size + 1);
  size_t next = 0, n;
  if (buf == NULL) abort();
  while (next < s->n) {
    size_t first = next;
    n = pml_samples_format(s, first, s->n, prefix, buf, size, &next);
    PROMISE(n <= size && next >= first && (n == 0) == (next == first), "what is said to be written is");
    if (n == 0) break;
    buf[n] = '\0';
    char *at = buf;
    for (size_t i = first; i < next; i++) {
      PROMISE(strncmp(at, prefix, strlen(prefix)) == 0, "each row has its prefix");
      at += strlen(prefix);
      PROMISE(strtoull(at, &at, 10) == i && *at++ == ',', "its index");
      PROMISE(strtoull(at, &at, 10) == s->value[i] && *at++ == '\n', "and its value");
    }
    PROMISE(at == buf + n, "and nothing else");
  }
  free(buf);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct fuzz_input in = {data, data + size};
  struct pml_samples s;
  struct pml_samples_moments m;
  unsigned width = fuzz_byte(&in) % 64, room = fuzz_byte(&in);
  size_t n = (size - (size > 2 ? 2 : size)) / 8 + 1;
  PROMISE(pml_samples_open(&s, n) == 0, "there is memory for so few");
  uint64_t *copy = malloc(n * sizeof *copy);
  if (copy == NULL) abort();
  for (size_t i = 0; i < n; i++) {
    copy[i] = fuzz_word(&in) >> width;
    PROMISE(pml_samples_push(&s, copy[i]) == 0, "as many as there is room for");
  }
  PROMISE(pml_samples_push(&s, 1) == PML_EFULL, "and no more");
  read_back(&s, room & 1 ? "a,b," : "", room);
  pml_samples_moments(&s, &m);
  PROMISE(pml_samples_sort(&s) == 0, "it is sorted");
  qsort(copy, n, sizeof *copy, by_size);
  PROMISE(memcmp(copy, s.value, n * sizeof *copy) == 0, "as qsort sorts it");
  PROMISE(m.min == (double)copy[0] && m.max == (double)copy[n - 1], "the ends are the ends");
  PROMISE(m.mean >= m.min && m.mean <= m.max && (n == 1 ? isnan(m.sd) : m.sd >= 0), "the moments are possible");
  double last = -1;
  for (int i = 0; i <= 8; i++) {
    double q = pml_samples_quantile(&s, i / 8.0);
    PROMISE(q >= last && q >= m.min && q <= m.max, "quantiles ascend between the ends");
    last = q;
  }
  PLANTED(n > 2 && s.value[0] == 7 && s.value[1] == 7);
  free(copy);
  pml_samples_close(&s);
  return 0;
}
