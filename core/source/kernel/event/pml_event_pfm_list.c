/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/event/pml_event_pfm_list.c - lister of libpfm4's tables. */
#include "source/kernel/event/pml_event_pfm.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

/* Availability is a matter of the perf type, and so are the places where it counts: asked once for each. */
#define TYPES_MAX 64
struct type {
  uint32_t type;
  bool available;
  const char *reason;
  char places[160]; /* suffixes for places; "" if it counts threads */
};

struct types {
  unsigned n;
  struct type row[TYPES_MAX];
};

static void ask_kernel(struct type *t, const struct perf_event_attr *attr) {
  struct pml_event ev = {.scale = 1};
  const struct pml__place anywhere = {-1, -1, -1};
  char places[100];
  struct pml_event_part *part = pml__event_first(&ev, "");
  part->attr = *attr;
  (void)pml__event_place(&ev, &anywhere);                                /* too many places are still places */
  if (attr->type == PERF_TYPE_HW_CACHE || attr->type == PERF_TYPE_RAW) { /* any code may be odd; this one is not */
    part->attr.type = PERF_TYPE_HARDWARE;
    part->attr.config = PERF_COUNT_HW_INSTRUCTIONS;
  }
  t->type = attr->type;
  t->available = pml__event_probe(&part->attr, part->cpu_any, &t->reason);
  pml__event_places(&ev, places, sizeof places);
  (void)snprintf(t->places, sizeof t->places, "%s%s%s", *places ? " [per place: append " : "", places,
                 *places ? "]" : "");
}

static const struct type *type_of(struct types *t, const struct perf_event_attr *attr) {
  unsigned i = 0;
  while (i < t->n && t->row[i].type != attr->type) i++;
  if (i < t->n) return &t->row[i];
  if (t->n < TYPES_MAX) t->n++; /* else the last row is rebuilt each time */
  ask_kernel(&t->row[t->n - 1], attr);
  return &t->row[t->n - 1];
}

struct pfm_walk {
  const struct pml__walk *w;
  pfm_pmu_info_t pmu;
  struct types types;
};

static bool describe_type(const struct type *t, struct pml_event_info *info, char *text, size_t size) {
  info->reason = t->reason;
  if (t->places[0] != '\0') {
    (void)snprintf(text, size, "%.1000s%s", info->description, t->places);
    info->description = text;
  }
  return t->available;
}

/* A row for @name, if it encodes as it stands: a unit mask that needs a second one beside it does not. */
static int row(struct pfm_walk *p, const char *name, const char *description) {
  struct pml_event_info info = {.name = name, .description = description, .source = "libpfm4", .reason = ""};
  char text[1200], corrected[1100];
  info.pmu = p->pmu.name;
  if (p->w->probe) {
    struct pml__pfm_encoding e;
    if (pml__pfm_encode(name, &e) != PFM_SUCCESS) return 0;
    if (e.attr.type == PERF_TYPE_TRACEPOINT) return 0; /* listed from tracefs */
    if (e.corrected) {
      (void)snprintf(corrected, sizeof corrected, "%.1000s [code corrected: %s%llx]", description,
                     pml__pfm_prefix(&e.attr), (unsigned long long)e.attr.config);
      info.description = corrected;
    }
    if (p->pmu.is_present && e.attr.type != PML__TYPE_NONE)
      info.available = describe_type(type_of(&p->types, &e.attr), &info, text, sizeof text);
    else
      info.reason = "this machine has no such PMU";
  }
  return pml__walk_row(p->w, &info);
}

static int walk_event(struct pfm_walk *p, const pfm_event_info_t *ev) {
  char name[PML_EVENT_NAME_MAX], text[1024];
  int n = snprintf(name, sizeof name, "%s::%s", p->pmu.name, ev->name);
  if (n < 0 || (size_t)n >= sizeof name) return 0;
  int err = row(p, name, ev->desc ? ev->desc : "");
  for (int i = 0; i < ev->nattrs && !err; i++) {
    pfm_event_attr_info_t attr = {.size = sizeof attr};
    if (pml__pfm->get_event_attr_info(ev->idx, i, PFM_OS_PERF_EVENT_EXT, &attr) != PFM_SUCCESS) continue;
    if (attr.type != PFM_ATTR_UMASK) continue;
    if ((size_t)snprintf(name + n, sizeof name - (size_t)n, ":%s", attr.name) >= sizeof name - (size_t)n) continue;
    (void)snprintf(text, sizeof text, "%s: %s", ev->desc ? ev->desc : "", attr.desc ? attr.desc : "");
    err = row(p, name, text);
  }
  return err;
}

