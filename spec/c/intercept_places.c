/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/intercept_places.c - segments, slots and read-only parts that end where a library's tables say, and one past
 * it: nothing beyond is read, filled or made writable.
 */
#include "adapter/arch/pml_arch.h"
#include "check.h"
#include "intercept/edge.h"

#include <elf.h>

static bool impossible(void) {
  const uint64_t sizes[] = {0, UINT64_MAX, 0 - (uintptr_t)edge_pages, 0 - (uintptr_t)edge_pages + 1};
  const struct pml__object was = *looked_at(), *o;
  Elf64_Phdr *p = add_segment(edge_end, PF_R | PF_W | PF_X);
  for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
    p->p_memsz = sizes[i];
    o = looked_at();
    WANT(o->nsegments == was.nsegments && o->lo == was.lo && o->hi == was.hi && goes_on(1));
  }
  return true;
}

static bool shorter_file(void) {
  static const uint64_t is[][3] = {{0, 1000, 5000},      {0, 1001, 1000}, {999, 1, 5000}, {999, 2, 1},
                                   {1000, 0, 5000},      {1000, 1, 0},    {1001, 1, 0},   {UINT64_MAX, 1, 0},
                                   {0, UINT64_MAX, 1000}}; /* offset, filled, readable */
  for (size_t i = 0; i < sizeof is / sizeof is[0]; i++) {
    const struct pml__segment s = {.lo = 0, .hi = 5000, .offset = is[i][0], .filled = is[i][1], .flags = PF_R};
    WANT(pml__segment_readable(&s, 1000) == is[i][2]);
  }
  return true;
}

static bool relro_is(uintptr_t lo, uintptr_t hi, uintptr_t expected_lo, uintptr_t expected_hi) {
  Elf64_Phdr *p = header(PT_GNU_RELRO);
  p->p_vaddr = lo - edge.base;
  p->p_memsz = hi - lo;
  const struct pml__object *o = looked_at();
  WANT(o->relro_lo == expected_lo && o->relro_hi == expected_hi);
  return true;
}

static bool relro(void) {
  uintptr_t mask = ~(uintptr_t)(edge_page - 1), lo = edge.base, pages = (uintptr_t)edge_pages, hi = (uintptr_t)edge_end;
  add_segment(edge_end, PF_R);
  WANT(relro_is(lo, hi, lo, hi));
  WANT(relro_is(lo + 1, hi + edge_page - 1, lo, hi));
  WANT(relro_is(lo, hi + edge_page, 0, 0));
  WANT(relro_is(lo - 1, hi, 0, 0));
  WANT(relro_is(pages, pages, 0, 0));
  WANT(relro_is(pages, 0, 0, 0));
  WANT(relro_is(pages, pages - 1, 0, 0));
  add_segment(edge_end - 8, PF_R);
  WANT(relro_is(pages, hi - 8, pages, (hi - 8) & mask));
  WANT(relro_is(pages, hi, 0, 0));
  return true;
}

static uintptr_t function(void) {
  static uintptr_t found;
  if (found == 0) found = (uintptr_t)dlsym(RTLD_DEFAULT, "lib_tail");
  return found;
}

/* @n relocations of @type, of slots at @at that hold the function, instead of those of @tag. */
static void relocate(int64_t tag, int64_t size, uint32_t type, size_t symbol, unsigned char *const *at, size_t n) {
  static Elf64_Rela r[64];
  for (size_t i = 0; i < n; i++)
    r[i] = (Elf64_Rela){(uintptr_t)at[i] - edge.base, ELF64_R_INFO((uint64_t)symbol, (uint64_t)type), 0};
  entry(size)->d_un.d_val = n * sizeof r[0];
  set(tag, to_the_end(r, n * sizeof r[0]));
}
static void put(unsigned char *const *at, size_t n, uintptr_t value) {
  for (size_t i = 0; i < n; i++) memcpy(at[i], &value, sizeof value);
}
static bool holds(const unsigned char *at, uintptr_t value) {
  return memcmp(at, &value, sizeof value) == 0;
}

static bool read_only(unsigned char *at) {
  int two[2];
  bool refused = pipe(two) == 0 && write(two[1], "x", 1) == 1 && read(two[0], at, 1) < 0;
  close(two[0]);
  close(two[1]);
  return refused;
}

