/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/event/pml_event_user.c - events restricted to user space, where the kernel may not be counted. */
#include "source/kernel/event/pml_event_parsers.h"
#include "source/kernel/event/pml_event_pfm.h"

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

bool pml__event_ignores_modes(const struct perf_event_attr *attr) {
  return attr->type == PERF_TYPE_SOFTWARE &&
         (attr->config == PERF_COUNT_SW_CPU_CLOCK || attr->config == PERF_COUNT_SW_TASK_CLOCK);
}

bool pml__event_counts_in_user_space(const struct pml_event *ev) {
  return ev->nparts == 0 || (!pml__event_is_of_kernel(&ev->first.attr) && strcmp(ev->first.pmu, "kprobe") != 0);
}

/* :u, :k, :h, :p at the end, PMU/EVENT/u, or libpfm4's :u=1. */
static bool has_modifier(const char *name) {
  struct pml__mods m;
  char base[PML_EVENT_NAME_MAX];
  pml__mods_split(&m, base, name);
  if (m.any || m.precise > 0 || strstr(name, ":u=") != NULL || strstr(name, ":k=") != NULL) return true;
  bool has_path = strncmp(name, "uprobe:", 7) == 0 || strncmp(name, "usdt:", 5) == 0;
  const char *slash = has_path ? NULL : strrchr(name, '/');
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
static struct {
  _Atomic int state;
  char text[PML_EVENT_NAME_MAX + 160];
} note[PML__NOTES];

void pml__event_note(enum pml__event_note which, const struct pml_event *ev) {
  int none = 0;
  if (!atomic_compare_exchange_strong(&note[which].state, &none, 1)) return;
  char *text = note[which].text;
  if (which == PML__NOTE_USER_ONLY)
    (void)snprintf(
        text, sizeof note->text,
        "perf_event_paranoid is %d, so events without a modifier count user space only (%s%s); as root, sysctl "
        "kernel.perf_event_paranoid=1 adds the kernel",
        pml__paranoid_level(), ev->name, PML__USER_ONLY);
  else if (which == PML__NOTE_GUESTS)
    (void)snprintf(text, sizeof note->text, "this PMU is lent to guests (mediated): %s leaves them out", ev->name);
  else if (which == PML__NOTE_HOST)
    (void)snprintf(text, sizeof note->text, "this PMU cannot exclude guests: %s also counts them", ev->name);
  else if (which == PML__NOTE_CLOCK)
    (void)snprintf(text, sizeof note->text,
                   "%s: the kernel's clocks ignore :u and :k; it counts user space and the kernel", ev->name);
  else if (which == PML__NOTE_ONE_THREAD)
    (void)snprintf(text, sizeof note->text,
                   "%.120s: of one thread only, not of those that it starts; as root: mount -t tracefs nodev "
                   "/sys/kernel/tracing",
                   ev->name);
  else if (which == PML__NOTE_NEVER)
    (void)snprintf(text, sizeof note->text, "%s is always 0: it happens in the kernel only; omit :u", ev->name);
  else if (which == PML__NOTE_CODE)
    (void)snprintf(text, sizeof note->text,
                   "libpfm4 has a wrong code for %s; %s%llx, of Intel's event files, counts it", ev->name,
                   pml__pfm_prefix(&ev->first.attr), (unsigned long long)ev->first.attr.config);
  else
    (void)snprintf(text, sizeof note->text,
                   "this PMU has no precise events (a guest's?): %s was opened without precision", ev->name);
  atomic_store_explicit(&note[which].state, 2, memory_order_release);
}

const char *pml_event_user_only(void) {
  for (int i = 0; i < PML__NOTES; i++) {
    int there = 2;
    if (atomic_compare_exchange_strong_explicit(&note[i].state, &there, 3, memory_order_acquire, memory_order_relaxed))
      return note[i].text;
  }
  return NULL;
}

const char *pml_event_user_only_reason(void) {
  for (int i = 0; i < PML__NOTES; i++)
    if (atomic_load_explicit(&note[i].state, memory_order_acquire) >= 2) return note[i].text;
  return NULL;
}
