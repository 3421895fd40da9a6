/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/base/pml_event_parse.c - parser functions for event names, shared by all sources. */
#include "source/base/pml_event_parse.h"

#include "source/base/pml_source.h"

#include <ctype.h>
#include <errno.h>
#include <fnmatch.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(struct pml_event) < 512, "an event of one part is small");

void pml__copy(char *to, size_t size, const char *from) {
  size_t n = strnlen(from, size - 1);
  memcpy(to, from, n);
  to[n] = '\0';
}

bool pml__parse_u64(const char *s, size_t n, uint64_t *value) {
  unsigned base = 10;
  if (n > 2 && s[0] == '0' && (s[1] == 'x' || s[1] == 'X')) {
    base = 16;
    s += 2;
    n -= 2;
  }
  if (n == 0) return false;
  uint64_t v = 0;
  for (size_t i = 0; i < n; i++) {
    unsigned char c = (unsigned char)s[i];
    unsigned digit = isdigit(c) ? (unsigned)(c - '0') : isxdigit(c) ? (unsigned)(tolower(c) - 'a') + 10u : 99u;
    if (digit >= base || v > (UINT64_MAX - digit) / base) return false;
    v = v * base + digit;
  }
  *value = v;
  return true;
}

bool pml__mods_parse(struct pml__mods *m, const char *s) {
  struct pml__mods got = {0};
  for (; *s; s++) {
    if (*s == 'p' && got.precise < 3) {
      got.precise++;
      continue;
    }
    bool *flag = *s == 'u' ? &got.user : *s == 'k' ? &got.kernel : *s == 'h' ? &got.hyper : NULL;
    if (!flag || *flag) return false;
    *flag = got.any = true;
  }
  if (!got.any && got.precise == 0) return false;
  *m = got;
  return true;
}

void pml__mods_split(struct pml__mods *m, char *base, const char *name) {
  *m = (struct pml__mods){0};
  pml__copy(base, PML_EVENT_NAME_MAX, name);
  char *colon = strrchr(base, ':');
  if (colon && colon > base && colon[-1] != ':' && pml__mods_parse(m, colon + 1)) *colon = '\0';
}

void pml__mods_apply(const struct pml__mods *m, struct perf_event_attr *attr, bool core_pmu) {
  attr->exclude_guest = core_pmu;
  attr->precise_ip = m->precise & 3;
  if (m->any) {
    attr->exclude_user = !m->user;
    attr->exclude_kernel = !m->kernel;
    attr->exclude_hv = !m->hyper;
  } else {
    attr->exclude_hv = core_pmu;
  }
}

/* Interned bytes are added in front and never removed, so a walk over the list stays valid. */
struct kept {
  struct kept *next;
  size_t n;
  _Alignas(8) char bytes[];
};
static struct kept *_Atomic kept;

const void *pml__keep(const void *bytes, size_t n) {
  struct kept *first = atomic_load_explicit(&kept, memory_order_acquire);
  for (const struct kept *k = first; k != NULL; k = k->next)
    if (k->n == n && memcmp(k->bytes, bytes, n) == 0) return k->bytes;
  struct kept *k = malloc(sizeof *k + n);
  if (k == NULL) {
    pml__event_note_shortage(-ENOMEM);
    return NULL;
  }
  k->next = first;
  k->n = n;
  memcpy(k->bytes, bytes, n);
  while (!atomic_compare_exchange_weak_explicit(&kept, &k->next, k, memory_order_release, memory_order_acquire)) {
  } /* two threads may keep the same: no harm */
  return k->bytes;
}

const char *pml__keep_text(const char *text) {
  const char *k = pml__keep(text, strlen(text) + 1);
  return k != NULL ? k : "";
}

struct pml_event_part *pml__event_first(struct pml_event *ev, const char *pmu) {
  struct pml_event_part *part = &ev->first;
  memset(part, 0, sizeof *part);
  part->pmu = pmu;
  part->attr.size = sizeof part->attr;
  part->here = true;
  part->cpu_any = -1;
  ev->nparts = 1;
  return part;
}

