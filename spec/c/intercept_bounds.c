/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/intercept_bounds.c - tables of a loaded library that end at the edge of its memory, and one past it: the
 * reader uses what exists and nothing else.
 */
#include "check.h"
#include "intercept/edge.h"

/* ---- tables ---- */

static bool strings(void) {
  size_t n = entry(DT_STRSZ)->d_un.d_val, length;
  const size_t said[] = {n, n + 1, n + edge_page, UINT64_MAX};
  add_segment(edge_end, PF_R);
  char *text = move(DT_STRTAB, n);
  for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
    entry(DT_STRSZ)->d_un.d_val = said[i];
    WANT(looked_at()->nstr == n && goes_on(1));
  }
  Elf64_Sym last = {.st_name = (uint32_t)n - 1}, end = {.st_name = (uint32_t)n}, past = {.st_name = (uint32_t)n + 1};
  const struct pml__object *o = looked_at();
  WANT(pml__object_name(o, &last, &length) == text + n - 1 && length == 0);
  WANT(pml__object_name(o, &end, &length) == NULL && pml__object_name(o, &past, &length) == NULL);
  WANT(pml__object_is_named(o, &last, "", 0) && !pml__object_is_named(o, &end, "", 0));
  WANT(!pml__object_is_named(o, &past, "", 0));
  text[n - 1] = 'x'; /* a name without an end */
  WANT(pml__object_name(o, &last, &length) == NULL && !pml__object_is_named(o, &last, "x", 1));
  entry(DT_STRSZ)->d_un.d_val = n - 1;
  WANT(looked_at()->nstr == n - 1);
  set(DT_STRTAB, edge_end);
  WANT(looked_at()->str == NULL && looked_at()->nstr == 0 && goes_on(0));
  return true;
}

static size_t symbols_of_file(void) {
  return (size_t)((uintptr_t)table_of(DT_STRTAB) - (uintptr_t)table_of(DT_SYMTAB)) / sizeof(Elf64_Sym);
}

static bool symbols(void) {
  size_t n = symbols_of_file();
  add_segment(edge_end, PF_R);
  const Elf64_Sym *at = move(DT_SYMTAB, n * sizeof(Elf64_Sym));
  WANT(n > 5 && looked_at()->nsym == n && goes_on(1));
  WANT(pml__object_symbol(looked_at(), n - 1) == at + n - 1 && pml__object_symbol(looked_at(), n) == NULL);
  set(DT_SYMTAB, (const char *)at + 8);
  WANT(looked_at()->nsym == n - 1);
  set(DT_SYMTAB, (const char *)at + 4);
  WANT(looked_at()->sym == NULL && looked_at()->nsym == 0);
  set(DT_SYMTAB, edge_end);
  WANT(looked_at()->sym == NULL && goes_on(0));
  return true;
}

/* @passed: of them stand first, and have no symbols. */
static bool relocations_of(int64_t tag, int64_t size, size_t passed, size_t offset_of_table, size_t offset_of_count) {
  size_t n = entry(size)->d_un.d_val / sizeof(Elf64_Rela);
  const size_t said[] = {n, n + 1, n * 2, UINT64_MAX / sizeof(Elf64_Rela)};
  add_segment(edge_end, PF_R);
  move(tag, n * sizeof(Elf64_Rela));
  for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
    entry(size)->d_un.d_val = said[i] * sizeof(Elf64_Rela) + sizeof(Elf64_Rela) / 2;
    WANT(*(size_t *)((char *)looked_at() + offset_of_count) == n - passed && goes_on(1));
  }
  entry(size)->d_un.d_val = n * sizeof(Elf64_Rela) - 1;
  WANT(*(size_t *)((char *)looked_at() + offset_of_count) == n - 1 - passed);
  set(tag, edge_end - 4);
  WANT(*(void **)((char *)looked_at() + offset_of_table) == NULL);
  set(tag, edge_end);
  WANT(*(void **)((char *)looked_at() + offset_of_table) == NULL);
  return true;
}
static bool relocations_of_calls(void) {
  return relocations_of(DT_JMPREL, DT_PLTRELSZ, 0, offsetof(struct pml__object, jmprel),
                        offsetof(struct pml__object, njmprel));
}
static bool relocations(void) {
  size_t relative = entry(DT_RELACOUNT)->d_un.d_val, all = entry(DT_RELASZ)->d_un.d_val / sizeof(Elf64_Rela);
  WANT(relative > 0 && relative < all && looked_at()->nrela == all - relative);
  const size_t said[] = {0, relative + 1, all, all + 1, UINT64_MAX}; /* not so: then all are looked at */
  for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
    entry(DT_RELACOUNT)->d_un.d_val = said[i];
    WANT(looked_at()->nrela == all && goes_on(1));
  }
  entry(DT_RELACOUNT)->d_un.d_val = relative;
  return relocations_of(DT_RELA, DT_RELASZ, relative, offsetof(struct pml__object, rela),
                        offsetof(struct pml__object, nrela));
}

