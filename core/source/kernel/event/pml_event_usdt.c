/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/kernel/event/pml_event_usdt.c - USDT probes (usdt:), from the notes of sys/sdt.h.
 *
 * A note of type 3 and owner "stapsdt" in the section .note.stapsdt has three addresses (the place, the section
 * .stapsdt.base when the note was made, the semaphore or 0) and three texts (provider, name, arguments). Where the base
 * lies elsewhere now, the addresses have moved by as much. Format: the wiki page UserSpaceProbeImplementation of
 * SystemTap.
 */
#include "source/kernel/event/pml_event_elf.h"
#include "source/kernel/event/pml_event_parsers.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define USDT_GRAMMAR "usdt:PATH:PROVIDER:NAME[:ukh]"
#define OWNER "stapsdt"
#define NOTE_TYPE 3

/* A text of the notes: it must end before @end. Returns its length, or -1. */
static ptrdiff_t length_of(const unsigned char *text, const unsigned char *end) {
  const unsigned char *nul = text < end ? memchr(text, 0, (size_t)(end - text)) : NULL;
  return nul ? nul - text : -1;
}

/* Is the name of section @s @name? */
static bool is_called(const struct pml__elf *f, const ElfW(Shdr) * s, const char *name) {
  ElfW(Shdr) strings;
  char text[32];
  size_t n = strlen(name) + 1;
  return pml__elf_section(f, f->head.e_shstrndx, &strings) && s->sh_name < strings.sh_size &&
         pml__elf_get(f, strings.sh_offset + s->sh_name, text, n) && memcmp(text, name, n) == 0;
}

static bool find_section(const struct pml__elf *f, const char *name, ElfW(Shdr) * s) {
  for (uint64_t i = 0; i < f->head.e_shnum; i++)
    if (pml__elf_section(f, i, s) && is_called(f, s, name)) return true;
  return false;
}

/* Decode a note's description; false: it is damaged, or its place is not in the file. */
static bool read_place(const struct pml__elf *f, const unsigned char *at, const unsigned char *end, uint64_t base,
                       struct pml__usdt_place *place) {
  uintptr_t address[3]; /* place, base, semaphore */
  if ((size_t)(end - at) < sizeof address) return false;
  memcpy(address, at, sizeof address);
  at += sizeof address;
  ptrdiff_t n = length_of(at, end);
  if (n <= 0) return false;
  place->provider = (const char *)at;
  at += n + 1;
  n = length_of(at, end);
  if (n <= 0) return false;
  place->name = (const char *)at;
  place->arguments = length_of(at + n + 1, end) >= 0 ? (const char *)at + n + 1 : "";
  uint64_t moved = base && address[1] ? base - address[1] : 0;
  place->offset = pml__elf_offset(f, address[0] + moved);
  place->semaphore = address[2] ? pml__elf_offset(f, address[2] + moved) : 0;
  return place->offset < f->size && place->semaphore < f->size; /* a damaged segment may lead anywhere */
}

static int walk_notes(const struct pml__elf *f, const ElfW(Shdr) * notes, uint64_t base, pml__usdt_visit *visit,
                      void *arg) {
  if (notes->sh_type != SHT_NOTE || notes->sh_offset > f->size) return 0;
  uint64_t room = f->size - notes->sh_offset;
  const unsigned char *at = f->data + notes->sh_offset;
  const unsigned char *end = at + (notes->sh_size < room ? notes->sh_size : room);
  ElfW(Nhdr) head;
  int done = 0;
  while (!done && (size_t)(end - at) >= sizeof head) {
    memcpy(&head, at, sizeof head);
    at += sizeof head;
    uint64_t owner = ((uint64_t)head.n_namesz + 3) / 4 * 4, text = ((uint64_t)head.n_descsz + 3) / 4 * 4;
    if (owner > (size_t)(end - at) || head.n_descsz > (size_t)(end - at) - owner) break;
    struct pml__usdt_place place;
    if (head.n_type == NOTE_TYPE && head.n_namesz == sizeof OWNER && memcmp(at, OWNER, sizeof OWNER) == 0 &&
        read_place(f, at + owner, at + owner + head.n_descsz, base, &place))
      done = visit(&place, arg);
    if (text > (size_t)(end - at) - owner) break; /* the last one may lack what aligns the next */
    at += owner + text;
  }
  return done;
}

int pml__usdt_walk(const char *path, pml__usdt_visit *visit, void *arg) {
  struct pml__elf f = {0};
  ElfW(Shdr) notes, base = {0};
  int err = pml__elf_open(&f, path);
  if (err < 0) {
    pml__event_note_shortage(err);
    return err;
  }
  if (!find_section(&f, ".stapsdt.base", &base)) base.sh_addr = 0;
  if (find_section(&f, ".note.stapsdt", &notes)) err = walk_notes(&f, &notes, base.sh_addr, visit, arg);
  pml__elf_close(&f);
  return err;
}

/* --- the event --- */

struct usdt {
  char path[PML_EVENT_NAME_MAX], provider[PML_EVENT_NAME_MAX], name[PML_EVENT_NAME_MAX];
  struct pml__mods mods;
  uint64_t offset[PML_EVENT_PARTS_MAX], semaphore;
  unsigned places, semaphores, probes; /* semaphores: places whose semaphore is another than the first's */
  struct pml__nearest near;
  char want[2 * PML_EVENT_NAME_MAX]; /* "PROVIDER:NAME", for near ones */
};

