/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/intercept/pml_intercept_landing.c - landing pads of exceptions.
 *
 * .eh_frame_hdr is a sorted table of functions, each with its record in .eh_frame (FDE), whose language-specific data
 * (LSDA) lists calls and landing pads. Formats: Linux Standard Base 5.0, Core, 10.6; Itanium C++ ABI, exception
 * handling, 7.
 */
#include "adapter/intercept/pml_intercept_landing.h"

#include <string.h>

/* Encodings of an address: the low half of the byte is the size, the high half the base. */
#define ABSOLUTE 0x00
#define ULEB 0x01
#define UDATA4 0x03
#define SDATA4 0x0b
#define PCREL_SDATA4 0x1b
#define PCREL_SDATA8 0x1c
#define OMIT 0xff
#define SORTED 0x3b /* relative to the table, 4 bytes */

struct cursor {
  uintptr_t at, end;
  bool good; /* no read beyond the end */
};

void pml__landings_of(struct pml__landings *l, const struct pml__object *o) {
  l->n = 0;
  l->table = 0;
  for (uint32_t i = 0; i < o->nsegments; i++) {
    size_t n = pml__object_readable(o, &o->segment[i]);
    if (n == 0) continue;
    l->part[l->n].lo = o->segment[i].lo;
    l->part[l->n++].hi = o->segment[i].lo + n;
  }
  for (size_t i = 0; i < o->nphdr; i++)
    if (o->phdr[i].p_type == PT_GNU_EH_FRAME) l->table = o->base + o->phdr[i].p_vaddr;
}

static struct cursor cursor_at(const struct pml__landings *l, uintptr_t at) {
  for (size_t i = 0; i < l->n; i++)
    if (at - l->part[i].lo < l->part[i].hi - l->part[i].lo) return (struct cursor){at, l->part[i].hi, true};
  return (struct cursor){0, 0, false};
}

/* ---- numbers ---- */

static uint64_t read_bytes(struct cursor *c, size_t n) {
  uint64_t value = 0;
  if (c->end - c->at < n) {
    c->good = false;
    return 0;
  }
  memcpy(&value, (const void *)c->at, n); /* NOLINT(performance-no-int-to-ptr) */
  c->at += n;
  return value;
}

static uint64_t read_uleb(struct cursor *c) {
  uint64_t value = 0, byte = 0x80;
  for (unsigned shift = 0; shift < 63 && c->good && (byte & 0x80) != 0; shift += 7) {
    byte = read_bytes(c, 1);
    value |= (byte & 0x7f) << shift;
  }
  c->good = c->good && (byte & 0x80) == 0;
  return value;
}

static uintptr_t read_address(struct cursor *c, unsigned how) {
  uintptr_t here = c->at;
  switch (how) {
  case ABSOLUTE:
    return read_bytes(c, 8);
  case UDATA4:
    return read_bytes(c, 4);
  case SDATA4:
  case PCREL_SDATA4: {
    int64_t far = (int32_t)read_bytes(c, 4);
    return far == 0 || how == SDATA4 ? (uintptr_t)far : here + (uintptr_t)far;
  }
  case PCREL_SDATA8: {
    uint64_t far = read_bytes(c, 8);
    return far == 0 ? 0 : here + far;
  }
  default:
    c->good = false;
    return 0;
  }
}

static void skip_address(struct cursor *c, unsigned how) {
  static const size_t size[] = {8, 0, 2, 4, 8, 0, 0, 0, 8, 0, 2, 4, 8, 0, 0, 0};
  size_t n = size[how & 15];
  c->good = c->good && n > 0 && (how & 0x70) != 0x50;
  (void)read_bytes(c, n);
}

/* ---- the function ---- */

/* Find the function's record; 0: the table contains no record for @at. */
static uintptr_t find_record(const struct pml__landings *l, uintptr_t at, bool *good) {
  struct cursor c = cursor_at(l, l->table);
  bool known = read_bytes(&c, 1) == 1 && read_bytes(&c, 1) == PCREL_SDATA4 && read_bytes(&c, 1) == UDATA4 &&
               read_bytes(&c, 1) == SORTED;
  (void)read_bytes(&c, 4);
  uint64_t n = read_bytes(&c, 4), lo = 0, hi = n;
  *good = known && c.good && n <= (c.end - c.at) / 8;
  if (!*good) return 0;
  const char *entry = (const char *)c.at; /* NOLINT(performance-no-int-to-ptr) */
  int32_t far[2];
  while (lo < hi) {
    uint64_t middle = (lo + hi) / 2;
    memcpy(far, entry + middle * 8, sizeof far);
    if (at < l->table + (uintptr_t)(intptr_t)far[0])
      hi = middle;
    else
      lo = middle + 1;
  }
  if (lo == 0) return 0;
  memcpy(far, entry + (lo - 1) * 8, sizeof far);
  return l->table + (uintptr_t)(intptr_t)far[1];
}

