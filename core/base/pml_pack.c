/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_pack.c - serialization of numbers and strings. */
#include "base/pml_pack.h"

#include "base/pml_array.h"

#include <math.h>
#include <string.h>

static void put(struct pml__pack *p, const void *bytes, size_t n) {
  p->failed = p->failed || !PML__ARRAY_ROOM(p->at, p->capacity, p->n + n);
  if (p->failed) return;
  memcpy(p->at + p->n, bytes, n);
  p->n += n;
}

void pml__pack_whole(struct pml__pack *p, uint64_t v) {
  unsigned char byte[10];
  size_t n = 0;
  for (; v >= 0x80; v >>= 7) byte[n++] = (unsigned char)(v | 0x80);
  byte[n++] = (unsigned char)v;
  put(p, byte, n);
}

void pml__pack_signed(struct pml__pack *p, int64_t v) {
  uint64_t sign = v < 0 ? UINT64_MAX : 0;
  pml__pack_whole(p, (uint64_t)v << 1 ^ sign);
}

void pml__pack_real(struct pml__pack *p, double v) {
  unsigned char byte[8];
  uint64_t bits;
  memcpy(&bits, &v, sizeof bits);
  for (unsigned i = 0; i < 8; i++) byte[i] = (unsigned char)(bits >> 8 * i);
  put(p, byte, sizeof byte);
}

/* The size of a real is m 2^e with m in [1, 2). */
#define REAL_BITS 27 /* of m, behind its point */
#define REAL_FROM (-1074)
#define REAL_TO 1024 /* infinity */

double pml__pack_rounded(double v) {
  int e;
  if (v != v) return INFINITY;
  if (v == nearbyint(v) && fabs(v) < 0x1p53) return v + 0.0; /* no negative zero */
  double m = frexp(v, &e);
  return isinf(v) ? v : ldexp(nearbyint(ldexp(m, REAL_BITS + 1)), e - REAL_BITS - 1);
}

void pml__pack_short_real(struct pml__pack *p, double v) {
  int e = REAL_TO + 1;
  double m = 0.5, r = pml__pack_rounded(v);
  if (r == nearbyint(r) && fabs(r) < 0x1p53) {
    int64_t whole = (int64_t)r;
    pml__pack_whole(p, ((uint64_t)whole << 1 ^ (whole < 0 ? UINT64_MAX : 0)) << 1);
    return;
  }
  if (!isinf(r)) m = frexp(fabs(r), &e);
  uint64_t fraction = (uint64_t)ldexp(2 * m - 1, REAL_BITS), size = (uint64_t)(e - 1) << 1;
  if (e - 1 < 0) size = ~size;
  pml__pack_whole(p, (size << REAL_BITS | fraction) << 2 | (uint64_t)(r < 0) << 1 | 1);
}

void pml__pack_bytes(struct pml__pack *p, const void *bytes, size_t n) {
  put(p, bytes, n);
}

void pml__pack_text(struct pml__pack *p, const char *text) {
  put(p, text, strlen(text) + 1);
}

static unsigned take(struct pml__unpack *u) {
  if (u->left == 0) u->failed = true;
  if (u->failed) return 0;
  u->left--;
  return *u->at++;
}

uint64_t pml__unpack_whole(struct pml__unpack *u, uint64_t max) {
  uint64_t v = 0;
  for (unsigned shift = 0; shift < 64; shift += 7) {
    uint64_t byte = take(u);
    v |= (byte & 0x7f) << shift;
    if (byte >= 0x80) continue;
    if (v > max || (shift == 63 && byte > 1)) u->failed = true;
    return u->failed ? 0 : v;
  }
  u->failed = true;
  return 0;
}

int64_t pml__unpack_signed(struct pml__unpack *u) {
  uint64_t v = pml__unpack_whole(u, UINT64_MAX);
  return (int64_t)(v >> 1 ^ (0 - (v & 1)));
}

double pml__unpack_real(struct pml__unpack *u) {
  uint64_t bits = 0;
  double v;
  for (unsigned i = 0; i < 8; i++) bits |= (uint64_t)take(u) << 8 * i;
  memcpy(&v, &bits, sizeof v);
  if (v != v) u->failed = true;
  return u->failed ? 0 : v;
}

double pml__unpack_short_real(struct pml__unpack *u) {
  uint64_t bits = pml__unpack_whole(u, UINT64_MAX), size = bits >> (REAL_BITS + 2);
  if ((bits & 1) == 0) return (double)((int64_t)(bits >> 2) ^ -(int64_t)(bits >> 1 & 1));
  int64_t e = (int64_t)(size >> 1) ^ -(int64_t)(size & 1);
  if (e < REAL_FROM || e > REAL_TO) u->failed = true;
  if (u->failed) return 0;
  double fraction = ldexp((double)(bits >> 2 & ((UINT64_C(1) << REAL_BITS) - 1)), -REAL_BITS);
  double v = e == REAL_TO ? INFINITY : ldexp(1 + fraction, (int)e);
  return bits & 2 ? -v : v;
}

void pml__unpack_bytes(struct pml__unpack *u, void *to, size_t n) {
  if (n > u->left) u->failed = true;
  if (u->failed || n == 0) return;
  memcpy(to, u->at, n);
  u->at += n;
  u->left -= n;
}

const char *pml__unpack_text(struct pml__unpack *u) {
  const unsigned char *text = u->at, *end = u->failed || u->left == 0 ? NULL : memchr(text, '\0', u->left);
  if (end == NULL) u->failed = true;
  if (end == NULL) return "";
  u->left -= (size_t)(end + 1 - text);
  u->at = end + 1;
  return (const char *)text;
}
