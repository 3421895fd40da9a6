/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/base/text/pml_number.h - conversion of numbers to text as printf does in the C locale, at a tenth of its cost.
 * Internal.
 *
 *   char text[PML__NUMBER_MAX];
 *   size_t n = pml__number_text(text, 0.1, PML__NUMBER_EXACT);
 */
#ifndef PML_NUMBER_H
#define PML_NUMBER_H

#include "base/pml_api.h"

#include <stddef.h>
#include <stdint.h>

#define PML__NUMBER_MAX 40  /* bytes of a text, with its end */
#define PML__NUMBER_EXACT 0 /* 15 digits if strtod() reads @v from them, else 17 */

/*
 * pml__number_text - @v as "%.*g" with @digits writes it: 15, 17 or PML__NUMBER_EXACT. Returns the length.
 * pml__number_whole - @v as "%lld" does.
 * Thread-safe. Some 60 instructions; some thousand for numbers below 1e-11 or from 2^52 on, which the C library writes.
 */
PML__SHARED size_t pml__number_text(char *to, double v, int digits);
PML__SHARED size_t pml__number_whole(char *to, int64_t v);

#endif
