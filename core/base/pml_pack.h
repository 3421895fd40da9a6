/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_pack.h - portable serialization of numbers and strings. Internal. */
#ifndef PML_PACK_H
#define PML_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Whole numbers take one byte for each 7 bits, the lowest first; signed ones are folded (0, -1, 1, -2, ...) so that
 * small ones are short. Reals are the 8 bytes of an IEEE 754 double, the lowest first. Texts end with a zero.
 *
 * A short real is a whole number of up to five bytes for most figures of a measurement: twice the folded one for a
 * whole number below 2^53, without rounding; else, from the lowest bit on, 1, the sign, 27 bits behind the point of its
 * mantissa in [1, 2), and the folded exponent of 2; 1024 is that of infinity. So it is rounded to 2^-28 of its size,
 * and twice rounding is once.
 *
 * pml__pack_rounded - what comes back of a short real: infinity for NaN.
 */
struct pml__pack {
  unsigned char *at; /* free it with free() */
  size_t n, capacity;
  bool failed; /* no memory: what follows is dropped */
};
void pml__pack_whole(struct pml__pack *p, uint64_t v);
void pml__pack_signed(struct pml__pack *p, int64_t v);
void pml__pack_real(struct pml__pack *p, double v);
double pml__pack_rounded(double v);
void pml__pack_short_real(struct pml__pack *p, double v);
void pml__pack_text(struct pml__pack *p, const char *text);
void pml__pack_bytes(struct pml__pack *p, const void *bytes, size_t n);

/* Nothing in it is trusted: what is not there, or cannot be, sets @failed, and is 0 or "" then. Texts are in place. */
struct pml__unpack {
  const unsigned char *at;
  size_t left;
  bool failed;
};
uint64_t pml__unpack_whole(struct pml__unpack *u, uint64_t max);
int64_t pml__unpack_signed(struct pml__unpack *u);
double pml__unpack_real(struct pml__unpack *u);       /* no NaN */
double pml__unpack_short_real(struct pml__unpack *u); /* no NaN */
const char *pml__unpack_text(struct pml__unpack *u);
void pml__unpack_bytes(struct pml__unpack *u, void *to, size_t n); /* @to: for n bytes */

#endif
