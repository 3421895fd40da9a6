/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/intercept/pml_intercept_scans.c - scan results of an object: its slots, and their uses in its code.
 *
 * A program may close and open a library repeatedly, each time at another address. The file stays the same, so the scan
 * results are cached: positions are relocations, which do not depend on the load address.
 */
#include "adapter/intercept/pml_intercept_scans.h"

#include "adapter/arch/pml_arch.h"
#include "adapter/intercept/pml_intercept_cache.h"
#include "adapter/intercept/pml_intercept_landing.h"
#include "adapter/intercept/pml_intercept_stored.h"
#include "base/pml_array.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define SCANS_MAX 128u               /* cached scans; the least recently used one is replaced */
#define SLOTS_KEPT ((size_t)1 << 19) /* in all of them: 4 MiB */

static struct pml__scan scan[SCANS_MAX];
static uint64_t uses;

/* ---- identity ---- */

/* Hashes the mapped headers, because the file may have been replaced. The notes contain the build id. */
static uint64_t headers_of(const struct pml__object *o, uint64_t file_bytes) {
  const size_t tables[] = {o->njmprel, o->nrela, o->nsym, o->nstr};
  uint64_t hash = PML__SCAN_HASH;
  for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) hash = pml__scan_mix_one(hash, tables[i]);
  hash = pml__scan_mix(hash, o->phdr, o->nphdr * sizeof *o->phdr);
  for (size_t i = 0; i < o->nphdr; i++) {
    const Elf64_Phdr *p = &o->phdr[i];
    uintptr_t at = o->base + p->p_vaddr;
    for (uint32_t j = 0; p->p_type == PT_NOTE && j < o->nsegments; j++) {
      const struct pml__segment *s = &o->segment[j];
      if (at < s->lo || at >= s->hi) continue;
      size_t readable = pml__segment_readable(s, file_bytes);
      if (at - s->lo < readable && p->p_memsz <= readable - (at - s->lo))
        hash = pml__scan_mix(hash, (const void *)at, p->p_memsz); /* NOLINT(performance-no-int-to-ptr) */
    }
  }
  return hash;
}

/* Returns false if the object has no file, so that it cannot be recognised again. */
static bool identify(const struct pml__object *o, struct pml__file *f) {
  struct stat st;
  memset(f, 0, sizeof *f);
  if (o->path[0] == '\0' || stat(o->path, &st) != 0 || !S_ISREG(st.st_mode)) return false;
  f->device = st.st_dev;
  f->inode = st.st_ino;
  f->bytes = (uint64_t)st.st_size;
  f->written = st.st_mtim;
  f->changed = st.st_ctim;
  f->headers = headers_of(o, f->bytes);
  return true;
}

/* ---- slots ---- */

const Elf64_Rela *pml__scan_relocation(const struct pml__object *o, const struct pml__scan_slot *s) {
  return s->address ? &o->rela[s->index] : &o->jmprel[s->index];
}

uintptr_t *pml__slot_at(const struct pml__object *o, const Elf64_Rela *r, uint32_t type) {
  uintptr_t at = o->base + r->r_offset;
  if (ELF64_R_TYPE(r->r_info) != type || !pml__object_has_slot(o, at)) return NULL;
  return (uintptr_t *)at; /* NOLINT(performance-no-int-to-ptr) */
}

bool pml__scan_is_function(const struct pml__object *o, const Elf64_Rela *r, bool address) {
  size_t symbol = ELF64_R_SYM(r->r_info);
  const Elf64_Sym *s = symbol != 0 ? pml__object_symbol(o, symbol) : NULL;
  if (s == NULL || s->st_name >= o->nstr || pml__symbol_is_variant(s)) return false;
  return !address || (ELF64_ST_TYPE(s->st_info) != STT_OBJECT && ELF64_ST_TYPE(s->st_info) != STT_TLS);
}

static void list_of(const struct pml__object *o, struct pml__scan *s, bool address) {
  const Elf64_Rela *r = address ? o->rela : o->jmprel;
  size_t n = address ? o->nrela : o->njmprel;
  uint32_t type = address ? pml__arch_glob_dat : pml__arch_jump_slot;
  for (size_t i = 0; i < n && i <= UINT32_MAX; i++)
    if (pml__slot_at(o, &r[i], type) != NULL && pml__scan_is_function(o, &r[i], address))
      s->slot[s->n++] = (struct pml__scan_slot){.index = (uint32_t)i, .address = address};
}

static size_t count(const Elf64_Rela *r, size_t n, uint32_t type) {
  size_t of_type = 0;
  for (size_t i = 0; i < n; i++) of_type += ELF64_R_TYPE(r[i].r_info) == type;
  return of_type;
}

static bool list(const struct pml__object *o, struct pml__scan *s) {
  size_t most = count(o->jmprel, o->njmprel, pml__arch_jump_slot) + count(o->rela, o->nrela, pml__arch_glob_dat);
  s->slot = malloc((most + 1) * sizeof *s->slot);
  if (s->slot == NULL) return false;
  s->n = 0;
  list_of(o, s, false);
  s->ncalls = s->n;
  list_of(o, s, true);
  return true;
}

