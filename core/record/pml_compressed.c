/* SPDX-License-Identifier: BSD-3-Clause */
/* core/record/pml_compressed.c - a compressed series of times and values. */
#include "record/pml_compressed.h"

/* ---- bits ---- */

/* The lowest @n bits of @v. Bits behind them in the last byte become 0. */
static void put(struct pml__compressed *c, uint64_t v, unsigned n) {
  while (n > 0) {
    unsigned used = c->bits % 8, room = 8 - used, now = n < room ? n : room;
    unsigned char *byte = &c->at[c->bits / 8];
    unsigned piece = (unsigned)(v >> (n - now)) & (0xffu >> ((8 - now) & 7));
    unsigned before = used > 0 ? *byte & (0xff00u >> used) : 0;
    *byte = (unsigned char)(before | piece << (room - now));
    c->bits += now;
    n -= now;
  }
}

static bool get(struct pml__compressed *c, uint64_t *v, unsigned n) {
  *v = 0;
  if (c->end - c->bits < n) return false;
  while (n > 0) {
    unsigned room = 8 - c->bits % 8, now = n < room ? n : room;
    unsigned piece = (unsigned)c->at[c->bits / 8] >> (room - now) & (0xffu >> ((8 - now) & 7));
    *v = *v << (now & 15) | piece;
    c->bits += now;
    n -= now;
  }
  return true;
}

/* How many ones there are before a zero, at most @most. */
static bool get_ones(struct pml__compressed *c, unsigned most, unsigned *ones) {
  uint64_t bit = 1;
  for (*ones = 0; *ones < most; (*ones)++) {
    if (!get(c, &bit, 1)) return false;
    if (bit == 0) return true;
  }
  return true;
}

/* ---- times ---- */

/* The sizes of differences of differences, by the number of ones before them. */
#define CLASSES 5u
static const unsigned char class_bits[CLASSES] = {0, 7, 9, 12, 64};

static bool fits(int64_t v, unsigned bits) {
  if (bits == 0) return v == 0;
  int64_t half = (int64_t)1 << (bits - 1);
  return v >= -half && v < half;
}

/* All arithmetic is modulo 2^64: a time that goes back, or over the end of its range, comes out as it went in. */
static void put_time(struct pml__compressed *c, uint64_t time) {
  uint64_t difference = time - c->time, change = difference - c->difference;
  unsigned k = 0;
  while (k + 1 < CLASSES && !fits((int64_t)change, class_bits[k])) k++;
  if (k + 1 < CLASSES)
    put(c, (UINT64_C(1) << (k + 1)) - 2, k + 1);
  else
    put(c, 15, 4);
  put(c, change, class_bits[k]);
  c->difference = difference;
  c->time = time;
}

static bool get_time(struct pml__compressed *c) {
  unsigned k;
  uint64_t change;
  if (!get_ones(c, CLASSES - 1, &k) || !get(c, &change, class_bits[k])) return false;
  unsigned n = class_bits[k];
  if (n > 0 && n < 64 && (change >> (n - 1) & 1) != 0) change |= ~UINT64_C(0) << n;
  c->difference += change;
  c->time += c->difference;
  return true;
}

/* ---- values ---- */

#define NEW_BOUNDS_BITS 12u

static void put_value(struct pml__compressed *c, uint64_t value) {
  uint64_t change = value ^ c->value;
  c->value = value;
  if (change == 0) {
    put(c, 0, 1);
    return;
  }
  unsigned leading = (unsigned)__builtin_clzll(change), trailing = (unsigned)__builtin_ctzll(change);
  unsigned used = 64 - leading - trailing;
  bool inside = c->used > 0 && leading >= c->leading && trailing >= 64u - c->leading - c->used;
  if (inside && c->used <= NEW_BOUNDS_BITS + used) {
    put(c, 2, 2);
    put(c, change >> (64 - c->leading - c->used), c->used);
    return;
  }
  c->leading = (uint8_t)leading;
  c->used = (uint8_t)used;
  put(c, 3, 2);
  put(c, leading, 6);
  put(c, used - 1, 6);
  put(c, change >> trailing, used);
}

static bool get_value(struct pml__compressed *c) {
  unsigned ones;
  uint64_t leading, used, change;
  if (!get_ones(c, 2, &ones)) return false;
  if (ones == 2) {
    if (!get(c, &leading, 6) || !get(c, &used, 6) || leading + used + 1 > 64) return false;
    c->leading = (uint8_t)leading;
    c->used = (uint8_t)(used + 1);
  }
  if (ones == 0) return true;
  if (c->used == 0 || !get(c, &change, c->used)) return false;
  c->value ^= change << (64 - c->leading - c->used);
  return true;
}

/* ---- samples ---- */

bool pml__compressed_add(struct pml__compressed *c, int64_t time, uint64_t value) {
  if (c->end - c->bits < PML__COMPRESSED_LONGEST) return false;
  if (c->n++ == 0) {
    put(c, (uint64_t)time, 64);
    put(c, value, 64);
    c->time = (uint64_t)time;
    c->value = value;
    return true;
  }
  put_time(c, (uint64_t)time);
  put_value(c, value);
  return true;
}

bool pml__compressed_next(struct pml__compressed *c, int64_t *time, uint64_t *value) {
  if (c->n == 0 ? !get(c, &c->time, 64) || !get(c, &c->value, 64) : !get_time(c) || !get_value(c)) return false;
  c->n++;
  *time = (int64_t)c->time;
  *value = c->value;
  return true;
}
