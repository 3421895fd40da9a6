/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/intercept/pml_intercept_entries.c - interception of chosen functions at their entries. */
#include "adapter/intercept/pml_intercept_entries.h"

#include "adapter/arch/pml_arch.h"
#include "adapter/intercept/pml_intercept_code.h"
#include "adapter/intercept/pml_intercept_names.h"
#include "adapter/intercept/pml_intercept_private.h"
#include "base/pml_array.h"
#include "base/pml_error.h"
#include "program/pml_source_line.h"
#include "source/kernel/event/pml_event_elf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define SECTION_BYTES 32u
#define BEFORE 64u /* most bytes of room in front of a function */

/* ---- patched functions ---- */

struct entry {
  uintptr_t function, at, island; /* at: of the patched code; island 0: it is not patched */
  pml_region_t region;
  uint8_t saved[PML_ARCH_ENTRY_BYTES];
};

static struct patched {
  struct patched *next;
  uintptr_t lo, hi;
  struct entry *entry; /* [n], sorted by function */
  size_t n, room;
  void *islands;
  size_t bytes; /* size of the islands */
  struct pml__segment segment[PML__SEGMENTS];
  uint32_t nsegments;
} * patched;

static int compare(const void *one, const void *two) {
  const struct entry *a = one, *b = two;
  return a->function < b->function ? -1 : a->function > b->function;
}

bool pml__entries_has(uintptr_t address) {
  const struct patched *p = patched;
  size_t i;
  while (p != NULL && address - p->lo >= p->hi - p->lo) p = p->next;
  if (p == NULL) return false;
  PML__ARRAY_SEARCH(i, p->n, p->entry[i].function < address);
  return i < p->n && p->entry[i].function == address && p->entry[i].island != 0;
}

static void discard(struct patched *p) {
  free(p->entry);
  free(p);
}

/* ---- places that the compiler left room at ---- */

struct search {
  const struct pml__choice *choice;
  struct pml__object *o;
  struct pml__names names;
  size_t readable[PML__SEGMENTS];
  struct patched *to;
  struct pml__source_lines *lines;
};

/* How many bytes from @at on can be read: of code, or of data. */
static size_t bytes_from(const struct search *s, uintptr_t at, bool code) {
  for (uint32_t i = 0; i < s->o->nsegments; i++) {
    const struct pml__segment *in = &s->o->segment[i];
    if ((code && (in->flags & PF_X) == 0) || at - in->lo >= in->hi - in->lo) continue;
    return at - in->lo < s->readable[i] ? s->readable[i] - (at - in->lo) : 0;
  }
  return 0;
}

static size_t code_from(const struct search *s, uintptr_t at) {
  return bytes_from(s, at, true);
}

/* The function whose entry is at @at, or behind room in front of it: then *@at becomes its entry. */
static const struct pml__name *function_at(const struct search *s, uintptr_t *at) {
  uint64_t address = *at - s->o->base;
  const struct pml__name *f = pml__names_find(&s->names, address);
  size_t i;
  if (f != NULL && address - f->address <= PML_ARCH_ISLAND_BYTES) return f;
  PML__ARRAY_SEARCH(i, s->names.n, s->names.at[i].address <= address);
  if (i == s->names.n || s->names.at[i].address - address > BEFORE) return NULL;
  *at = s->o->base + s->names.at[i].address;
  *at += pml_arch_entry_marked((const uint8_t *)*at, code_from(s, *at)); /* NOLINT(performance-no-int-to-ptr) */
  return pml__names_find(&s->names, s->names.at[i].address);
}

static bool is_chosen(struct search *s, const struct pml__name *f, const char *name) {
  const struct pml__choice_place of = {s->o->path, s->o->base + f->address - s->o->lo, f->bytes, &s->lines};
  return pml__choice_entry(s->choice, name, &of);
}

static int add_entry(struct search *s, uintptr_t at, enum pml_arch_entry entry) {
  const char *kind = pml__object_kind(s->o);
  const struct pml__name *f = function_at(s, &at);
  const char *name = f != NULL ? pml__names_text(&s->names, f) : "";
  if (f == NULL || !is_chosen(s, f, name)) return 0;
  size_t bytes = pml_arch_entry((const uint8_t *)at, code_from(s, at), entry); /* NOLINT(performance-no-int-to-ptr) */
  uintptr_t thunk = bytes > 0 ? pml__intercept_thunk(at + bytes, kind, name, pml__object_file(s->o)) : 0;
  if (thunk == 0) {
    pml__unrecorded_calls(pml__unrecorded_note(name, pml__object_file(s->o)));
    return 0;
  }
  pml_region_t region = 0;
  if (!PML__ARRAY_ROOM(s->to->entry, s->to->room, s->to->n + 1)) return -ENOMEM;
  (void)pml__region_of(kind, name, pml__object_file(s->o), 0, &region); /* which the thunk has */
  s->to->entry[s->to->n++] =
      (struct entry){.function = s->o->base + f->address, .at = at, .island = thunk, .region = region};
  return 0;
}