/* ---- uses of address slots in the code ---- */

#define PLACES_MAX                                                                                                     \
  ((uintptr_t)1                                                                                                        \
   << 20) /* limit of distances between slots, which no linker exceeds; objects beyond it are not scanned */

#define USES_MAX ((size_t)1 << 20) /* limit of uses stored while code is read: 8 MiB */

struct uses {
  struct pml__scan_slot *slot;
  uint32_t *at; /* 1 + the slot at each address; 0: no slot */
  uintptr_t lo, places;
  uintptr_t image; /* beginning of the object */
  struct pml__scan_site *use;
  size_t n, room;
  struct pml__stored stored;
};

static uintptr_t place_of(const struct uses *u, uintptr_t slot) {
  return (slot - u->lo) / sizeof slot;
}

/* Returns false if there is no room. */
static bool remember_use(struct uses *u, uint32_t slot, uintptr_t operand) {
  if (u->n == USES_MAX || !PML__ARRAY_ROOM(u->use, u->room, u->n + 1)) return false;
  if (operand - u->image > UINT32_MAX) return false;
  u->use[u->n++] = (struct pml__scan_site){slot, (uint32_t)(operand - u->image)};
  return true;
}

static void note_use(void *arg, uintptr_t slot, uintptr_t operand, bool call) {
  struct uses *u = arg;
  uint32_t i = slot % sizeof slot == 0 ? u->at[place_of(u, slot)] : 0;
  if (i == 0) return;
  bool kept = remember_use(u, i - 1, operand);
  u->slot[i - 1].called |= call;
  u->slot[i - 1].missed |= call && !kept;
  u->slot[i - 1].used |= !call && !kept;
}

static void look_at_text(void *arg, const uint8_t *text, size_t n, uintptr_t at) {
  struct uses *u = arg;
  if (u->at != NULL) (void)pml_arch_scan(text, n, at, u->lo, u->lo + u->places * sizeof u->lo, note_use, u);
  pml__stored_text(&u->stored, text, n, at);
}

static bool landing(void *arg, uintptr_t after, uintptr_t *to, bool *ends) {
  return pml__landing(arg, after, to, ends);
}

static bool is_call(const struct pml_arch_code *code, uintptr_t operand) {
  return operand > code->lo && operand < code->hi && pml_arch_is_call((const uint8_t *)operand);
}

/* Check uses that are not calls: the loaded address may be used in calls only. The code is read in memory. */
static void follow_loads(const struct pml__object *o, struct uses *u) {
  struct pml__landings landings;
  pml__landings_of(&landings, o);
  for (size_t i = 0; i < u->n; i++) {
    uintptr_t operand = o->lo + u->use[i].operand;
    struct pml__scan_slot *slot = &u->slot[u->use[i].slot];
    struct pml_arch_code code = {0, 0, landing, &landings};
    for (size_t j = 0; j < landings.n; j++)
      if (operand - landings.part[j].lo < landings.part[j].hi - landings.part[j].lo)
        code.lo = landings.part[j].lo, code.hi = landings.part[j].hi;
    if (is_call(&code, operand)) continue;
    if (code.hi != 0 && pml_arch_only_called(&code, operand)) {
      slot->called = true;
      continue;
    }
    slot->used = true;
    u->use[i].operand = 0; /* mark as unused: headers are at this offset */
  }
}

static int by_slot(const void *a, const void *b) {
  const struct pml__scan_site *x = a, *y = b;
  return x->slot != y->slot ? (x->slot > y->slot) - (x->slot < y->slot)
                            : (x->operand > y->operand) - (x->operand < y->operand);
}

/* Keep the calls through slots that also have other uses. */
static void keep_sites(struct pml__scan *s, struct uses *u) {
  size_t n = 0;
  for (size_t i = 0; i < u->n; i++) {
    const struct pml__scan_slot *slot = &u->slot[u->use[i].slot];
    if (slot->used && slot->called && u->use[i].operand != 0) u->use[n++] = u->use[i];
  }
  if (n > 0) qsort(u->use, n, sizeof *u->use, by_slot);
  free(s->site);
  s->site = n > 0 ? realloc(u->use, n * sizeof *u->use) : NULL;
  s->nsites = s->site != NULL ? n : 0;
  if (s->site == NULL) free(u->use);
}

/* An index of the address slots by their positions. NULL: without slots, without memory, or if they are too far apart.
 */
static uint32_t *index_slots(const struct pml__object *o, const struct pml__scan *s, struct uses *u) {
  uintptr_t hi = 0;
  u->lo = UINTPTR_MAX;
  for (size_t i = s->ncalls; i < s->n; i++) {
    uintptr_t at = o->base + o->rela[s->slot[i].index].r_offset;
    if (at < u->lo) u->lo = at;
    if (at > hi) hi = at;
  }
  u->places = u->lo <= hi ? (hi - u->lo) / sizeof hi + 1 : 0;
  uint32_t *at = u->places > 0 && u->places <= PLACES_MAX ? calloc(u->places, sizeof *at) : NULL;
  for (size_t i = s->ncalls; at != NULL && i < s->n; i++)
    at[place_of(u, o->base + o->rela[s->slot[i].index].r_offset)] = (uint32_t)i + 1;
  return at;
}