int pml__event_others(struct pml_event *ev, const struct pml_event_other *other, unsigned n) {
  if (n == 0) return 0;
  ev->other = pml__keep(other, n * sizeof *other);
  if (ev->other == NULL) return pml_fail(-ENOMEM, "event \"%.200s\": out of memory", ev->name);
  ev->nparts = n + 1;
  return 0;
}

/* Generic events have it in the upper half of config. */
void pml__event_set_core(struct perf_event_attr *attr, uint32_t type) {
  if (attr->type == PERF_TYPE_HARDWARE || attr->type == PERF_TYPE_HW_CACHE)
    attr->config = (attr->config & UINT32_MAX) | (uint64_t)type << 32;
  else
    attr->type = type;
}

struct pml_event_part pml_event_part(const struct pml_event *ev, unsigned i) {
  struct pml_event_part part = ev->first;
  if (i == 0) return part;
  const struct pml_event_other *other = &ev->other[i - 1];
  part.pmu = other->pmu;
  part.cpu_any = other->cpu_any;
  memcpy(part.place, other->place, sizeof part.place);
  if (other->core_type != 0) pml__event_set_core(&part.attr, other->core_type);
  if (other->probe_offset != 0) part.attr.probe_offset = other->probe_offset;
  return part;
}

static PML_THREAD_LOCAL int shortage;

void pml__event_note_shortage(int err) {
  if (shortage == 0 && (err == -ENOMEM || err == -EMFILE || err == -ENFILE)) shortage = err;
}

int pml__event_shortage(void) {
  return shortage;
}

int pml__event_shortage_reset(int err) {
  int was = shortage;
  shortage = err;
  return was;
}

static int check_name(const char *name) {
  if (!name || !*name) return pml_fail(PML_ESYNTAX, "an event name is empty");
  if (strnlen(name, PML_EVENT_NAME_MAX) == PML_EVENT_NAME_MAX)
    return pml_fail(-ENAMETOOLONG, "event name \"%.40s...\" is longer than %d bytes", name, PML_EVENT_NAME_MAX - 1);
  for (size_t i = 0; name[i]; i++)
    if ((unsigned char)name[i] < ' ' || name[i] == 0x7f)
      return pml_fail(PML_ESYNTAX, "an event name has the control character 0x%02x at byte %zu",
                      (unsigned)(unsigned char)name[i], i + 1);
  return 0;
}

int pml__event_begin(struct pml_event *ev, const char *name) {
  int err = check_name(name);
  if (err < 0) return err;
  memset(ev, 0, sizeof *ev);
  ev->scale = 1;
  pml__copy(ev->name, sizeof ev->name, name);
  return 0;
}

/* ---- event sources: name prefixes, list rows, suggestions ---- */

const char *pml__source_rest(const struct pml__source *source, const char *name) {
  size_t n = source->prefix != NULL ? strlen(source->prefix) : 0;
  return strncmp(name, source->prefix != NULL ? source->prefix : "", n) == 0 ? name + n : NULL;
}

static bool matches(const char *pattern, const char *text) {
  if (!strpbrk(pattern, "*?[")) return strcasestr(text, pattern) != NULL;
  return fnmatch(pattern, text, FNM_CASEFOLD) == 0;
}

int pml__walk_row(const struct pml__walk *w, const struct pml_event_info *info) {
  if (pml__event_shortage() < 0) return pml__event_shortage();
  if (w->pattern && !matches(w->pattern, info->name) && !matches(w->pattern, info->description)) return 0;
  return w->visit(info, w->arg);
}

static int offer(const struct pml_event_info *info, void *near) {
  pml__nearest_offer(near, info->name);
  return 0;
}

const char *pml__source_nearest(const struct pml__source *source, const char *name, char *buf, size_t size) {
  struct pml__nearest near = {.want = name};
  struct pml__walk w = {.visit = offer, .arg = &near};
  (void)source->walk(&w);
  return pml__nearest_text(&near, buf, size);
}