/* The common part of a function's records (CIE): the encoding of its addresses. */
struct common {
  unsigned code, data;
  bool sized; /* language-specific data are preceded by their length */
};

static bool read_common(struct cursor *c, struct common *is) {
  char what[8] = "";
  *is = (struct common){ABSOLUTE, OMIT, false};
  (void)read_bytes(c, 4);
  bool known = read_bytes(c, 4) == 0;
  uint64_t version = read_bytes(c, 1);
  for (size_t i = 0; i < sizeof what && c->good; i++)
    if ((what[i] = (char)read_bytes(c, 1)) == '\0') break;
  (void)read_uleb(c);
  (void)read_uleb(c); /* signed, of the same length */
  (void)(version == 1 ? read_bytes(c, 1) : read_uleb(c));
  if (!known || (version != 1 && version != 3) || what[sizeof what - 1] != '\0') return false;
  if (what[0] == '\0') return c->good;
  if (what[0] != 'z') return false;
  is->sized = true;
  (void)read_uleb(c);
  for (const char *w = what + 1; *w != '\0'; w++) {
    if (*w == 'P')
      skip_address(c, (unsigned)read_bytes(c, 1));
    else if (*w == 'L')
      is->data = (unsigned)read_bytes(c, 1);
    else if (*w == 'R')
      is->code = (unsigned)read_bytes(c, 1);
    else if (*w != 'S' && *w != 'B')
      return false;
  }
  return c->good;
}

/* Find begin, end and language-specific data (0: none) of the function at @at. */
static bool find_data(const struct pml__landings *l, uintptr_t at, uintptr_t *begin, uintptr_t *end, uintptr_t *data) {
  bool good;
  uintptr_t record = find_record(l, at, &good);
  *begin = *end = *data = 0;
  if (!good || record == 0) return good;
  struct cursor c = cursor_at(l, record), cie;
  struct common is;
  uint64_t bytes = read_bytes(&c, 4);
  uintptr_t back = c.at;
  cie = cursor_at(l, back - (uintptr_t)read_bytes(&c, 4));
  if (bytes == UINT32_MAX || !c.good || !cie.good || !read_common(&cie, &is) || is.code != PCREL_SDATA4) return false;
  *begin = read_address(&c, is.code);
  uint64_t n = read_bytes(&c, 4);
  if (!c.good) return false;
  if (at - *begin < n) *end = *begin + n;
  if (at - *begin >= n || !is.sized) return true; /* the function has no landing pad */
  (void)read_uleb(&c);
  if (is.data != OMIT) *data = read_address(&c, is.data);
  return c.good;
}

/* ---- its calls ---- */

static uint64_t read_distance(struct cursor *c, unsigned how) {
  return how == ULEB ? read_uleb(c) : read_bytes(c, 4);
}

bool pml__landing(const struct pml__landings *l, uintptr_t after, uintptr_t *to, bool *ends) {
  uintptr_t begin, end, data, at = after - 1;
  *to = 0;
  *ends = false;
  if (l->table == 0) return true;
  if (!find_data(l, at, &begin, &end, &data)) return false;
  *ends = end == after;
  if (data == 0) return true;
  struct cursor c = cursor_at(l, data);
  if (read_bytes(&c, 1) != OMIT) return false; /* landing pads are elsewhere */
  if (read_bytes(&c, 1) != OMIT) (void)read_uleb(&c);
  unsigned how = (unsigned)read_bytes(&c, 1);
  uint64_t n = read_uleb(&c);
  if (!c.good || (how != ULEB && how != UDATA4) || n > c.end - c.at) return false;
  c.end = c.at + n;
  while (c.good && c.at < c.end) {
    uint64_t first = read_distance(&c, how), size = read_distance(&c, how), landing = read_distance(&c, how);
    (void)read_uleb(&c);
    if (!c.good || at - begin - first >= size) continue;
    if (landing != 0) *to = begin + landing;
    return true;
  }
  return c.good;
}
