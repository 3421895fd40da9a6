/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/event/pml_event_place.c - cpus of an uncore PMU's cpumask. */
#include "source/kernel/event/pml_event_sysfs.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CPU_MAX (1u << 20)
#define CPUS_MAX 1024 /* limit of a mask; it exceeds the limit of an event's parts */

/* A cpu of a mask, with its package and die; -1: not known. */
struct cpu {
  int cpu, package, die;
};

struct cpus {
  unsigned n;
  struct cpu cpu[CPUS_MAX];
};

/* --- names --- */

/* The number behind @word that ends @s, and the start of @word in it; NULL if it does not end so. */
static char *tail(char *s, const char *word, int *number) {
  char *colon = strrchr(s, ':');
  size_t n = strlen(word);
  uint64_t v;
  if (!colon || colon == s || strncmp(colon + 1, word, n) != 0) return NULL;
  const char *digits = colon + 1 + n;
  if (!pml__parse_u64(digits, strlen(digits), &v) || strspn(digits, "0123456789") != strlen(digits) || v > CPU_MAX)
    return NULL;
  *number = (int)v;
  return colon;
}

void pml__place_split(struct pml__place *place, char *base, const char *name) {
  *place = (struct pml__place){-1, -1, -1};
  pml__copy(base, PML_EVENT_NAME_MAX, name);
  char *end = tail(base, "cpu", &place->cpu);
  if (end) {
    *end = '\0';
    return;
  }
  char *die = tail(base, "die", &place->die);
  if (die) *die = '\0';
  end = tail(base, "package", &place->package);
  if (end)
    *end = '\0';
  else if (die) { /* the same die number is in each package */
    *die = ':';
    place->die = -1;
  }
}

static bool is_given(const struct pml__place *p) {
  return p->package >= 0 || p->cpu >= 0;
}

/* --- the machine --- */

static int topology(int cpu, const char *file) {
  char path[96], text[32];
  uint64_t v;
  (void)snprintf(path, sizeof path, "devices/system/cpu/cpu%d/topology/%s", cpu, file);
  if (pml__sysfs_read(path, text, sizeof text) < 0) return -1;
  return pml__parse_u64(text, strlen(text), &v) && v <= CPU_MAX ? (int)v : -1;
}

/* "0,24-25", going up: false if it is anything else, or longer than there is room for. */
static bool parse_list(struct cpus *list, const char *s) {
  uint64_t least = 0;
  list->n = 0;
  while (*s) {
    uint64_t first, last;
    size_t n = strspn(s, "0123456789");
    if (!pml__parse_u64(s, n, &first)) return false;
    last = first;
    s += n;
    if (*s == '-') {
      n = strspn(++s, "0123456789");
      if (!pml__parse_u64(s, n, &last)) return false;
      s += n;
    }
    if (first < least || last < first || last > CPU_MAX || last - first >= CPUS_MAX - list->n) return false;
    for (uint64_t c = first; c <= last; c++) list->cpu[list->n++] = (struct cpu){(int)c, -1, -1};
    least = last + 1;
    if (*s && *s++ != ',') return false;
  }
  return true;
}

/* The cpus to open events of @pmu on; an empty list: it has no cpumask, or an empty one. */
static void find_cpus(const char *pmu, struct cpus *list) {
  char text[4096];
  list->n = 0;
  if (!*pmu || pml__sysfs_file(pmu, "cpumask", text, sizeof text) < 0) return;
  if (!parse_list(list, text)) list->n = 0;
  for (unsigned i = 0; i < list->n; i++) {
    list->cpu[i].package = topology(list->cpu[i].cpu, "physical_package_id");
    list->cpu[i].die = topology(list->cpu[i].cpu, "die_id");
  }
}

bool pml__sysfs_pinned_to(const char *pmu) {
  char text[4096];
  cpu_set_t may;
  struct cpus *list = malloc(sizeof *list);
  bool pinned = list != NULL && pml__sysfs_file(pmu, "cpus", text, sizeof text) == 0 && parse_list(list, text) &&
                sched_getaffinity(0, sizeof may, &may) == 0;
  for (unsigned i = 0; pinned && i < list->n; i++) CPU_CLR((size_t)list->cpu[i].cpu, &may);
  pinned = pinned && CPU_COUNT(&may) == 0;
  free(list);
  return pinned;
}

/* The shortest name that is of cpu @i alone. */
static void name_place(const struct cpus *all, unsigned i, char name[PML_EVENT_PLACE_MAX]) {
  const struct cpu *c = &all->cpu[i];
  unsigned in_package = 0, in_die = 0;
  for (unsigned k = 0; k < all->n; k++) {
    in_package += all->cpu[k].package == c->package;
    in_die += all->cpu[k].package == c->package && all->cpu[k].die == c->die;
  }
  if (c->package >= 0 && in_package == 1)
    (void)snprintf(name, PML_EVENT_PLACE_MAX, "package%d", c->package);
  else if (c->package >= 0 && c->die >= 0 && in_die == 1)
    (void)snprintf(name, PML_EVENT_PLACE_MAX, "package%d:die%d", c->package, c->die);
  else
    (void)snprintf(name, PML_EVENT_PLACE_MAX, "cpu%d", c->cpu);
}

static bool is_in(const struct cpu *c, const struct pml__place *p) {
  if (p->cpu >= 0) return c->cpu == p->cpu;
  if (p->package >= 0 && c->package != p->package) return false;
  return p->die < 0 || c->die == p->die;
}

/* --- events --- */