/* The first page is read-only; the relocations, of slots at @at, are at its end. The first @good slots are to be
 * filled, the others not; the last one is unmapped. @value: the content of the slots. */
struct slots {
  unsigned char *const *at;
  size_t good, n, symbol;
  uint32_t type;
  uintptr_t value;
};

static bool filled(struct slots s, const char *sym) {
  const struct pml_intercept_options o = {.sym = sym};
  relocate(DT_JMPREL, DT_PLTRELSZ, s.type, s.symbol, s.at, s.n);
  WANT(mprotect(edge_pages, edge_page, PROT_READ | PROT_WRITE) == 0);
  put(s.at, s.n - 1, s.value);
  WANT(mprotect(edge_pages, edge_page, PROT_READ) == 0);
  WANT(pml_intercept_install(&o) == 0);
  for (size_t i = 0; i + 1 < s.n; i++) WANT(holds(s.at[i], s.value) == (i >= s.good));
  WANT(read_only(edge_pages));
  pml_intercept_remove();
  for (size_t i = 0; i + 1 < s.n; i++) WANT(holds(s.at[i], s.value));
  WANT(read_only(edge_pages));
  return true;
}

static Elf64_Phdr *divide(const unsigned char *end) {
  Elf64_Phdr *relro_header = header(PT_GNU_RELRO), *more = header(PT_GNU_EH_FRAME);
  relro_header->p_vaddr = (uintptr_t)edge_pages - edge.base;
  relro_header->p_memsz = edge_page;
  *more = (Elf64_Phdr){.p_type = PT_LOAD,
                       .p_flags = PF_R,
                       .p_vaddr = (uintptr_t)end + 64 - edge.base,
                       .p_memsz = (uint64_t)(edge_end - end - 64)};
  return add_segment(end, PF_R | PF_W);
}

static bool slots(void) {
  unsigned char *const end = edge_end - 2 * edge_page + 128;
  unsigned char *const at[] = {
      edge_pages, edge_pages + edge_page - 8, edge_pages + edge_page, end - 16, end - 8, end, edge_pages + 20,
      edge_end};
  struct slots all = {at, 5, 8, symbol_named("lib_tail"), pml__arch_jump_slot, function()}, some = all;
  Elf64_Phdr *segment = divide(end);
  WANT(filled(all, "lib_tail"));
  some.n = 2;
  some.good = 1;
  for (size_t i = 0; i < 5; i++) { /* each by itself: read-only pages are opened for it */
    unsigned char *const one[] = {at[i], edge_end};
    some.at = one;
    WANT(filled(some, "lib_tail"));
  }
  all.good = 4;
  for (unsigned less = 1; less <= 8; less++) { /* the last one is cut */
    segment->p_memsz--;
    WANT(filled(all, "lib_tail"));
  }
  all.good = 0;
  segment->p_flags = PF_R;
  WANT(filled(all, "lib_tail"));
  return true;
}

static bool other_slots(void) {
  unsigned char *const end = edge_end - 2 * edge_page + 128, *const at[] = {end - 8, end - 16, edge_end};
  const struct slots good = {at, 2, 3, symbol_named("lib_tail"), pml__arch_jump_slot, function()};
  struct slots bad = good;
  Dl_info info;
  struct link_map *of = NULL;
  divide(end);
  WANT(filled(good, "lib_tail") && filled(good, "*"));
  bad.good = 0;
  bad.symbol = 0; /* which has no name */
  WANT(filled(bad, "*"));
  bad.symbol = looked_at()->nsym;
  WANT(filled(bad, "*"));
  bad = good;
  bad.good = 0;
  bad.type = pml__arch_glob_dat;
  WANT(filled(bad, "*"));
  bad.type = good.type;
  WANT(dladdr1((void *)good.value, &info, (void **)&of, RTLD_DL_LINKMAP) != 0); /* NOLINT(performance-no-int-to-ptr) */
  bad.value = (uintptr_t)of->l_ld;                                              /* data of the function's library */
  WANT(filled(bad, "*"));
  bad.value = 0;
  WANT(filled(bad, "*"));
  return true;
}

