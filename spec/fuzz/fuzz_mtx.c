/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/fuzz/fuzz_mtx.c - any bytes as a Matrix Market file. */
#include "fuzz.h"

#include "krylov/generate.c"
#include "krylov/matrix.c"
#include "krylov/mtx.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct krylov_matrix a;
  struct krylov_error e = {""};
  if (krylov_matrix_parse(&a, (const char *)data, size, &e)) {
    PROMISE(!a.start && *e.text, "a failure leaves nothing and says why");
    return 0;
  }
  PROMISE(a.start[0] == 0 && a.start[a.rows] == a.nonzeros, "the rows hold all nonzeros");
  for (size_t i = 0; i < a.rows; i++)
    for (size_t k = a.start[i]; k < a.start[i + 1]; k++) {
      PROMISE(a.column[k] < a.columns, "a column is inside the matrix");
      PROMISE(k == a.start[i] || a.column[k] > a.column[k - 1], "the columns of a row ascend");
      /* doubles may add up to an infinity, which a solve refuses */
      PROMISE(!isnan(a.value[k]), "no value is NaN");
    }
  PLANTED(a.rows == 3 && a.nonzeros == 2);
  krylov_matrix_free(&a);
  return 0;
}
