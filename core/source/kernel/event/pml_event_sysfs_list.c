/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/event/pml_event_sysfs_list.c - lister of the events of sysfs PMUs. */
#include "source/kernel/event/pml_event_sysfs.h"

#include <stdio.h>
#include <string.h>

/* unit, scale and the like of an event, not events */
static bool is_property(const char *name) {
  static const char *const suffix[] = {".unit", ".scale", ".per-pkg", ".snapshot"};
  size_t n = strlen(name);
  for (size_t i = 0; i < sizeof suffix / sizeof *suffix; i++) {
    size_t k = strlen(suffix[i]);
    if (n > k && strcmp(name + n - k, suffix[i]) == 0) return true;
  }
  return false;
}

/* "pmu/event,param=0/": a parameter the event leaves open needs a value to parse. */
static bool event_name(char *name, size_t size, const char *pmu, const char *event, const char *text) {
  int n = snprintf(name, size, "%s/%s", pmu, event);
  if (n < 0 || (size_t)n >= size) return false;
  size_t used = (size_t)n;
  for (const char *s = text; *s;) {
    size_t len = strcspn(s, ",");
    if (len > 2 && strncmp(s + len - 2, "=?", 2) == 0) {
      n = snprintf(name + used, size - used, ",%.*s0", (int)(len - 1), s);
      if (n < 0 || (size_t)n >= size - used) return false;
      used += (size_t)n;
    }
    s += len + (s[len] == ',');
  }
  n = snprintf(name + used, size - used, "/");
  return n == 1 && used + 1 < size;
}

struct sysfs_walk {
  const struct pml__walk *w;
  const char *pmu;
  bool probed, available;
  const char *reason;
};

/* List a row for each place of the event @base, if there are several. */
static int walk_places(const struct sysfs_walk *s, const char *base, const struct pml_event *ev,
                       struct pml_event_info *info) {
  char name[PML_EVENT_NAME_MAX + PML_EVENT_PLACE_MAX + 2];
  int err = 0;
  for (unsigned i = 0; !err && ev->nparts > 1 && i < ev->nparts && *ev->first.place; i++) {
    if (snprintf(name, sizeof name, "%s:%s", base, pml_event_part(ev, i).place) >= PML_EVENT_NAME_MAX) continue;
    info->name = name;
    err = pml__walk_row(s->w, info);
  }
  return err;
}

static int parse(struct pml_event *ev, const char *name) {
  struct pml__place place;
  char base[PML_EVENT_NAME_MAX];
  int err = pml__event_begin(ev, name);
  if (err < 0) return err;
  pml__place_split(&place, base, name);
  err = pml__event_parse_sysfs(ev, base);
  return err == 0 ? pml__event_place(ev, &place) : err;
}

static int walk_event(struct sysfs_walk *s, const char *event) {
  char name[PML_EVENT_NAME_MAX], file[300], text[PML__ALIAS_MAX], places[200] = "";
  char meaning[PML__ALIAS_MAX + 32], description[PML__ALIAS_MAX + 300];
  (void)snprintf(file, sizeof file, "events/%s", event);
  if (pml__sysfs_file(s->pmu, file, text, sizeof text) < 0) return 0;
  if (!event_name(name, sizeof name, s->pmu, event, text)) return 0;

  struct pml_event ev = {.nparts = 0};
  char base[PML_EVENT_NAME_MAX];
  pml__copy(base, sizeof base, name);
  int err = s->w->probe ? parse(&ev, name) : 0;
  if (err == PML_ETOOMANY) { /* list its places instead, if an event has room for the places of one package */
    size_t used = strlen(name);
    (void)snprintf(name + used, sizeof name - used, ":package0");
    err = parse(&ev, name);
  }
  if (err < 0) return 0;
  if (s->w->probe && !s->probed) {
    s->available = pml__event_probe(&ev.first.attr, ev.first.cpu_any, &s->reason);
    s->probed = true;
  }
  (void)snprintf(meaning, sizeof meaning, "%s%s%s", text, s->w->probe && *ev.unit ? "; in " : "",
                 s->w->probe ? ev.unit : "");
  if (s->w->probe) pml__event_places(&ev, places, sizeof places);
  (void)snprintf(description, sizeof description, "%s%s%s", meaning,
                 !*places        ? ""
                 : ev.nparts > 1 ? "; the sum of "
                                 : "; the same as ",
                 places);
  struct pml_event_info info = {.name = name, .description = description, .source = "sysfs", .pmu = s->pmu};
  info.available = s->available;
  info.reason = s->reason;
  err = pml__walk_row(s->w, &info);
  info.description = meaning;
  return err || !s->w->probe ? err : walk_places(s, base, &ev, &info);
}

int pml__event_walk_sysfs(const struct pml__walk *w) {
  struct dirent **pmus = NULL, **events = NULL;
  int err = 0, npmu = pml__sysfs_names("", "", &pmus);
  for (int i = 0; i < npmu && !err; i++) {
    struct sysfs_walk s = {.w = w, .pmu = pmus[i]->d_name, .reason = ""};
    int n = pml__sysfs_names(s.pmu, "events", &events);
    for (int k = 0; k < n && !err; k++)
      if (!is_property(events[k]->d_name)) err = walk_event(&s, events[k]->d_name);
    pml__sysfs_names_free(events, n);
  }
  pml__sysfs_names_free(pmus, npmu);
  return err;
}
