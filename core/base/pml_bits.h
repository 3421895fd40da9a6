/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_bits.h - conversion of values to and from 64 bits. */
#ifndef PML_BITS_H
#define PML_BITS_H

#include <stdint.h>
#include <string.h>

static inline double pml__as_double(uint64_t bits) {
  double d;
  memcpy(&d, &bits, sizeof d);
  return d;
}

static inline uint64_t pml__as_bits(double d) {
  uint64_t bits;
  memcpy(&bits, &d, sizeof bits);
  return bits;
}

#endif