static bool versions(void) {
  size_t called = symbol_named("lib_tail");
  add_segment(edge_end, PF_R);
  for (size_t n = called + 2; n > 0; n--) {
    memset(move(DT_VERSYM, n * sizeof(uint16_t)), 1, n * sizeof(uint16_t));
    WANT(looked_at()->nsym == n && pml__object_symbol(looked_at(), n) == NULL && goes_on(n > called));
    WANT(pml__object_needs(looked_at(), n - 1) == NULL && pml__object_needs(looked_at(), n) == NULL);
  }
  set(DT_VERSYM, edge_end - 3);
  WANT(looked_at()->versym == NULL && looked_at()->nsym > 5);
  set(DT_VERSYM, edge_end);
  WANT(looked_at()->versym == NULL && looked_at()->nsym > 5);
  return true;
}

/* The version that symbol 1 needs if the pages end with these @bytes, and with ever fewer of them. */
static bool needed(const void *bytes, size_t n, size_t step) {
  const struct pml__object *o;
  for (size_t gone = 0; gone < n; gone += step) {
    memcpy(edge_end - n + gone, bytes, n - gone);
    set(DT_VERNEED, edge_end - n + gone);
    o = looked_at();
    WANT(o->verneed != NULL && (pml__object_needs(o, 1) != NULL) == (gone == 0));
  }
  set(DT_VERNEED, edge_end);
  WANT(looked_at()->verneed == NULL);
  return true;
}

static bool needed_versions(void) {
  uint16_t *version = (void *)edge_pages;
  const struct {
    Elf64_Verneed need;
    Elf64_Vernaux aux;
  } one = {{.vn_cnt = 1, .vn_aux = 16}, {.vna_other = 7, .vna_name = 1}};
  const struct {
    Elf64_Verneed need;
    Elf64_Vernaux aux[2];
  } second = {{.vn_cnt = 2, .vn_aux = 16}, {{.vna_other = 6, .vna_next = 16}, {.vna_other = 7, .vna_name = 1}}};
  const struct {
    Elf64_Verneed need[2];
    Elf64_Vernaux aux;
  } next = {{{.vn_next = 16}, {.vn_cnt = 1, .vn_aux = 16}}, {.vna_other = 7, .vna_name = 1}};
  add_segment(edge_end, PF_R);
  set(DT_VERSYM, version);
  version[1] = 7;
  WANT(needed(&one, sizeof one, 4) && needed(&second, sizeof second, 4) && needed(&next, sizeof next, 4));
  const Elf64_Verneed odd = {.vn_cnt = 1, .vn_aux = 17}, past = {.vn_cnt = 1, .vn_aux = 20};
  memcpy(edge_end - 40, &odd, sizeof odd);
  memcpy(edge_end - 40 + 17, &one.aux, sizeof one.aux);
  set(DT_VERNEED, edge_end - 40);
  WANT(pml__object_needs(looked_at(), 1) == NULL);
  set(DT_VERNEED, to_the_end(&past, sizeof past));
  WANT(pml__object_needs(looked_at(), 1) == NULL);
  Elf64_Verneed *need = to_the_end(&second, sizeof second);
  set(DT_VERNEED, need);
  need->vn_cnt = 1; /* the second is none of them */
  WANT(pml__object_needs(looked_at(), 1) == NULL);
  set(DT_VERNEED, to_the_end(&one, sizeof one));
  WANT(pml__object_needs(looked_at(), 1) != NULL);
  add_segment(edge_end - 1, PF_R);
  WANT(pml__object_needs(looked_at(), 1) == NULL);
  return true;
}

/* ---- hash tables ---- */

static bool visit(void *arg, size_t symbol) {
  (void)symbol;
  ++*(size_t *)arg;
  return true;
}
static size_t visited(void) {
  size_t n = 0;
  pml__object_walk(looked_at(), visit, &n);
  return n;
}
/* A hash table of these words at the end of the pages; no bucket is longer than the table. */
static size_t visited_of(const uint32_t *word, size_t n) {
  set(DT_GNU_HASH, to_the_end(word, n * sizeof *word));
  return visited();
}

/* Some linkers also write the older table. */
static void with_one_table(void) {
  if (entry(DT_HASH)->d_tag == DT_HASH) entry(DT_HASH)->d_tag = DT_DEBUG;
}

