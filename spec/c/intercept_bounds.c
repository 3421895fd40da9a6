/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/intercept_bounds.c - tables of a loaded library that end at the end of mapped memory, or are damaged there:
 * interception reads only the existing part. */
#include "check.h"
#include "intercept/edge.h"

static size_t make_old_hashes(uint32_t *word), make_needed_versions(uint32_t *word);

/* @size: the tag of its size, or 0; @element: bytes of one; @make: for what is damaged, if the linker writes none. */
static const struct table {
  int64_t tag, size;
  size_t element, (*make)(uint32_t *word);
} tables[] = {{DT_STRTAB, DT_STRSZ, 1, NULL},
              {DT_SYMTAB, 0, sizeof(Elf64_Sym), NULL},
              {DT_JMPREL, DT_PLTRELSZ, sizeof(Elf64_Rela), NULL},
              {DT_RELA, DT_RELASZ, sizeof(Elf64_Rela), NULL},
              {DT_VERSYM, 0, sizeof(uint16_t), NULL},
              {DT_VERNEED, 0, sizeof(uint32_t), make_needed_versions},
              {DT_GNU_HASH, 0, sizeof(uint32_t), NULL},
              {DT_HASH, 0, sizeof(uint32_t), make_old_hashes}};
#define TABLES (sizeof tables / sizeof tables[0])
static const struct table *chosen; /* the table under test */

static size_t bytes_of(const struct table *t) {
  uintptr_t at = (uintptr_t)table_of(t->tag), next = at + 1024;
  if (t->size != 0) return entry(t->size)->d_un.d_val;
  for (size_t i = 0; i < TABLES; i++) {
    uintptr_t other = (uintptr_t)table_of(tables[i].tag);
    if (entry(tables[i].tag)->d_tag != DT_NULL && other > at && other < next) next = other;
  }
  return (next - at) / t->element * t->element;
}

static size_t needed_of(const struct table *t) {
  size_t symbol = symbol_named("lib_tail"), n = 0;
  const Elf64_Sym *sym = looked_at()->sym;
  if (t->tag == DT_STRTAB) return sym[symbol].st_name + sizeof "lib_tail";
  if (t->tag == DT_SYMTAB || t->tag == DT_VERSYM) return (symbol + 1) * t->element;
  if (t->tag != DT_JMPREL) return 0;
  for (const Elf64_Rela *r = table_of(t->tag); ELF64_R_SYM(r[n].r_info) != symbol;) n++;
  return (n + 1) * t->element;
}

static uint64_t state = 42;
static uint64_t some(uint64_t below) {
  state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
  return (state >> 33) % below;
}

/* The table's first bytes at the end of memory, with any size in its entry: the call is recorded if the needed bytes
 * exist. */
static bool is_cut(void) {
  static char whole[1 << 16];
  size_t bytes = bytes_of(chosen), needed = needed_of(chosen), aligned = chosen->element < 8 ? chosen->element : 8;
  bool dispensable = needed == 0 || chosen->tag == DT_VERSYM; /* the call is seen without the table */
  const uint64_t said[] = {bytes, bytes + 1, bytes + edge_page, UINT64_MAX};
  WANT(bytes < sizeof whole && bytes >= needed);
  memcpy(whole, table_of(chosen->tag), bytes);
  add_segment(edge_end, PF_R);
  for (size_t n = bytes; n > 0; n -= n > needed + 30 || n + 30 < needed ? 1 + some(n < 20 ? n : 20) : 1) {
    set(chosen->tag, to_the_end(whole, n));
    if (chosen->size != 0) entry(chosen->size)->d_un.d_val = said[some(4)];
    WANT(goes_on(n % aligned != 0 ? dispensable : n / chosen->element * chosen->element >= needed));
  }
  if (chosen->size != 0) { /* no byte behind its size is read */
    set(chosen->tag, to_the_end(whole, bytes));
    entry(chosen->size)->d_un.d_val = needed;
    WANT(goes_on(1));
    entry(chosen->size)->d_un.d_val = needed > 0 ? needed - 1 : 0;
    WANT(goes_on(needed == 0));
  }
  set(chosen->tag, edge_end);
  WANT(goes_on(dispensable));
  return true;
}

static void damage(uint32_t *word, size_t n, size_t hot) {
  static const uint32_t odd[] = {0, 1, 2, 3, 7, 64, 0x7fffffff, UINT32_C(1) << 31, UINT32_MAX};
  size_t at = some(2) == 0 && hot >= 8 && hot <= n ? hot - 1 - some(8) : some(n);
  word[at] = some(2) == 0 ? odd[some(sizeof odd / sizeof odd[0])] : (uint32_t)some(n);
}

/* The older hashes, which few linkers write, instead of the newer ones; how many words. */
static size_t make_old_hashes(uint32_t *word) {
  size_t n = (bytes_of(&tables[1])) / sizeof(Elf64_Sym), at = symbol_named("leaf_calls");
  memcpy(word, (const uint32_t[]){1, (uint32_t)n, (uint32_t)at}, 12);
  for (size_t i = 0; i < n; i++) word[3 + i] = i > 0 && i < at ? (uint32_t)i - 1 : i == at ? (uint32_t)at - 1 : 0;
  entry(DT_GNU_HASH)->d_tag = DT_HASH;
  return n + 3;
}

