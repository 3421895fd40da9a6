/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/kernel/pml_event_kernel.c - the kernel's events as a source: choice of the parser, the list, and unknown
 * names.
 */
#include "source/kernel/event/pml_event_parsers.h"
#include "source/kernel/event/pml_event_pfm.h"
#include "source/kernel/pml_eventset_kernel.h"

#include <string.h>

static int offer(const struct pml_event_info *info, void *near) {
  pml__nearest_offer(near, info->name);
  return 0;
}

static const char *without_tables(void) {
  return pml__libpfm() == NULL ? "; libpfm.so.4, which lists the events of PMUs, is not installed (Debian: libpfm4)"
                               : "";
}

/*
 * @name is unknown: say what is near to it, among the events of its PMU if it names one. What names a PMU that is not
 * known may be of another source.
 */
static int fail_unknown(const char *name) {
  struct pml__mods m;
  char base[PML_EVENT_NAME_MAX], pmu[PML_EVENT_NAME_MAX] = "", text[512];
  pml__mods_split(&m, base, name);
  struct pml__nearest near = {.want = base};
  struct pml__walk w = {.visit = offer, .arg = &near};

  char *sep = strstr(base, "::");
  if (sep) {
    pml__copy(pmu, sizeof pmu, base);
    pmu[sep - base] = '\0';
    if (!pml__event_pfm_has_pmu(pmu)) {
      near.want = pmu;
      (void)pml__event_walk_pfm_pmus(&w);
      (void)pml_fail(PML_ENOEVENT, "no PMU \"%.64s\" for event \"%.128s\"%s%s", pmu, name,
                     pml__nearest_text(&near, text, sizeof text), without_tables());
      return PML__NOT_MINE;
    }
    w.pmu = pmu;
    (void)pml__event_walk_pfm(&w, false);
  } else {
    (void)pml__event_walk_generic(&w);
    (void)pml__event_walk_pfm(&w, true);
    if (strchr(base, ':')) (void)pml__event_walk_trace(&w);
    (void)pml__event_walk_sysfs(&w);
  }
  return pml_fail(PML_ENOEVENT, "no event \"%.200s\"%s%s", name, pml__nearest_text(&near, text, sizeof text),
                  without_tables());
}

/* Clocks of the kernel count ns, under any name. */
static void set_unit(struct pml_event *ev) {
  const struct perf_event_attr *a = &ev->first.attr;
  if (a->type != PERF_TYPE_SOFTWARE || *ev->unit) return;
  if (a->config == PERF_COUNT_SW_CPU_CLOCK || a->config == PERF_COUNT_SW_TASK_CLOCK)
    pml__copy(ev->unit, sizeof ev->unit, "ns");
}

static int parse_by_table(struct pml_event *ev, const char *name) {
  struct pml__mods m;
  char base[PML_EVENT_NAME_MAX];
  pml__mods_split(&m, base, name);

  int err = pml__event_parse_generic(ev, base, &m);
  if (err == PML__NOT_MINE) err = pml__event_parse_raw(ev, base, &m);
  if (err != PML__NOT_MINE) return err;
  /* Tracepoints before libpfm4: it would find them as well, but only where debugfs was mounted when it was set up. */
  int trace = pml__event_parse_trace(ev, base, &m);
  if (trace == 0) return 0;
  err = pml__event_parse_pfm(ev, name);
  if (err != PML__NOT_MINE) return err;
  if (trace != PML__NOT_MINE) return pml__event_parse_trace(ev, base, &m); /* again, for its detail */
  return fail_unknown(name);
}

static int parse_any(struct pml_event *ev, const char *name) {
  if (strncmp(name, "mem:", 4) == 0) return pml__event_parse_mem(ev, name);
  if (strncmp(name, "uprobe:", 7) == 0) return pml__event_parse_uprobe(ev, name);
  if (strncmp(name, "usdt:", 5) == 0) return pml__event_parse_usdt(ev, name);
  struct pml__place place;
  char base[PML_EVENT_NAME_MAX];
  pml__place_split(&place, base, name);
  int err = strchr(base, '/') ? pml__event_parse_sysfs(ev, base) : parse_by_table(ev, base);
  if (err == 0) err = pml__event_place(ev, &place);
  if (err == 0) set_unit(ev);
  return err;
}

/* The kernel takes precise_ip for events that know no such thing, and counts as ever. */
static int parse(struct pml_event *ev, const char *name) {
  int err = parse_any(ev, name);
  const struct pml_event_part *part = &ev->first;
  if (err != 0 || part->attr.precise_ip == 0) return err;
  bool kernels = part->attr.type == PERF_TYPE_SOFTWARE || part->attr.type == PERF_TYPE_TRACEPOINT ||
                 part->attr.type == PERF_TYPE_BREAKPOINT || strcmp(part->pmu, "uprobe") == 0;
  if (!kernels && part->cpu_any < 0) return 0;
  return pml_fail(PML_ESYNTAX, "%.200s: only events of the core PMU can be precise; omit the p after the colon", name);
}

static int walk(const struct pml__walk *w) {
  int err = pml__event_walk_generic(w);
  if (!err) err = pml__event_walk_sysfs(w);
  if (!err) err = pml__event_walk_pfm(w, true);
  if (!err) err = pml__event_walk_trace(w);
  if (!err) err = pml__event_walk_probe(w);
  if (!err && w->all) err = pml__event_walk_pfm(w, false);
  return err;
}

const struct pml__source pml__source_kernel = {.name = "perf",
                                               .parse = parse,
                                               .walk = walk,
                                               .backend_bytes = sizeof(struct pml__kernel_backend),
                                               .open = pml__kernel_open,
                                               .close = pml__kernel_close,
                                               .describe = pml__kernel_describe,
                                               .reading = pml__kernel_reading,
                                               .part = pml__kernel_part};