/* Cut what follows the last colon; NULL: nothing does. */
static char *cut_last(char *text) {
  char *colon = strrchr(text, ':');
  if (!colon || colon == text || !colon[1]) return NULL;
  *colon = '\0';
  return colon + 1;
}

/* The last two colons part path, provider and name: paths may have colons. */
static int split(struct usdt *u, const char *event) {
  char text[PML_EVENT_NAME_MAX];
  pml__mods_split(&u->mods, text, event + strlen("usdt:"));
  unsigned colons = 0;
  for (const char *c = text; *c; c++) colons += *c == ':';
  if (colons < 2) { /* the apparent modifiers are the name */
    u->mods = (struct pml__mods){0};
    pml__copy(text, sizeof text, event + strlen("usdt:"));
  }
  const char *name = cut_last(text), *provider = name ? cut_last(text) : NULL;
  if (!provider) return pml_fail(PML_ESYNTAX, "event \"%.200s\": write %s", event, USDT_GRAMMAR);
  pml__copy(u->path, sizeof u->path, text);
  pml__copy(u->provider, sizeof u->provider, provider);
  pml__copy(u->name, sizeof u->name, name);
  return 0;
}

static int collect(const struct pml__usdt_place *place, void *arg) {
  struct usdt *u = arg;
  char text[PML_EVENT_NAME_MAX];
  u->probes++;
  if (strcmp(place->provider, u->provider) != 0 || strcmp(place->name, u->name) != 0) {
    (void)snprintf(text, sizeof text, "%.120s:%.120s", place->provider, place->name);
    pml__nearest_offer(&u->near, text);
    return 0;
  }
  for (unsigned i = 0; i < u->places && i < PML_EVENT_PARTS_MAX; i++)
    if (u->offset[i] == place->offset) return 0;
  if (u->places == 0) u->semaphore = place->semaphore;
  u->semaphores += place->semaphore != u->semaphore;
  if (u->places < PML_EVENT_PARTS_MAX) u->offset[u->places] = place->offset;
  u->places++;
  return 0;
}

static int find(struct usdt *u, const char *event) {
  char text[512];
  (void)snprintf(u->want, sizeof u->want, "%s:%s", u->provider, u->name);
  u->near.want = u->want;
  int err = pml__usdt_walk(u->path, collect, u);
  if (err == PML_EFORMAT) return pml_fail(err, "%.200s is not an ELF file of this machine's kind", u->path);
  if (err < 0) return pml_fail(err, "cannot read %.200s: %s", u->path, strerror(-err));
  if (u->probes == 0)
    return pml_fail(PML_ENOSYMBOL, "%.200s has no USDT probes (no .note.stapsdt); readelf -n lists those of a file",
                    u->path);
  if (u->places == 0)
    return pml_fail(PML_ENOSYMBOL, "no probe \"%.100s\" in %.100s%s", u->want, u->path,
                    pml__nearest_text(&u->near, text, sizeof text));
  if (u->places > PML_EVENT_PARTS_MAX)
    return pml_fail(PML_ETOOMANY, "event \"%.160s\": the probe has %u places; %d can be counted", event, u->places,
                    PML_EVENT_PARTS_MAX);
  if (u->semaphores > 0)
    return pml_fail(PML_EFORMAT, "event \"%.160s\": places of the probe have different semaphores", event);
  return 0;
}

/* Where the format of the PMU puts the semaphore's place in the file, which the kernel increments while it counts. */
static int put_semaphore(struct pml_event *ev, const struct usdt *u) {
  char text[64];
  struct pml__format format = {0};
  uint64_t word[4] = {0};
  if (u->semaphore == 0) return 0;
  if (pml__sysfs_file("uprobe", "format/ref_ctr_offset", text, sizeof text) < 0 || !pml__format_parse(&format, text))
    return pml_fail(-ENOTSUP, "event \"%.120s\": the probe has a semaphore, which kernels before 4.20 do not increment",
                    ev->name);
  if (!pml__format_put(&format, &word[format.word], u->semaphore))
    return pml_fail(-ENOTSUP, "event \"%.120s\": the semaphore lies too far in the file", ev->name);
  ev->first.attr.config = word[0];
  return 0;
}

int pml__event_parse_usdt(struct pml_event *ev, const char *name) {
  struct usdt u = {.places = 0};
  struct pml_event_other other[PML_EVENT_PARTS_MAX];
  int err = split(&u, name);
  if (err == 0) err = find(&u, name);
  if (err == 0) err = pml__uprobe_part(ev, name, u.path, u.offset[0]);
  if (err == 0) err = put_semaphore(ev, &u);
  if (err < 0) return err;
  pml__mods_apply(&u.mods, &ev->first.attr, false);
  memset(other, 0, sizeof other);
  for (unsigned i = 1; i < u.places; i++) {
    other[i - 1].pmu = ev->first.pmu;
    other[i - 1].cpu_any = ev->first.cpu_any;
    other[i - 1].probe_offset = u.offset[i];
  }
  return pml__event_others(ev, other, u.places - 1);
}
