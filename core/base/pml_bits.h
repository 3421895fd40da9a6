/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_bits.h - a double in the 64 bits in which sources carry every value. */
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
