/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/lua/wrap/valued.h - functions whose arguments and results are of every kind that a wrapper records. */
#ifndef VALUED_H
#define VALUED_H

double valued_mix(int n, double x, const char *text);
long valued_next(long n);

#endif
