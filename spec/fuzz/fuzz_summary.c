/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/fuzz/fuzz_summary.c - any bytes as a packed summary: refused in one line, or the same after every way through.
 */
#include "base/pml_error.h"
#include "fuzz.h"
#include "read/summary/pml_summary.h"

static struct pml_summary *unpack(const void *bytes, size_t n) {
  struct pml_summary *s;
  int err = pml_summary_unpack(&s, bytes, n);
  PROMISE((err == 0) == (s != NULL) && (err == 0 || err == PML_EFORMAT || err == -ENOMEM), "it is one or is refused");
  PROMISE(err == 0 || (*pml_error_detail(err) != '\0' && strchr(pml_error_detail(err), '\n') == NULL), "in one line");
  return s;
}

static void read_all(const struct pml_summary *s) {
  const struct pml_summary_row *row;
  int64_t first, last, before = INT64_MIN;
  for (size_t i = 0; (row = pml_summary_row(s, i)) != NULL; i++) {
    PROMISE(pml_summary_find(s, row->kind, row->name, row->detail) == row, "a row is found by its name");
    double median = row->sketch != NULL ? pml_sketch_value(row->sketch, 0.5) : 0;
    PLANTED(row->sketch != NULL && median > 0);
  }
  for (size_t i = 0; pml_summary_range(s, i, &first, &last); i++) {
    PROMISE(first <= last && (i == 0 || first > before + 1), "runs have gaps between them");
    before = last;
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  unsigned char *once, *twice;
  size_t n, m;
  struct pml_summary *s = unpack(data, size);
  if (s == NULL) return 0;
  read_all(s);
  PROMISE(pml_summary_pack(s, &once, &n) == 0, "it is packed");
  struct pml_summary *back = unpack(once, n);
  PROMISE(back != NULL, "and unpacked");
  PROMISE(pml_summary_pack(back, &twice, &m) == 0, "and packed again");
  PROMISE(m == n && memcmp(once, twice, n) == 0, "to the same");
  int joined = pml_summary_merge(back, s);
  PROMISE(joined == 0 || joined == -EINVAL, "and joined with itself, or counts too much");
  read_all(back);
  free(twice);
  PROMISE(pml_summary_pack(back, &twice, &m) == 0, "what was joined is packed");
  struct pml_summary *both = unpack(twice, m);
  PROMISE(both != NULL, "and unpacked");
  pml_summary_close(both);
  pml_summary_close(back);
  pml_summary_close(s);
  free(once);
  free(twice);
  return 0;
}