/* The section in memory, where the loader has relocated its addresses; NULL: it cannot be read. */
static const char *in_memory(const struct search *s, const ElfW(Shdr) * section) {
  uintptr_t at = s->o->base + section->sh_addr;
  return bytes_from(s, at, false) >= section->sh_size ? (const char *)at : NULL; /* NOLINT(performance-no-int-to-ptr) */
}

static int add_addresses(struct search *s, const ElfW(Shdr) * section, enum pml_arch_entry kind) {
  const char *there = in_memory(s, section);
  int err = 0;
  for (uint64_t i = 0; there != NULL && i + sizeof(uintptr_t) <= section->sh_size && err == 0; i += sizeof(uintptr_t)) {
    uintptr_t at;
    memcpy(&at, there + i, sizeof at);
    if (at != 0) err = add_entry(s, at, kind);
  }
  return err;
}

/* XRay's table, version 2: addresses relative to themselves. Exits need no patch, because a thunk sees returns. */
struct sled {
  int64_t at, function;
  uint8_t kind, always, version, padding[13];
};

static int add_sleds(struct search *s, const ElfW(Shdr) * section) {
  const char *there = in_memory(s, section);
  int err = 0;
  for (uint64_t i = 0; there != NULL && i + sizeof(struct sled) <= section->sh_size && err == 0;
       i += sizeof(struct sled)) {
    struct sled sled;
    memcpy(&sled, there + i, sizeof sled);
    if (sled.kind == 0 && sled.version == 2)
      err = add_entry(s, (uintptr_t)there + i + (uintptr_t)sled.at, PML_ARCH_SLED);
  }
  return err;
}

static bool is_named(const struct pml__elf *f, const ElfW(Shdr) * section, const ElfW(Shdr) * names, const char *name) {
  char text[SECTION_BYTES] = "";
  size_t n = strlen(name) + 1;
  return section->sh_name < names->sh_size && names->sh_size - section->sh_name >= n &&
         pml__elf_get(f, names->sh_offset + section->sh_name, text, n) && memcmp(text, name, n) == 0;
}

static int add_sections(struct search *s, const struct pml__elf *f) {
  ElfW(Shdr) section, names;
  int err = 0;
  if (!pml__elf_section(f, f->head.e_shstrndx, &names)) return 0;
  for (uint64_t i = 0; err == 0 && pml__elf_section(f, i, &section); i++) {
    if (section.sh_type == SHT_NOBITS || (section.sh_flags & SHF_ALLOC) == 0) continue;
    if (is_named(f, &section, &names, "__patchable_function_entries"))
      err = add_addresses(s, &section, PML_ARCH_NOPS);
    else if (is_named(f, &section, &names, "__mcount_loc"))
      err = add_addresses(s, &section, PML_ARCH_PROFILER);
    else if (is_named(f, &section, &names, "xray_instr_map"))
      err = add_sleds(s, &section);
  }
  return err;
}

/* ---- patching ---- */

/* An island for each entry, which has the address of its thunk until then. */
static bool make_islands(struct patched *p, const struct pml__object *o) {
  uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE) - 1;
  p->bytes = (p->n * PML_ARCH_ISLAND_BYTES + page) & ~page;
  p->islands = pml__code_map_near(o, p->bytes, PML_ARCH_ENTRY_REACH);
  if (p->islands == NULL) return false;
  for (size_t i = 0; i < p->n; i++) {
    uint8_t *island = (uint8_t *)p->islands + i * PML_ARCH_ISLAND_BYTES;
    pml_arch_island_write(island, p->entry[i].island);
    p->entry[i].island = (uintptr_t)island;
  }
  return mprotect(p->islands, p->bytes, PROT_READ | PROT_EXEC) == 0;
}

static void patch_in(struct patched *p, const struct pml__segment *s, bool alone) {
  for (size_t i = 0; i < p->n; i++) {
    struct entry *e = &p->entry[i];
    if (e->at - s->lo < s->hi - s->lo && !pml_arch_entry_patch(e->at, e->island, e->saved, alone)) e->island = 0;
  }
}