static bool hashes(void) {
  /* buckets, first symbol, double words of the filter, shift; filter; a bucket; its chain, which has no end */
  uint32_t word[] = {1, 1, 1, 0, 1, 1, 1, 2, 2, 2};
  with_one_table();
  add_segment(edge_end, PF_R);
  WANT(visited_of(word, 10) == 3);
  word[6] = 3;
  WANT(visited_of(word, 10) == 1);
  word[6] = 4; /* the one behind the last */
  WANT(visited_of(word, 10) == 0);
  word[6] = 0; /* a bucket without symbols */
  WANT(visited_of(word, 10) == 0);
  word[6] = UINT32_MAX;
  WANT(visited_of(word, 10) == 0);
  word[0] = 4; /* as many buckets as there are words */
  WANT(visited_of(word, 10) == 0);
  word[0] = 5;
  word[6] = word[7] = word[8] = word[9] = 1;
  WANT(visited_of(word, 10) == 0 && goes_on(1));
  word[0] = 1;
  word[2] = 3; /* the filter takes all */
  WANT(visited_of(word, 10) == 0);
  word[2] = UINT32_C(1) << 31; /* its bytes are none, modulo 2^32 */
  WANT(visited_of(word, 10) == 0);
  WANT(visited_of(word, 2) == 0 && goes_on(1));
  set(DT_GNU_HASH, edge_end - 4);
  WANT(looked_at()->gnu_hash == NULL);
  return true;
}

/* Chains that continue beyond the last symbol, and chains that overlap. */
static bool hashes_of_symbols(void) {
  static const char name[] = "nobody";
  size_t n = symbols_of_file();
  uint32_t *word = (void *)edge_pages, hash = pml__object_hash(name, sizeof name - 1);
  add_segment(edge_end, PF_R);
  move(DT_SYMTAB, n * sizeof(Elf64_Sym));
  set(DT_GNU_HASH, word);
  word[0] = 64;
  word[1] = 1;
  for (size_t i = 4; i < 68; i++) word[i] = 1;
  for (size_t i = 68; i < 300; i++) word[i] = hash & ~UINT32_C(1);
  WANT(looked_at()->nsym == n && visited() == n);
  WANT(!pml__object_exports(looked_at(), name, (uintptr_t)edge.calls) && goes_on(1));
  return true;
}

static bool old_hashes(void) {
  size_t n = symbols_of_file();
  uint32_t *word = table_of(DT_GNU_HASH);
  add_segment(edge_end, PF_R);
  with_one_table();
  entry(DT_GNU_HASH)->d_tag = DT_HASH;
  word[1] = UINT32_MAX;
  move(DT_SYMTAB, n * sizeof(Elf64_Sym));
  WANT(looked_at()->gnu_hash == NULL && looked_at()->nsym == n && visited() == n - 1 && goes_on(1));
  word[1] = 3;
  WANT(visited() == 2);
  const uint32_t all[] = {1, 3};
  set(DT_HASH, to_the_end(all, sizeof all));
  set(DT_SYMTAB, edge_pages); /* nameless symbols */
  WANT(visited() == 2);
  set(DT_HASH, edge_end - 4);
  WANT(looked_at()->hash != NULL && visited() == 0);
  set(DT_HASH, edge_end - 2);
  WANT(looked_at()->hash == NULL);
  return true;
}

/* The older table leads to a name through its chain; a chain that is a circle ends. */
static bool old_names(void) {
  size_t n = symbols_of_file(), at = symbol_named("leaf_calls"), other = at == 1 ? 2 : 1;
  uint32_t word[256] = {1, (uint32_t)n, (uint32_t)at}, *chain = word + 3;
  WANT(at < n && n + 3 <= 256 && pml__object_defines(looked_at(), "leaf_calls"));
  add_segment(edge_end, PF_R);
  with_one_table();
  entry(DT_GNU_HASH)->d_tag = DT_HASH;
  set(DT_HASH, to_the_end(word, (n + 3) * sizeof *word));
  WANT(looked_at()->gnu_hash == NULL && pml__object_defines(looked_at(), "leaf_calls"));
  WANT(!pml__object_defines(looked_at(), "leaf_call") && goes_on(1));
  word[2] = (uint32_t)other;
  chain[other] = (uint32_t)at;
  set(DT_HASH, to_the_end(word, (n + 3) * sizeof *word));
  WANT(pml__object_defines(looked_at(), "leaf_calls"));
  chain[other] = (uint32_t)other;
  set(DT_HASH, to_the_end(word, (n + 3) * sizeof *word));
  WANT(!pml__object_defines(looked_at(), "leaf_calls") && goes_on(1));
  chain[other] = UINT32_MAX;
  set(DT_HASH, to_the_end(word, (n + 3) * sizeof *word));
  WANT(!pml__object_defines(looked_at(), "leaf_calls"));
  word[0] = UINT32_MAX;
  set(DT_HASH, to_the_end(word, (n + 3) * sizeof *word));
  WANT(!pml__object_defines(looked_at(), "leaf_calls") && goes_on(1));
  return true;
}