/* Two versions that the library needs; all of its symbols are of the second. */
static size_t make_needed_versions(uint32_t *word) {
  const struct {
    Elf64_Verneed need[2];
    Elf64_Vernaux aux[2];
  } made = {{{.vn_next = 16}, {.vn_cnt = 2, .vn_aux = 16}}, {{.vna_other = 6, .vna_next = 16}, {.vna_other = 7}}};
  for (size_t i = 0; i < edge_page / 2; i++) ((uint16_t *)(void *)edge_pages)[i] = 7;
  set(DT_VERSYM, edge_pages);
  memcpy(word, &made, sizeof made);
  return sizeof made / sizeof *word;
}

/* Some of its words are others, and its end may be missing: any may be believed, but nothing outside of memory. */
static bool is_damaged(void) {
  const struct pml_intercept_options o = {.sym = "lib_*:leaf_*:lib_no_such_function"};
  static uint32_t whole[1 << 14], word[1 << 14];
  size_t n = bytes_of(chosen) / sizeof *word, hot = needed_of(chosen) / sizeof *word;
  if (chosen->make == NULL) memcpy(whole, table_of(chosen->tag), n * sizeof *word);
  add_segment(edge_end, PF_R);
  if (chosen->make != NULL) n = chosen->make(whole);
  for (int round = 0; round < (SANITIZED ? 30 : 100); round++) {
    size_t left = some(2) == 0 ? n : 1 + some(n);
    memcpy(word, whole, n * sizeof *word);
    for (uint64_t times = some(4); times > 0; times--) damage(word, n, hot > 0 ? hot : 8);
    set(chosen->tag, to_the_end(word, left * sizeof *word));
    WANT(pml_intercept_install(&o) == 0 && edge.calls(3) == 9);
    WANT(pml_intercept_unmatched(nobody, NULL) == 0);
    (void)exported("leaf_calls");
    (void)pml__object_needs(looked_at(), 1);
    pml_intercept_remove();
  }
  return true;
}

static bool headers_are_damaged(void) {
  static Elf64_Phdr whole[64];
  const struct pml_intercept_options o = {.sym = "lib_*:leaf_*:lib_no_such_function"};
  size_t bytes = edge.nheaders * sizeof *edge.header;
  WANT(bytes <= sizeof whole);
  memcpy(whole, edge.header, bytes);
  for (int round = 0; round < (SANITIZED ? 20 : 100); round++) {
    for (uint64_t times = 1 + some(3); times > 0; times--) damage((uint32_t *)edge.header, bytes / sizeof(uint32_t), 0);
    WANT(pml_intercept_install(&o) == 0 && edge.calls(3) == 9);
    WANT(pml_intercept_unmatched(nobody, NULL) == 0);
    pml_intercept_remove();
    memcpy(edge.header, whole, bytes);
  }
  return true;
}

static void of_tables(void) {
  static const char *const name[TABLES] = {
      "names",           "symbols", "relocations of calls", "other relocations", "versions",
      "needed versions", "hashes",  "the older hashes"};
  for (size_t i = 0; i < TABLES; i++) {
    chosen = &tables[i];
    if (entry(chosen->tag)->d_tag != DT_NULL)
      CHECK(in_child(is_cut), "%s: existing bytes are used to the last one, and no more", name[i]);
    CHECK(in_child(is_damaged), "%s: no damage leads out of memory", name[i]);
  }
}

static bool dynamic(void) {
  static const int64_t wanted[] = {DT_STRTAB, DT_STRSZ, DT_SYMTAB, DT_JMPREL, DT_PLTRELSZ};
  Elf64_Phdr *p = header(PT_DYNAMIC), *segment = add_segment(edge_end, PF_R);
  size_t n = 0, needed = 0;
  while (edge.dynamic[n].d_tag != DT_NULL) n++;
  for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
    size_t at = (size_t)(entry(wanted[i]) - edge.dynamic) + 1;
    if (at > needed) needed = at;
  }
  for (size_t k = n; k > 0; k--) {
    p->p_vaddr = (uintptr_t)to_the_end(edge.dynamic, k * sizeof *edge.dynamic) - edge.base;
    WANT(goes_on(k >= needed));
  }
  p->p_vaddr = (uintptr_t)to_the_end(edge.dynamic, n * sizeof *edge.dynamic) - edge.base;
  segment->p_flags = PF_W;
  WANT(goes_on(0));
  segment->p_flags = PF_R;
  p->p_vaddr -= 4;
  WANT(goes_on(0));
  p->p_vaddr = (uintptr_t)edge_end - edge.base;
  WANT(goes_on(0));
  return true;
}

int main(int argc, char **argv) {
  (void)argc;
  if (!CHECK(edge_load(argv[0]), "a library is loaded") || !edge_is_below()) return check_done();
  of_tables();
  CHECK(in_child(headers_are_damaged), "headers of segments: nor does theirs");
  CHECK(in_child(dynamic), "a dynamic section is read to the end of its segment");
  return check_done();
}
