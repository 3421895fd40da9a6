/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/event/pml_event_user.c - events that count user space only, because the kernel may not be counted.
 */
#include "source/kernel/event/pml_event_parsers.h"

#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define CGROUP_SWITCHES 11 /* PERF_COUNT_SW_CGROUP_SWITCHES, which older headers lack */

bool pml__event_is_of_kernel(const struct perf_event_attr *attr) {
  if (attr->type == PERF_TYPE_TRACEPOINT) return true;
  if (attr->type != PERF_TYPE_SOFTWARE) return false;
  switch (attr->config) {
  case PERF_COUNT_SW_CONTEXT_SWITCHES:
  case PERF_COUNT_SW_CPU_MIGRATIONS:
  case PERF_COUNT_SW_BPF_OUTPUT:
  case CGROUP_SWITCHES:
    return true;
  default:
    return false;
  }
}

bool pml__event_counts_in_user_space(const struct pml_event *ev) {
  return ev->nparts == 0 || (!pml__event_is_of_kernel(&ev->first.attr) && strcmp(ev->first.pmu, "kprobe") != 0);
}

/* :u, :k, :h at the end, PMU/EVENT/u, or libpfm4's :u=1. */
static bool has_modifier(const char *name) {
  struct pml__mods m;
  char base[PML_EVENT_NAME_MAX];
  pml__mods_split(&m, base, name);
  if (m.any || strstr(name, ":u=") != NULL || strstr(name, ":k=") != NULL) return true;
  const char *slash = strncmp(name, "uprobe:", 7) != 0 ? strrchr(name, '/') : NULL;
  return slash != NULL && slash[1] != '\0';
}

bool pml__event_may_be_user_only(const struct pml_event *ev) {
  if (ev->nparts == 0 || has_modifier(ev->name)) return false;
  if (strlen(ev->name) + sizeof PML__USER_ONLY > PML_EVENT_NAME_MAX) return false;
  if (ev->first.attr.exclude_user || ev->first.attr.exclude_kernel || ev->first.cpu_any >= 0) return false;
  return pml__event_counts_in_user_space(ev);
}

int pml__event_sysctl(const char *path, int absent) {
  int v = absent;
  FILE *f = fopen(path, "re");
  if (f == NULL) return absent;
  if (fscanf(f, "%d", &v) != 1) v = absent;
  fclose(f);
  return v;
}

int pml__paranoid_level(void) {
  return pml__event_sysctl("/proc/sys/kernel/perf_event_paranoid", 2);
}

/* 0: empty; 1: the text is being written; 2: complete; 3: taken. The release of 2 publishes the text. */
static _Atomic int state;
static char text[PML_EVENT_NAME_MAX + 160];

void pml__event_note_user_only(const struct pml_event *ev) {
  int none = 0;
  if (!atomic_compare_exchange_strong(&state, &none, 1)) return;
  (void)snprintf(
      text, sizeof text,
      "perf_event_paranoid is %d, so events without a modifier count user space only (%s%s); as root, sysctl "
      "kernel.perf_event_paranoid=1 adds the kernel",
      pml__paranoid_level(), ev->name, PML__USER_ONLY);
  atomic_store_explicit(&state, 2, memory_order_release);
}

const char *pml_event_user_only(void) {
  int there = 2;
  return atomic_compare_exchange_strong_explicit(&state, &there, 3, memory_order_acquire, memory_order_relaxed) ? text
                                                                                                                : NULL;
}

const char *pml_event_user_only_reason(void) {
  return atomic_load_explicit(&state, memory_order_acquire) >= 2 ? text : NULL;
}
