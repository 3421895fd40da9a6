/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_lz.c - LZ77 compression of byte strings. */
#include "base/pml_lz.h"

#include <stdlib.h>
#include <string.h>

#define HASH_BITS 12
#define TRIES 16u
#define COPY_MIN 4u
#define STEP_MIN 3u /* bytes of a step with a copy */

/* ---- to steps ---- */

/* Lists of positions whose next four bytes have the same hash, each linked to the previous position; 0: end. */
struct places {
  const unsigned char *bytes;
  size_t n;
  uint32_t last[1u << HASH_BITS], *before; /* a place is its index + 1 */
};

struct copy {
  size_t n, back;
};

static uint32_t hash_at(const struct places *p, size_t i) {
  uint32_t four;
  memcpy(&four, p->bytes + i, sizeof four);
  return four * 2654435761u >> (32 - HASH_BITS);
}

static void note(struct places *p, size_t i) {
  if (p->n - i < COPY_MIN) return;
  uint32_t *last = &p->last[hash_at(p, i)];
  p->before[i] = *last;
  *last = (uint32_t)i + 1;
}

static size_t alike(const struct places *p, size_t a, size_t b) {
  size_t most = p->n - b < PML__LZ_COPY_MAX ? p->n - b : PML__LZ_COPY_MAX, k = 0;
  while (k < most && p->bytes[a + k] == p->bytes[b + k]) k++;
  return k;
}

static struct copy longest(const struct places *p, size_t i) {
  struct copy best = {0, 0};
  if (p->n - i < COPY_MIN) return best;
  uint32_t at = p->last[hash_at(p, i)];
  for (unsigned tries = 0; at > 0 && tries < TRIES; tries++, at = p->before[at - 1]) {
    size_t k = alike(p, at - 1, i);
    if (k > best.n) best = (struct copy){k, i - (at - 1)};
  }
  return best.n >= COPY_MIN ? best : (struct copy){0, 0};
}

static void put_step(struct pml__pack *to, const unsigned char *bytes, size_t n, struct copy copy) {
  pml__pack_whole(to, n);
  pml__pack_bytes(to, bytes, n);
  pml__pack_whole(to, copy.n);
  if (copy.n > 0) pml__pack_whole(to, copy.back);
}

static void put_steps(struct pml__pack *to, struct places *p) {
  size_t done = 0;
  for (size_t i = 0; i < p->n;) {
    struct copy copy = longest(p, i);
    if (copy.n > 0) put_step(to, p->bytes + done, i - done, copy);
    size_t end = i + (copy.n > 0 ? copy.n : 1);
    while (i < end) note(p, i++);
    if (copy.n > 0) done = end;
  }
  if (done < p->n) put_step(to, p->bytes + done, p->n - done, (struct copy){0, 0});
}

void pml__lz_pack(struct pml__pack *to, const unsigned char *bytes, size_t n) {
  struct places *p = n > 0 && n < UINT32_MAX ? calloc(1, sizeof *p) : NULL;
  uint32_t *before = p != NULL ? malloc(n * sizeof *before) : NULL;
  if (before != NULL) {
    p->bytes = bytes;
    p->n = n;
    p->before = before;
    put_steps(to, p);
  } else if (n > 0) {
    put_step(to, bytes, n, (struct copy){0, 0});
  }
  free(before);
  free(p);
}

/* ---- and back ---- */

static size_t take_step(struct pml__unpack *u, unsigned char *to, size_t at, size_t n) {
  size_t plain = (size_t)pml__unpack_whole(u, n - at);
  pml__unpack_bytes(u, to + at, plain);
  if (u->failed) return at;
  at += plain;
  size_t copy = (size_t)pml__unpack_whole(u, n - at < PML__LZ_COPY_MAX ? n - at : PML__LZ_COPY_MAX);
  size_t back = copy > 0 ? (size_t)pml__unpack_whole(u, at) : 0;
  if (copy > 0 && back == 0) u->failed = true;
  if (plain + copy == 0) u->failed = true;
  for (size_t end = u->failed ? at : at + copy; at < end; at++) to[at] = to[at - back];
  return at;
}

unsigned char *pml__lz_unpack(struct pml__unpack *u, size_t n) {
  if (n / (PML__LZ_COPY_MAX + 1) > u->left / STEP_MIN) u->failed = true;
  unsigned char *bytes = u->failed ? NULL : malloc(n + 1);
  if (bytes == NULL) return NULL;
  size_t at = 0;
  while (at < n && !u->failed) at = take_step(u, bytes, at, n);
  if (u->left > 0) u->failed = true;
  if (!u->failed) return bytes;
  free(bytes);
  return NULL;
}
