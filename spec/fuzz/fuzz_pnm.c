/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/fuzz/fuzz_pnm.c - any bytes as a netpbm image. */
#include "fuzz.h"
#include "pnm.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  struct pnm_image img;
  char error[160] = "";
  int err = pnm_parse(data, size, &img, error, sizeof error);
  if (err) {
    PROMISE(!img.grey && *error, "a failure leaves nothing and says why");
    return 0;
  }
  for (size_t i = 0; i < img.width * img.height; i++)
    PROMISE(img.grey[i] <= img.maxval, "no grey is lighter than white");
  PLANTED(img.width == 2 && img.maxval == 7);
  free(img.grey);
  return 0;
}