/* What the index of all names says of @name, if there were no other library. */
static uintptr_t only(const char *name) {
  struct pml__object o = *looked_at();
  o.startup = true;
  struct pml__exports *e = pml__exports_make(&(struct pml__objects){.at = &o, .n = 1});
  uintptr_t at = e != NULL ? pml__exports_only(e, name, strlen(name), pml__object_hash(name, strlen(name))) : 1;
  pml__exports_free(e);
  return at;
}

/* A chain without an end, buckets that lead elsewhere, and a filter whose size is damaged. */
static bool indexed_names(void) {
  static const char name[] = "leaf_calls";
  size_t at = symbol_named(name), n = symbols_of_file();
  uint32_t hash = pml__object_hash(name, sizeof name - 1);
  /* buckets, first symbol, double words of the filter, shift; filter; a bucket; its chain */
  uint32_t word[8] = {1, (uint32_t)at, 1, 6, 0, 0, (uint32_t)at, hash | 1};
  add_segment(edge_end, PF_R);
  with_one_table();
  set(DT_GNU_HASH, to_the_end(word, sizeof word));
  WANT(only(name) == looked_at()->base + looked_at()->sym[at].st_value && only("leaf_call") == 0);
  word[7] = hash & ~UINT32_C(1);
  set(DT_GNU_HASH, to_the_end(word, sizeof word));
  WANT(only(name) != 0);
  static const uint32_t elsewhere[] = {0, 1, UINT32_MAX};
  for (size_t i = 0; i < sizeof elsewhere / sizeof elsewhere[0]; i++) {
    word[6] = elsewhere[i];
    set(DT_GNU_HASH, to_the_end(word, sizeof word));
    WANT((only(name) != 0) == (elsewhere[i] >= at) && goes_on(1));
  }
  word[1] = (uint32_t)n; /* behind the last symbol */
  word[6] = UINT32_MAX;
  set(DT_GNU_HASH, to_the_end(word, sizeof word));
  WANT(only(name) == 0);
  word[2] = UINT32_MAX;
  set(DT_GNU_HASH, to_the_end(word, sizeof word));
  WANT(only(name) == 0 && goes_on(1));
  return true;
}

/* ---- all tables together ---- */

static bool dynamic(void) {
  size_t n = 0, symbols_entry = (size_t)(entry(DT_SYMTAB) - edge.dynamic);
  while (edge.dynamic[n].d_tag != DT_NULL) n++;
  Elf64_Dyn last = edge.dynamic[symbols_entry], *moved;
  Elf64_Phdr *p = header(PT_DYNAMIC), *segment = add_segment(edge_end, PF_R);
  moved = to_the_end(edge.dynamic, n * sizeof *moved);
  moved[symbols_entry] = moved[n - 1];
  moved[n - 1] = last;
  p->p_vaddr = (uintptr_t)moved - edge.base;
  WANT(looked_at()->sym != NULL && looked_at()->njmprel > 0 && goes_on(1));
  segment->p_flags = PF_W;
  WANT(looked_at()->sym == NULL && goes_on(0));
  segment->p_flags = PF_R;
  memmove(moved + 1, moved, (n - 1) * sizeof *moved); /* without the last */
  p->p_vaddr += sizeof *moved;
  WANT(looked_at()->sym == NULL && looked_at()->str != NULL && goes_on(0));
  memmove((char *)moved + 4, moved + 1, (n - 1) * sizeof *moved);
  p->p_vaddr = (uintptr_t)moved + 4 - edge.base;
  WANT(looked_at()->str == NULL);
  p->p_vaddr = (uintptr_t)edge_end - edge.base;
  WANT(looked_at()->str == NULL && goes_on(0));
  return true;
}

int main(int argc, char **argv) {
  (void)argc;
  if (!CHECK(edge_load(argv[0]), "a library is loaded") || !edge_is_below()) return check_done();
  CHECK(in_child(strings), "names end in the table of names, whatever its size is said to be");
  CHECK(in_child(symbols), "there are as many symbols as fit into what is there");
  CHECK(in_child(relocations_of_calls), "so are there relocations of calls");
  CHECK(in_child(relocations), "and of the rest");
  CHECK(in_child(versions), "symbols whose versions are not there are not there either");
  CHECK(in_child(needed_versions), "a needed version is found if it is there to its last byte");
  CHECK(in_child(hashes), "buckets and chains of a hash table end with it");
  CHECK(in_child(hashes_of_symbols), "and with the symbols; no more are told than there are");
  CHECK(in_child(old_hashes), "so it is with the older table");
  CHECK(in_child(old_names), "the older table leads to a name, and a chain that is a circle ends");
  CHECK(in_child(indexed_names), "an index of names has those of a damaged table that are there, and ends with it");
  CHECK(in_child(dynamic), "a dynamic section without an end is read to the end of its segment");
  return check_done();
}