static bool read_code(const struct pml__object *o, struct pml__scan *s) {
  struct uses u = {.slot = s->slot, .image = o->lo};
  bool readable = pml_arch_scan(NULL, 0, 0, 0, 0, note_use, NULL);
  u.at = index_slots(o, s, &u);
  s->far = u.places > PLACES_MAX;
  if (!pml__stored_begin(&u.stored, o) || (u.at == NULL && u.places > 0 && !s->far)) {
    free(u.at);
    free(u.stored.at);
    return false;
  }
  bool slots = readable && u.at != NULL;
  if (slots || (readable && u.stored.at != NULL)) pml__object_read_text(o, PML_ARCH_SCAN_SHARED, look_at_text, &u);
  free(u.at);
  free(s->stored);
  s->stored = pml__stored_end(&u.stored, &s->nstored);
  if (!slots) return true;
  follow_loads(o, &u);
  keep_sites(s, &u);
  return true;
}

bool pml__scan_shows_calls(const struct pml__scan *s) {
  return !s->far && pml_arch_scan(NULL, 0, 0, 0, 0, note_use, NULL);
}

const struct pml__scan_site *pml__scan_sites(const struct pml__scan *s, const struct pml__scan_slot *slot, size_t *n) {
  uint32_t number = (uint32_t)(slot - s->slot);
  size_t first, end;
  PML__ARRAY_SEARCH(first, s->nsites, s->site[first].slot < number);
  for (end = first; end < s->nsites && s->site[end].slot == number;) end++;
  *n = end - first;
  return s->site + first;
}

static uint64_t code_bytes(const struct pml__object *o) {
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < o->nsegments; i++)
    if ((o->segment[i].flags & PF_X) != 0) bytes += o->segment[i].hi - o->segment[i].lo;
  return bytes;
}

/* Only objects loaded with the program use the cache, because later the program may have dropped rights. */
static bool find_uses(const struct pml__object *o, struct pml__scan *s) {
  bool large = s->named && o->startup && code_bytes(o) >= PML__SCAN_CACHE_FROM;
  if (large && pml__scan_cache_find(s)) return true;
  if (!read_code(o, s)) return false;
  if (large) pml__scan_cache_put(s);
  return true;
}

static bool have_uses(const struct pml__object *o, struct pml__scan *s) {
  return s->code_read = s->code_read || find_uses(o, s);
}

int pml__scan_calls_only(const struct pml__object *o, struct pml__scan *s, const struct pml__scan_slot *slot) {
  return have_uses(o, s) ? slot->called && !slot->used : -ENOMEM;
}

uint32_t *pml__scan_stored(const struct pml__object *o, struct pml__scan *s, size_t *n) {
  *n = have_uses(o, s) ? s->nstored : 0;
  return s->stored;
}

/* ---- cache ---- */

static void drop(struct pml__scan *s) {
  free(s->slot);
  free(s->site);
  free(s->stored);
  *s = (struct pml__scan){0};
}

static struct pml__scan *oldest(void) {
  struct pml__scan *s = &scan[0];
  for (size_t i = 1; i < SCANS_MAX; i++)
    if (scan[i].slot != NULL && (s->slot == NULL || scan[i].use < s->use)) s = &scan[i];
  return s;
}

/* Find a free place with room for @slots. */
static struct pml__scan *place_for(size_t slots) {
  struct pml__scan *place = NULL;
  size_t all = slots;
  for (size_t i = 0; i < SCANS_MAX; i++) {
    all += scan[i].n + scan[i].nsites + scan[i].nstored / 2;
    if (scan[i].slot == NULL) place = &scan[i];
  }
  for (struct pml__scan *s; (place == NULL || all > SLOTS_KEPT) && (s = oldest())->slot != NULL; place = s) {
    all -= s->n + s->nsites + s->nstored / 2;
    drop(s);
  }
  return place;
}

static struct pml__scan *kept(const struct pml__file *f) {
  for (size_t i = 0; i < SCANS_MAX; i++)
    if (scan[i].slot != NULL && scan[i].named && memcmp(&scan[i].file, f, sizeof *f) == 0) return &scan[i];
  return NULL;
}

struct pml__scan *pml__scan_of(const struct pml__object *o, uint64_t *made) {
  struct pml__scan fresh = {0};
  fresh.named = identify(o, &fresh.file);
  struct pml__scan *s = fresh.named ? kept(&fresh.file) : NULL;
  if (s == NULL) {
    if (!list(o, &fresh)) return NULL;
    s = place_for(fresh.n);
    *s = fresh;
    ++*made;
  }
  s->use = ++uses;
  return s;
}

void pml__scans_forget(void) {
  for (size_t i = 0; i < SCANS_MAX; i++) drop(&scan[i]);
}

void pml__scans_give_up(void) {
  memset(scan, 0, sizeof scan);
}
