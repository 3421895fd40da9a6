/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/fuzz/fuzz_mtx.c - libFuzzer target for the Matrix Market reader.
 *
 * clang -g -O1 -fsanitize=fuzzer,address,undefined -Iscripts/workloads spec/fuzz/fuzz_mtx.c -lz -o build/fuzz_mtx
 * build/fuzz_mtx -max_total_time=60
 */
#include "krylov/generate.c"
#include "krylov/matrix.c"
#include "krylov/mtx.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct krylov_matrix a;
  struct krylov_error e = {""};
  int err = krylov_matrix_parse(&a, (const char *)data, size, &e);
  if (err) {
    if (a.start || !*e.text) abort(); /* a failure leaves nothing and says why */
    return 0;
  }
  if (a.start[0] != 0 || a.start[a.rows] != a.nonzeros) abort();
  for (size_t i = 0; i < a.rows; i++)
    for (size_t k = a.start[i]; k < a.start[i + 1]; k++) {
      if (a.column[k] >= a.columns || (k > a.start[i] && a.column[k] <= a.column[k - 1])) abort();
      if (isnan(a.value[k])) abort(); /* doubles may add up to an infinity, which a solve refuses */
    }
  krylov_matrix_free(&a);
  return 0;
}