static int walk_pmu(struct pfm_walk *p) {
  for (int e = p->pmu.first_event; e != -1; e = pml__pfm->get_event_next(e)) {
    pfm_event_info_t ev = {.size = sizeof ev};
    if (pml__pfm->get_event_info(e, PFM_OS_PERF_EVENT_EXT, &ev) != PFM_SUCCESS) continue;
    int err = walk_event(p, &ev);
    if (err) return err;
  }
  return 0;
}

/* perf_raw has no names but rNNN, which have their own row. */
static bool wanted(const struct pml__walk *w, const pfm_pmu_info_t *pmu, bool here) {
  if (w->pmu) return strcasecmp(w->pmu, pmu->name) == 0;
  return pmu->is_present == here && strcmp(pmu->name, "perf_raw") != 0;
}

int pml__event_walk_pfm(const struct pml__walk *w, bool here) {
  struct pfm_walk p = {.w = w};
  int err = 0;
  if (!pml__pfm_lock()) return 0;
  for (int i = 0; i < PFM_PMU_MAX && !err; i++)
    if (pml__pfm_pmu(i, &p.pmu) && wanted(w, &p.pmu, here)) err = walk_pmu(&p);
  pml__pfm_unlock();
  return err;
}

int pml__event_walk_pfm_pmus(const struct pml__walk *w) {
  int err = 0;
  if (!pml__pfm_lock()) return 0;
  for (int i = 0; i < PFM_PMU_MAX && !err; i++) {
    pfm_pmu_info_t pmu;
    if (!pml__pfm_pmu(i, &pmu)) continue;
    struct pml_event_info info = {.name = pmu.name, .description = pmu.desc, .source = "libpfm4", .pmu = pmu.name};
    info.reason = "";
    err = pml__walk_row(w, &info);
  }
  pml__pfm_unlock();
  return err;
}

bool pml__event_pfm_has_pmu(const char *name) {
  bool found = false;
  if (!pml__pfm_lock()) return false;
  for (int i = 0; i < PFM_PMU_MAX && !found; i++) {
    pfm_pmu_info_t pmu;
    found = pml__pfm_pmu(i, &pmu) && strcasecmp(pmu.name, name) == 0;
  }
  pml__pfm_unlock();
  return found;
}

static const char *kind_of(const pfm_pmu_info_t *pmu) {
  switch (pmu->type) {
  case PFM_PMU_TYPE_CORE:
    return "core";
  case PFM_PMU_TYPE_UNCORE:
    return "uncore";
  case PFM_PMU_TYPE_OS_GENERIC:
    return "os";
  default:
    return "unknown";
  }
}

static unsigned positive(int n) {
  return n > 0 ? (unsigned)n : 0;
}

int pml_event_pmus(struct pml_event_pmu *out, size_t max) {
  int n = 0;
  pfm_pmu_info_t pmu;
  if (!pml__pfm_lock()) return 0;
  for (int i = 0; i < PFM_PMU_MAX; i++) {
    if (!pml__pfm_pmu(i, &pmu)) continue;
    if ((size_t)n++ >= max) continue;
    struct pml_event_pmu *p = &out[n - 1];
    pml__copy(p->name, sizeof p->name, pmu.name);
    pml__copy(p->description, sizeof p->description, pmu.desc);
    p->kind = kind_of(&pmu);
    p->counters = positive(pmu.num_cntrs);
    p->fixed = positive(pmu.num_fixed_cntrs);
    p->events = positive(pmu.nevents);
    p->here = pmu.is_present;
  }
  pml__pfm_unlock();
  return n;
}
