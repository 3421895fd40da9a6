/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/fuzz/fuzz_unwind.c - arbitrary bytes as unwinding tables and as code: the landing pad of an exception, and
 * whether a loaded value is only called.
 *
 * Runs: 20000
 */
#include "fuzz.h"

#include "adapter/arch/pml_arch.h"
#include "adapter/intercept/pml_intercept_landing.h"

static bool landing(void *arg, uintptr_t after, uintptr_t *to, bool *ends) {
  return pml__landing(arg, after, to, ends);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  uint8_t *bytes = malloc(size + 1); /* on the heap, so that a sanitizer sees reads behind the end */
  if (bytes == NULL) return 0;
  if (size > 0) memcpy(bytes, data, size);
  uintptr_t at = (uintptr_t)bytes, to;
  bool ends;
  struct pml__landings l = {.n = 1, .part = {{at, at + size}}, .table = at};
  struct pml_arch_code code = {at, at + size, landing, &l};
  size_t called = 0;
  for (size_t i = 0; i < size; i++) {
    bool known = pml__landing(&l, at + i, &to, &ends);
    PROMISE(to == 0 || known, "a known landing pad of an exception is returned");
    called += pml_arch_only_called(&code, at + i);
    if (i > 0) (void)pml_arch_is_call(bytes + i);
  }
  free(bytes);
  PLANTED(called == 1 && size == 10);
  return 0;
}