/* The folder of the part's PMU: libpfm4's names are others than the kernel's, but the type is the same. */
static void find_folder(const struct pml_event *ev, char pmu[64]) {
  const struct pml_event_part *part = &ev->first;
  pmu[0] = '\0';
  if (strchr(ev->name, '/'))
    pml__copy(pmu, 64, part->pmu);
  else if (part->attr.type >= PERF_TYPE_MAX && part->here)
    pml__sysfs_pmu_of(part->attr.type, pmu);
}

static void list_places(const struct cpus *all, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (unsigned i = 0; i < all->n; i++) {
    char name[PML_EVENT_PLACE_MAX];
    name_place(all, i, name);
    int n = snprintf(text + used, size - used, "%s%s", i ? ", " : "", name);
    if (n < 0 || (size_t)n >= size - used) { /* as many as there is room for */
      text[used] = '\0';
      return;
    }
    used += (size_t)n;
  }
}

static int fail_place(const struct pml_event *ev, const struct cpus *all) {
  char text[300];
  if (all->n == 0)
    return pml_fail(PML_ESYNTAX, "event \"%.160s\": its PMU %s does not count by package; omit the place", ev->name,
                    ev->nparts ? ev->first.pmu : "");
  list_places(all, text, sizeof text);
  return pml_fail(PML_ENOEVENT, "event \"%.160s\": %s counts at %s only", ev->name, ev->first.pmu, text);
}

/* An event's parts: the places of its PMU, or of each PMU of a family. @found includes those without room. */
struct parts {
  unsigned n, found;
  struct pml_event_other part[PML_EVENT_PARTS_MAX];
};

/* @type: of @pmu, where it is another than the event's first; else 0. */
static void add_places(struct parts *parts, const char *pmu, uint32_t type, const struct cpus *all,
                       const struct pml__place *want) {
  for (unsigned i = 0; i < all->n; i++) {
    if (!is_in(&all->cpu[i], want) || ++parts->found > PML_EVENT_PARTS_MAX) continue;
    struct pml_event_other *part = &parts->part[parts->n++];
    memset(part, 0, sizeof *part); /* padding as well: equal parts are kept once */
    part->pmu = pmu;
    part->cpu_any = all->cpu[i].cpu;
    part->core_type = type;
    name_place(all, i, part->place);
  }
}

/* Too many places are an error, but as many as there is room for become parts. */
static int spread(struct pml_event *ev, const struct parts *parts) {
  const struct pml_event_other *first = &parts->part[0];
  ev->first.pmu = first->pmu;
  ev->first.cpu_any = first->cpu_any;
  memcpy(ev->first.place, first->place, sizeof first->place);
  if (first->core_type != 0) ev->first.attr.type = first->core_type;
  int rc = pml__event_others(ev, first + 1, parts->n - 1);
  if (rc < 0 || parts->found == parts->n) return rc;
  return pml_fail(PML_ETOOMANY, "event \"%.160s\": %s counts at more than %d places; choose one (:package0, :cpu%d)",
                  ev->name, first->pmu, PML_EVENT_PARTS_MAX, first->cpu_any);
}

/* The PMUs of a family count at the same time, each on the cpus of its mask. */
static int place_family(struct pml_event *ev, const char *pattern, const struct pml__place *want) {
  struct pml__family family;
  struct parts parts = {.n = 0};
  struct cpus all = {.n = 0};
  if (pml__sysfs_family(pattern, &family) < 0) return fail_place(ev, &all); /* gone meanwhile */
  for (unsigned i = 0; i < family.n && i < PML_EVENT_PARTS_MAX; i++) {
    char pmu[64];
    uint32_t type;
    pml__sysfs_member(&family, i, pmu);
    find_cpus(pmu, &all);
    if (all.n == 0 || pml__sysfs_type(pmu, &type) < 0)
      return pml_fail(PML_ENOEVENT, "event \"%.160s\": PMU %s does not count by package; name each PMU by itself",
                      ev->name, pmu);
    add_places(&parts, pml__keep_text(pmu), type, &all, want);
  }
  if (family.n > PML_EVENT_PARTS_MAX) parts.found = family.n;
  return parts.n > 0 ? spread(ev, &parts) : fail_place(ev, &all);
}

int pml__event_place(struct pml_event *ev, const struct pml__place *want) {
  struct cpus all = {.n = 0};
  struct parts parts = {.n = 0};
  char pmu[64] = "";
  size_t stem = strcspn(ev->name, "/");
  if (stem < sizeof pmu && ev->name[stem] == '/') pml__copy(pmu, stem + 1, ev->name);
  if (pml__sysfs_is_family(pmu)) return place_family(ev, pmu, want);
  pmu[0] = '\0';
  bool one = ev->nparts == 1 && ev->first.cpu_any < 0;
  if (one) find_folder(ev, pmu);
  find_cpus(pmu, &all);
  add_places(&parts, ev->first.pmu, 0, &all, want);
  if (parts.n == 0) return is_given(want) ? fail_place(ev, &all) : 0;
  return spread(ev, &parts);
}

void pml__event_places(const struct pml_event *ev, char *text, size_t size) {
  size_t used = 0;
  text[0] = '\0';
  for (unsigned i = 0; i < ev->nparts && ev->first.place[0] != '\0'; i++) {
    int n = snprintf(text + used, size - used, "%s:%s", i ? ", " : "", pml_event_part(ev, i).place);
    if (n < 0 || (size_t)n >= size - used) {
      text[used] = '\0';
      return;
    }
    used += (size_t)n;
  }
}
