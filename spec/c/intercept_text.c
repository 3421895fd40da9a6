/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/intercept_text.c - code is read whole, in pieces, and every use of a slot is found in it. */
#include "adapter/arch/pml_arch.h"
#include "adapter/intercept/pml_intercept_object.h"
#include "check.h"

#include <dlfcn.h>

struct reading {
  const struct pml__object *o;
  size_t shared, pieces, bytes;
  uintptr_t end;
  bool right; /* equal to memory, each piece directly after the previous one */
};

static void see(void *arg, const uint8_t *text, size_t n, uintptr_t at) {
  struct reading *r = arg;
  bool begins = false;
  for (uint32_t i = 0; i < r->o->nsegments; i++) begins |= r->o->segment[i].lo == at;
  r->right &= begins || at == r->end - r->shared;
  r->right &= memcmp(text, (const void *)at, n) == 0; /* NOLINT(performance-no-int-to-ptr) */
  r->pieces++;
  r->bytes += n - (begins ? 0 : r->shared);
  r->end = at + n;
}

static void pieces(void) {
  struct pml__object o = {0};
  bool found = pml__object_at(&o, (uintptr_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
  size_t code = 0;
  for (uint32_t i = 0; i < o.nsegments; i++)
    if ((o.segment[i].flags & PF_X) != 0) code += o.segment[i].hi - o.segment[i].lo;
  for (size_t shared = 0; shared <= 5; shared += 5) {
    struct reading r = {.o = &o, .shared = shared, .right = true};
    if (found) pml__object_read_text(&o, shared, see, &r);
    CHECK(r.right && code > 0 && r.bytes == code, "the C library's code is read in %zu pieces that share %zu bytes",
          r.pieces, shared);
  }
  free(o.path);
}

#define CODE 30000u

struct use {
  uintptr_t slot, operand;
  bool call;
};
static struct use found[CODE], expected[CODE];
static size_t nfound, nexpected;

static void note(void *arg, uintptr_t slot, uintptr_t operand, bool call) {
  (void)arg;
  if (nfound < CODE) found[nfound++] = (struct use){slot, operand, call};
}

static void look_by_bytes(const uint8_t *text, size_t n, uintptr_t at, uintptr_t lo, uintptr_t hi) {
  nexpected = 0;
  for (size_t i = 1; i + 5 <= n; i++) {
    int32_t distance;
    memcpy(&distance, text + i + 1, sizeof distance);
    uintptr_t slot = at + i + 5 + (uintptr_t)(intptr_t)distance;
    if ((text[i] & 0xc7) != 5 || slot - lo >= hi - lo) continue;
    expected[nexpected++] = (struct use){slot, at + i, text[i - 1] == 0xff && (text[i] == 0x15 || text[i] == 0x25)};
  }
}

static bool as_expected(void) {
  bool same = nfound == nexpected;
  for (size_t i = 0; i < nfound && same; i++)
    same = found[i].slot == expected[i].slot && found[i].operand == expected[i].operand &&
           found[i].call == expected[i].call;
  return same;
}

static uint64_t next(void) {
  static uint64_t x = 88172645463325252u;
  x ^= x << 13, x ^= x >> 7, x ^= x << 17;
  return x;
}

/* Bytes at random, and uses of slots in [@lo, @hi) and beside it; most bytes would be none. */
static void make(uint8_t *text, size_t n, uintptr_t at, uintptr_t lo, uintptr_t hi) {
  static const uint8_t operand[] = {0x05, 0x0d, 0x15, 0x1d, 0x25, 0x2d, 0x35, 0x3d, 0x15, 0x25};
  for (size_t i = 0; i < n; i++) text[i] = (uint8_t)next();
  for (size_t i = next() % 40; i + 6 <= n; i += 6 + next() % 60) {
    uintptr_t slot = lo - 16 + next() % (hi - lo + 32);
    int32_t distance = (int32_t)(slot - (at + i + 6));
    text[i] = next() % 2 == 0 ? 0xff : 0x8b;
    text[i + 1] = operand[next() % sizeof operand];
    memcpy(text + i + 2, &distance, sizeof distance);
  }
}

/* In pieces of @piece bytes; 0: whole. */
static bool scans(size_t n, intptr_t away, size_t range, size_t piece) {
  uint8_t *text = malloc(n); /* a separate block, so that a sanitizer detects reads behind it */
  uintptr_t at = UINT64_C(0x7f0012340000) + next() % 65536, lo = at + (uintptr_t)away, hi = lo + range;
  bool seen = text != NULL;
  if (seen) make(text, n, at, lo, hi);
  if (seen) look_by_bytes(text, n, at, lo, hi);
  nfound = 0;
  for (size_t i = 0; seen && i < n; i += piece - PML_ARCH_SCAN_SHARED) {
    if (piece == 0) piece = n + PML_ARCH_SCAN_SHARED;
    size_t some = n - i < piece ? n - i : piece;
    uint8_t *part = malloc(some);
    seen = part != NULL;
    if (seen) memcpy(part, text + i, some);
    seen = seen && pml_arch_scan(part, some, at + i, lo, hi, note, NULL);
    free(part);
  }
  free(text);
  return seen && as_expected();
}

static bool scans_all(size_t n, size_t piece) {
  static const intptr_t away[] = {8, 4096, 65536, 1 << 20, 16 << 20, 0x7fff0000 - (4 << 20), -8, -40000, -(20 << 20)};
  static const size_t range[] = {8, 600, 65536, 300000, 3 << 20};
  for (size_t i = 0; i < sizeof away / sizeof away[0]; i++)
    for (size_t j = 0; j < sizeof range / sizeof range[0]; j++)
      if (!scans(n, away[i], range[j], piece)) return false;
  return true;
}

static bool scans_short(void) {
  for (size_t n = 0; n < 90; n++)
    for (size_t i = 0; i < 8; i++)
      if (!scans(n, 64, 256, 0)) return false;
  return true;
}

int main(void) {
  pieces();
  if (!pml_arch_scan(NULL, 0, 0, 0, 0, note, NULL)) {
    SKIP("code of this CPU does not show what it does with slots of addresses");
    return check_done();
  }
  CHECK(scans_short(), "uses of slots are found in code of any length");
  CHECK(scans_all(CODE, 0), "and near and far, of few slots and many");
  CHECK(scans_all(CODE, 4099), "also in pieces");
  CHECK(scans_all(CODE / 10, 23), "and in small ones");
  CHECK(nexpected > 10, "there were some");
  return check_done();
}