static bool slots_of_addresses(void) {
  const struct pml_intercept_options o = {.sym = "lib_tail"};
  struct pml_intercept_stats before, s;
  unsigned char *at[20];
  size_t n = sizeof at / sizeof at[0];
  for (size_t i = 0; i < n; i++) at[i] = edge_pages + edge_page + 8 * (n - i);
  put(at, n, function());
  WANT(pml_intercept_install(&o) == 0);
  pml_intercept_stats(&before);
  pml_intercept_remove();
  add_segment(edge_end, PF_R | PF_W);
  relocate(DT_RELA, DT_RELASZ, pml__arch_glob_dat, symbol_named("lib_tail"), at, n);
  WANT(pml_intercept_install(&o) == 0);
  pml_intercept_stats(&s);
  for (size_t i = 0; i < n; i++) WANT(holds(at[i], function()));
  pml_intercept_remove();
  WANT(s.shared == before.shared + n);
  return true;
}

/* The library followed by @more segments of a page each, in a separate file. */
static bool with_segments(const char *file, unsigned more) {
  static unsigned char bytes[1 << 20];
  int fd = open(edge_path, O_RDONLY | O_CLOEXEC);
  ssize_t n = fd >= 0 ? read(fd, bytes, sizeof bytes / 2) : -1;
  if (fd >= 0) close(fd);
  if (n <= 0) return false;
  Elf64_Ehdr *e = (void *)bytes;
  size_t at = ((size_t)n + 65535) & ~(size_t)65535, size = at + 65536;
  Elf64_Phdr *p = memcpy(bytes + at, bytes + e->e_phoff, e->e_phnum * sizeof *p), *last = p;
  for (unsigned i = 0; i < e->e_phnum; i++)
    if (p[i].p_type == PT_LOAD) last = &p[i];
  uint64_t behind = (last->p_vaddr + last->p_memsz + 65535) & ~UINT64_C(65535);
  for (unsigned i = 0; i < more; i++)
    p[e->e_phnum + i] = (Elf64_Phdr){.p_type = PT_LOAD,
                                     .p_flags = PF_R,
                                     .p_offset = at,
                                     .p_align = 65536,
                                     .p_vaddr = behind + i * UINT64_C(131072),
                                     .p_filesz = 4096,
                                     .p_memsz = 4096};
  e->e_phnum = (uint16_t)(e->e_phnum + more);
  e->e_phoff = at;
  fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  bool good = fd >= 0 && write(fd, bytes, size) == (ssize_t)size;
  if (fd >= 0) close(fd);
  return good;
}

static bool opened(const char *file) {
  void *handle = dlopen(file, RTLD_LAZY);
  const struct link_map *map = handle;
  WANT(handle != NULL);
  edge.base = map->l_addr;
  *(void **)&edge.calls = dlsym(handle, "leaf_calls");
  WANT(goes_on(1));
  return dlclose(handle) == 0 && unlink(file) == 0;
}

static bool many_segments(void) {
  char folder[] = "/tmp/pmlua-segments-XXXXXX", file[64];
  uint32_t has = looked_at()->nsegments;
  WANT(mkdtemp(folder) != NULL);
  for (unsigned n = PML__SEGMENTS - 1; n <= PML__SEGMENTS + 24; n += n <= PML__SEGMENTS ? 1 : 24) {
    snprintf(file, sizeof file, "%s/%u.so", folder, n);
    WANT(with_segments(file, n - has) && opened(file));
  }
  return rmdir(folder) == 0;
}

int main(int argc, char **argv) {
  (void)argc;
  if (!CHECK(edge_load(argv[0]), "a library is loaded") || !edge_is_below()) return check_done();
  CHECK(in_child(impossible), "a segment without an end is ignored");
  CHECK(in_child(shorter_file), "of a segment that the file does not fill, the existing part is read");
  CHECK(in_child(relro), "memory is read-only if it consists of whole pages of the library alone");
  CHECK(in_child(slots), "slots are filled that are whole in what may be written, read-only pages stay so");
  CHECK(in_child(other_slots), "and that are of a function with a name, and lead to one");
  CHECK(in_child(slots_of_addresses), "of slots of addresses none is forgotten, and none filled where nothing calls");
  CHECK(in_child(many_segments), "only the first segments of a library with too many are considered");
  return check_done();
}
