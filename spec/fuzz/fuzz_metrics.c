/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/fuzz/fuzz_metrics.c - arbitrary bytes as a program's values: names and values within the bytes, or a failure. */
#include "base/pml_error.h"
#include "fuzz.h"
#include "read/export/pml_export_metrics.h"
#include "source/sde/pml_sde_values.h"

static bool inside(const void *at, size_t n, const char *bytes, size_t size) {
  const char *from = at;
  return from >= bytes && from <= bytes + size && n <= (size_t)(bytes + size - from);
}

static uint32_t check_names(struct pml__metrics_answer a, const char *bytes, size_t size) {
  struct pml__metrics_event e = {0};
  uint32_t n = 0;
  int rc;
  for (; (rc = pml__metrics_next(&a, &e)) > 0; n++) {
    PROMISE(inside(e.name, strlen(e.name) + 1, bytes, size), "a name is in the answer");
    PROMISE(inside(e.description, strlen(e.description) + 1, bytes, size), "a description is in the answer");
    PROMISE(e.word < a.words && e.words <= a.words - e.word, "the values of an event are in the answer");
    PROMISE(e.kind <= PML_SDE_PER_THREAD && e.type <= PML_TYPE_OTHER, "kind and type are known");
  }
  PROMISE(rc == 0 || rc == PML_EFORMAT, "a refusal has its code");
  PLANTED(rc == 0 && n == 3);
  return rc == 0 ? n : 0;
}

/* Write lines from two equal replies, for words inside and outside of them. */
static void check_lines(const struct pml__metrics_answer *a) {
  struct pml__metrics_lines l = {0};
  struct pml__metrics_answer both[] = {*a, *a};
  if (pml__metrics_add(&l, "# a\n", 4, PML__METRICS_CONSTANT, 0, false) < 0) abort();
  for (uint32_t i = 0; i < 20; i++)
    if (pml__metrics_add(&l, "line ", 5, i % 3, i, i % 2) < 0) abort();
  char *to = malloc(pml__metrics_room(&l));
  size_t n = pml__metrics_write(&l, both, 2, to), fell = pml__metrics_fallen(&l, both, 2, 0);
  PROMISE(n >= 4 && n <= pml__metrics_room(&l) && to[n - 1] == '\n', "lines fit, and end");
  PROMISE(fell <= l.n, "a line that fell is a line");
  free(to);
  pml__metrics_free(&l);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct pml__metrics_answer a;
  char *copy = malloc(size + (size == 0)); /* so that reading behind it is seen */
  if (size > 0) memcpy(copy, data, size);
  int rc = pml__metrics_parse(&a, copy, size);
  PROMISE(rc == 0 || rc == PML_EFORMAT, "a refusal has its code");
  if (rc == 0) {
    PROMISE(inside(a.value, (size_t)8 * a.words, copy, size) && inside(a.what, a.words, copy, size),
            "values are inside");
    PROMISE(inside(a.text, a.text_bytes, copy, size), "the text is inside");
    (void)check_names(a, copy, size);
    check_lines(&a);
  }
  free(copy);
  return 0;
}
