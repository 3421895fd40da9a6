/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/base/text/pml_number.c - conversion of numbers to text.
 *
 * A double is m * 2^e. Its first p digits are the integer next to m * 2^e * 10^k, where k makes it one of p digits:
 * that is m * 5^k shifted by e + k bits. With 0 <= k <= 27 the product has at most 116 bits, so that nothing is rounded
 * but the result.
 */
#include "base/text/pml_number.h"

#include "base/text/pml_locale.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define POWERS 28
#define MANTISSA (UINT64_C(1) << 52)

struct number {
  uint64_t m;
  int e;
};

/* The digits of a number before its exponent: digits * 10^(exponent - (p - 1)). */
struct decimal {
  uint64_t digits;
  int exponent;
  bool exact; /* strtod() reads the number from these digits */
};

/* clang-format off */
static const uint64_t power_of_5[POWERS] = {
    1, 5, 25, 125, 625, 3125, 15625, 78125, 390625, 1953125, 9765625, 48828125, 244140625, 1220703125, 6103515625,
    30517578125, 152587890625, 762939453125, 3814697265625, 19073486328125, 95367431640625, 476837158203125,
    2384185791015625, 11920928955078125, 59604644775390625, 298023223876953125, 1490116119384765625,
    7450580596923828125
};
/* clang-format on */

/* The digits of @v, the first with weight 10^@exponent; false if 128 bits are not sufficient. */
static bool scale(const struct number *v, int p, int exponent, struct decimal *d) {
  const int k = p - 1 - exponent, shift = -(v->e + k);
  if (k < 0 || k >= POWERS || shift < 1 || shift > 120) return false;
  const unsigned __int128 one = 1, product = (unsigned __int128)v->m * power_of_5[k], half = one << (shift - 1);
  const unsigned __int128 rest = product & ((one << shift) - 1);
  d->digits = (uint64_t)(product >> shift);
  d->exponent = exponent;
  bool up = rest > half || (rest == half && d->digits % 2 != 0);
  d->digits += up;
  const unsigned __int128 off = up ? (one << shift) - rest : rest;
  d->exact = 2 * off < power_of_5[k] || (2 * off == power_of_5[k] && v->m % 2 == 0);
  return true;
}

/* Its exponent equals the exponent of 2^(e + 52), or one more. */
static bool to_decimal(const struct number *v, int p, struct decimal *d) {
  static const uint64_t end[] = {[15] = UINT64_C(1000000000000000), [17] = UINT64_C(100000000000000000)};
  const int power = v->e + 52, exponent = (power * 78913 - (power < 0 ? 262143 : 0)) / 262144; /* log10(2) */
  if (v->m == MANTISSA) return false; /* below a power of two numbers are nearer to each other */
  return scale(v, p, exponent, d) && (d->digits < end[p] || scale(v, p, exponent + 1, d));
}

static size_t put_whole(char *to, uint64_t v) {
  char digit[20];
  size_t n = 0;
  do digit[n++] = (char)('0' + v % 10);
  while ((v /= 10) != 0);
  for (size_t i = 0; i < n; i++) to[i] = digit[n - 1 - i];
  to[n] = '\0';
  return n;
}

/* As %g does: without zeros at the end, with an exponent where it is less than -4. */
static size_t put_decimal(char *to, const struct decimal *d) {
  char digit[24];
  size_t n = put_whole(digit, d->digits), at = 0, before = d->exponent >= 0 ? (size_t)d->exponent + 1 : 0;
  while (n > 1 && n > before && digit[n - 1] == '0') n--;
  if (d->exponent < -4) {
    to[at++] = digit[0];
    if (n > 1) to[at++] = '.';
    memcpy(to + at, digit + 1, n - 1);
    at += n - 1;
    to[at++] = 'e';
    to[at++] = '-';
    if (d->exponent > -10) to[at++] = '0';
    return at + put_whole(to + at, (uint64_t)-d->exponent);
  }
  if (before == 0) {
    memcpy(to, "0.000", 5);
    at = (size_t)(1 - d->exponent);
  }
  memcpy(to + at, digit, before);
  at += before;
  if (before > 0 && n > before) to[at++] = '.';
  memcpy(to + at, digit + before, n - before);
  at += n - before;
  to[at] = '\0';
  return at;
}

static size_t put_slowly(char *to, double v, int digits) {
  struct pml__locale c = pml__locale_begin();
  int n = snprintf(to, PML__NUMBER_MAX, "%.*g", digits == PML__NUMBER_EXACT ? 15 : digits, v);
  if (digits == PML__NUMBER_EXACT && strtod(to, NULL) != v) n = snprintf(to, PML__NUMBER_MAX, "%.17g", v);
  pml__locale_end(c);
  return n > 0 ? (size_t)n : 0;
}

size_t pml__number_text(char *to, double v, int digits) {
  struct number of;
  struct decimal d;
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  if (bits == 0) {
    memcpy(to, "0", 2);
    return 1;
  }
  const int biased = (int)(bits >> 52 & 2047);
  of.m = (bits & (MANTISSA - 1)) | MANTISSA;
  of.e = biased - 1075;
  if (biased == 0 || biased == 2047 || !to_decimal(&of, digits == 17 ? 17 : 15, &d)) return put_slowly(to, v, digits);
  if (digits == PML__NUMBER_EXACT && !d.exact && !to_decimal(&of, 17, &d)) return put_slowly(to, v, digits);
  const bool negative = bits >> 63 != 0;
  if (negative) to[0] = '-';
  return negative + put_decimal(to + negative, &d);
}

size_t pml__number_whole(char *to, int64_t v) {
  if (v >= 0) return put_whole(to, (uint64_t)v);
  to[0] = '-';
  return 1 + put_whole(to + 1, -(uint64_t)v);
}
