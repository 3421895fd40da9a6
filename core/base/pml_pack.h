/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_pack.h - portable serialization of numbers and strings. Internal. */
#ifndef PML_PACK_H
#define PML_PACK_H

#include "base/pml_api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whole numbers take one byte for each 7 bits, the lowest first; signed ones are folded (0, -1, 1, -2, ...) so that
 * small ones are short. Reals are the 8 bytes of an IEEE 754 double, the lowest first. Texts end with a zero.
 *
 * A short real is stored as a whole number, which takes up to five bytes for most measured values. A whole number below
 * 2^53 is stored exactly, as twice its folded value. Any other value is stored, from the lowest bit on, as 1, the sign,
 * the first 27 fraction bits of its mantissa in [1, 2), and the folded exponent of 2, which is 1024 for infinity. It is
 * rounded to 2^-28 of its size; rounding it again changes nothing.
 *
 * pml__pack_rounded - the value that a short real is read back as; NaN becomes infinity.
 */
struct pml__pack {
  unsigned char *at; /* free it with free() */
  size_t n, capacity;
  bool failed; /* no memory: later additions are dropped */
};
PML__SHARED void pml__pack_whole(struct pml__pack *p, uint64_t v);
PML__SHARED void pml__pack_signed(struct pml__pack *p, int64_t v);
void pml__pack_real(struct pml__pack *p, double v);
PML__SHARED double pml__pack_rounded(double v);
PML__SHARED void pml__pack_short_real(struct pml__pack *p, double v);
PML__SHARED void pml__pack_text(struct pml__pack *p, const char *text);
PML__SHARED void pml__pack_bytes(struct pml__pack *p, const void *bytes, size_t n);

/* No input is trusted: a value that is missing or invalid sets @failed and reads as 0 or "". Texts point into @at. */
struct pml__unpack {
  const unsigned char *at;
  size_t left;
  bool failed;
};
PML__SHARED uint64_t pml__unpack_whole(struct pml__unpack *u, uint64_t max);
PML__SHARED int64_t pml__unpack_signed(struct pml__unpack *u);
double pml__unpack_real(struct pml__unpack *u);                   /* no NaN */
PML__SHARED double pml__unpack_short_real(struct pml__unpack *u); /* no NaN */
PML__SHARED const char *pml__unpack_text(struct pml__unpack *u);
void pml__unpack_bytes(struct pml__unpack *u, void *to, size_t n); /* @to: for n bytes */

#endif
