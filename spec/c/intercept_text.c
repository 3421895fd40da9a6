/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/intercept_text.c - the code of a library is read from its file where that is the one that is mapped, else in
 * memory; and every use of a slot is found in it, wherever it lies.
 */
#include "check.h"

#include "adapter/arch/pml_arch.h"
#include "adapter/intercept/pml_intercept_object.h"

#include <dlfcn.h>
#include <sys/stat.h>

/* ---- reading ---- */

struct reading {
  const struct pml__object *o;
  size_t shared, pieces, in_memory, bytes;
  uintptr_t end;
  bool right; /* what memory has, each piece behind the one before */
};

static void see(void *arg, const uint8_t *text, size_t n, uintptr_t at) {
  struct reading *r = arg;
  bool begins = false;
  for (uint32_t i = 0; i < r->o->nsegments; i++) begins |= r->o->segment[i].lo == at;
  r->right &= begins || at == r->end - r->shared;
  r->right &= memcmp(text, (const void *)at, n) == 0; /* NOLINT(performance-no-int-to-ptr) */
  r->pieces++;
  r->in_memory += (uintptr_t)text == at;
  r->bytes += n - (begins ? 0 : r->shared);
  r->end = at + n;
}

static struct reading read_as(const struct pml__object *o, char *path, size_t shared) {
  struct pml__object as = *o;
  struct reading r = {.o = o, .shared = shared, .right = true};
  as.path = path;
  pml__object_read_text(&as, shared, see, &r);
  return r;
}

static size_t code_of(const struct pml__object *o) {
  size_t n = 0;
  for (uint32_t i = 0; i < o->nsegments; i++)
    if ((o->segment[i].flags & PF_X) != 0) n += o->segment[i].hi - o->segment[i].lo;
  return n;
}

/* Where the file has its build id; 0: it has none. */
static uint64_t build_id_of(const struct pml__object *o) {
  for (size_t i = 0; i < o->nphdr; i++) {
    const char *at = (const char *)o->base + o->phdr[i].p_vaddr; /* NOLINT(performance-no-int-to-ptr) */
    Elf64_Nhdr note;
    if (o->phdr[i].p_type != PT_NOTE || o->phdr[i].p_filesz < sizeof note + 4) continue;
    memcpy(&note, at, sizeof note);
    if (note.n_type == NT_GNU_BUILD_ID && memcmp(at + sizeof note, "GNU", 4) == 0)
      return o->phdr[i].p_offset + sizeof note + 4;
  }
  return 0;
}

/* A copy of @path with the byte at @change changed, cut to @bytes; 0: as long as it is. */
static bool copy(const char *path, const char *to, uint64_t change, long bytes) {
  static char block[1 << 16];
  FILE *in = fopen(path, "rbe"), *out = fopen(to, "wbe");
  size_t n;
  bool good = in != NULL && out != NULL;
  while (good && (n = fread(block, 1, sizeof block, in)) > 0) good = fwrite(block, 1, n, out) == n;
  if (good && change != 0) {
    int c = fseek(in, (long)change, SEEK_SET) == 0 ? fgetc(in) : EOF;
    good = c != EOF && fseek(out, (long)change, SEEK_SET) == 0 && fputc(c ^ 1, out) != EOF;
  }
  if (in != NULL) fclose(in);
  if (out != NULL) good &= fclose(out) == 0;
  return good && (bytes == 0 || truncate(to, bytes) == 0);
}

static void other_files(const struct pml__object *o, uint64_t id) {
  char path[4096], none[] = "/dev/null/none", null[] = "/dev/null", self[] = "";
  const char *folder = getenv("TMPDIR");
  snprintf(path, sizeof path, "%s/intercept_text.%d", folder != NULL ? folder : "/tmp", (int)getpid());
  char *const other[] = {none, null, self};
  for (size_t i = 0; i < sizeof other / sizeof other[0]; i++) {
    struct reading r = read_as(o, other[i], 5);
    CHECK(r.right && r.pieces == r.in_memory, "'%s' is not read in its place", other[i]);
  }
  if (CHECK(copy(o->path, path, 0, 0), "the file can be copied")) {
    struct reading r = read_as(o, path, 5);
    CHECK(r.right && r.in_memory == 0 && r.bytes == code_of(o), "a copy of the file does as well");
  }
  if (CHECK(copy(o->path, path, id, 0), "the file can be copied with another build id")) {
    struct reading r = read_as(o, path, 5);
    CHECK(r.right && r.pieces == r.in_memory && r.bytes == code_of(o), "then the code is read in memory");
  }
  const struct pml__segment *code = o->segment;
  while ((code->flags & PF_X) == 0) code++;
  long cut = (long)(code->offset + code->filled / 2);
  if (CHECK(copy(o->path, path, 0, cut), "the file can be cut off")) {
    struct reading r = read_as(o, path, 5);
    CHECK(r.right && r.in_memory == 0 && r.bytes < code_of(o), "of a shorter one no more is read than there is");
  }
  unlink(path);
}

static void files(void) {
  struct pml__object o = {0};
  if (!CHECK(pml__object_at(&o, (uintptr_t)dlsym(RTLD_DEFAULT, "gnu_get_libc_version")), "the C library is found"))
    return;
  uint64_t id = build_id_of(&o);
  struct reading r = read_as(&o, o.path, 5);
  CHECK(r.right && r.bytes == code_of(&o), "all code of a library is read, and is what it is in memory");
  if (id != 0) {
    CHECK(r.in_memory == 0 && r.pieces > 2, "it is read from the file, in pieces");
    r = read_as(&o, o.path, 0);
    CHECK(r.right && r.in_memory == 0 && r.bytes == code_of(&o), "pieces need not share anything");
    other_files(&o, id);
  } else {
    SKIP("the C library has no build id, so its file is never read");
  }
  free(o.path);
}

/* ---- scanning ---- */

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
  uint8_t *text = malloc(n); /* so that a sanitizer sees what is read behind it */
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
  files();
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