static void patch(struct patched *p, const struct pml__object *o) {
  bool alone = pml__code_is_alone(), ready = make_islands(p, o);
  for (uint32_t i = 0; i < o->nsegments; i++) {
    if ((o->segment[i].flags & PF_X) == 0) continue;
    if (ready && pml__code_open(&o->segment[i])) {
      patch_in(p, &o->segment[i], alone);
      pml__code_close(&o->segment[i]);
    } else {
      for (size_t k = 0; k < p->n; k++)
        if (p->entry[k].at - o->segment[i].lo < o->segment[i].hi - o->segment[i].lo) p->entry[k].island = 0;
    }
  }
}

/* Their calls are not recorded: the code is not writable, no address near it is free, or other threads may run it. */
static void note_unpatched(const struct search *s) {
  for (size_t i = 0; i < s->to->n; i++) {
    if (s->to->entry[i].island != 0) continue;
    const struct pml__name *f = pml__names_find(&s->names, s->to->entry[i].function - s->o->base);
    if (f != NULL) pml__unrecorded_calls(pml__unrecorded_note(pml__names_text(&s->names, f), pml__object_file(s->o)));
  }
}

int pml__entries_patch(const struct pml__choice *c, struct pml__object *o) {
  struct search s = {.choice = c, .o = o};
  struct pml__elf f = {0};
  int saved = errno;
  for (const struct patched *p = patched; p != NULL; p = p->next)
    if (p->lo == o->lo && p->hi == o->hi) return 0;
  if (!pml__choice_instrumented(c, o->path) || pml__elf_open(&f, o->path) < 0) return 0;
  for (uint32_t i = 0; i < o->nsegments; i++) s.readable[i] = pml__object_readable(o, &o->segment[i]);
  s.to = calloc(1, sizeof *s.to);
  int err = s.to != NULL ? pml__names_read(&s.names, o->path) : -ENOMEM;
  if (err == 0) err = add_sections(&s, &f);
  if (err == 0 && s.to->n > 0) {
    s.to->next = patched;
    s.to->lo = o->lo;
    s.to->hi = o->hi;
    memcpy(s.to->segment, o->segment, sizeof o->segment);
    s.to->nsegments = o->nsegments;
    qsort(s.to->entry, s.to->n, sizeof *s.to->entry, compare);
    patch(s.to, o);
    note_unpatched(&s);
    patched = s.to;
  } else if (s.to != NULL) {
    discard(s.to);
  }
  pml__names_free(&s.names);
  pml__source_lines_free(s.lines);
  pml__elf_close(&f);
  errno = saved;
  return err == -ENOMEM ? pml_fail(err, "no memory to patch functions of %.200s", o->path) : 0;
}

/* ---- restoring ---- */

/* Islands and thunks stay, because a thread may be in them. @region: of the functions; 0: all. */
static void restore(struct patched *p, pml_region_t region, bool alone) {
  bool opened;
  for (uint32_t i = 0; i < p->nsegments; i++) {
    const struct pml__segment *s = &p->segment[i];
    if ((s->flags & PF_X) == 0) continue;
    opened = false;
    for (size_t k = 0; k < p->n; k++) {
      struct entry *e = &p->entry[k];
      if (e->island == 0 || e->at - s->lo >= s->hi - s->lo || (region != 0 && e->region != region)) continue;
      if (!opened && !(opened = pml__code_open(s))) break;
      if (pml_arch_entry_patch(e->at, 0, e->saved, alone)) e->island = 0;
    }
    if (opened) pml__code_close(s);
  }
}

void pml__entries_drop(pml_region_t region) {
  bool alone = pml__code_is_alone();
  for (struct patched *p = patched; p != NULL; p = p->next) restore(p, region, alone);
}

void pml__entries_restore(void) {
  bool alone = pml__code_is_alone();
  while (patched != NULL) {
    struct patched *p = patched;
    struct pml__object o = {0};
    patched = p->next;
    if (pml__object_at(&o, p->lo)) restore(p, 0, alone);
    free(o.path);
    free(o.file);
    discard(p);
  }
}

/* The object may have been loaded again at its address: then its code is the original. */
static bool is_patched(const struct patched *p) {
  for (size_t i = 0; i < p->n; i++)
    if (p->entry[i].island != 0)
      return memcmp((const void *)p->entry[i].at, p->entry[i].saved, PML_ARCH_PATCH_BYTES) != 0;
  return true;
}

void pml__entries_forget(const struct pml__objects *all) {
  for (struct patched **at = &patched, *p; (p = *at) != NULL;) {
    const struct pml__object *o = pml__objects_find(all, p->lo);
    if (o != NULL && o->lo == p->lo && o->hi == p->hi && is_patched(p)) {
      at = &p->next;
      continue;
    }
    *at = p->next;
    if (p->islands != NULL) (void)munmap(p->islands, p->bytes);
    discard(p);
  }
}

void pml__entries_give_up(void) {
  patched = NULL;
}
