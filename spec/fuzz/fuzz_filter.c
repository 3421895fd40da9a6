/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/fuzz/fuzz_filter.c - any bytes as a filter file: rules that decide, or one line that says where it is wrong. */
#include "fuzz.h"

#include "base/pml_error.h"
#include "program/pml_filter.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct pml_filter *f = NULL;
  int err = pml_filter_parse(&f, (const char *)data, size, "f");
  PROMISE(err == 0 || err == PML_EFORMAT, "a filter, or malformed");
  PROMISE((err == 0) == (f != NULL), "a filter if there is no error");
  if (f == NULL) {
    const char *why = pml_error_detail(err);
    PROMISE(strncmp(why, "f:", 2) == 0 && why[2] >= '1' && why[2] <= '9', "the line is named");
    return 0;
  }
  bool file = pml_filter_wants_file(f, "/usr/lib/libz.so.1"), name = pml_filter_wants_name(f, "f(int)", "_Z1fi");
  PROMISE(pml_filter_wants(f, "/usr/lib/libz.so.1", "f(int)", "_Z1fi") == (file && name), "both must be wanted");
  (void)pml_filter_wants(f, NULL, NULL, NULL);
  PLANTED(!file && name && !pml_filter_wants_name(f, "deflate", "deflate"));
  pml_filter_close(f);
  return 0;
}
