/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/fuzz/fuzz_pnm.c - libFuzzer target for the PNM reader.
 *
 * clang -g -O1 -fsanitize=fuzzer,address,undefined -Iscripts/workloads spec/fuzz/fuzz_pnm.c -o build/fuzz_pnm
 * build/fuzz_pnm -max_total_time=60
 */
#include "pnm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct pnm_image img;
  char error[160] = "";
  int err = pnm_parse(data, size, &img, error, sizeof error);
  if (err) {
    if (img.grey || !*error) abort(); /* a failure leaves nothing and says why */
    return 0;
  }
  for (size_t i = 0; i < img.width * img.height; i++)
    if (img.grey[i] > img.maxval) abort();
  free(img.grey);
  return 0;
}
