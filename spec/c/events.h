/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/events.h - software events built by hand, and work whose count is known. */
#ifndef SPEC_EVENTS_H
#define SPEC_EVENTS_H

#include "source/pml_event.h"

#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static inline struct pml_event perf_event(const char *name, const char *pmu, uint32_t type, uint64_t config) {
  struct pml_event ev = {.kind = PML_EVENT_PERF, .scale = 1, .nparts = 1};
  snprintf(ev.name, sizeof ev.name, "%s", name);
  snprintf(ev.part[0].pmu, sizeof ev.part[0].pmu, "%s", pmu);
  ev.part[0].attr.type = type;
  ev.part[0].attr.size = sizeof ev.part[0].attr;
  ev.part[0].attr.config = config;
  ev.part[0].here = true;
  ev.part[0].cpu_any = -1;
  return ev;
}

static inline struct pml_event software(const char *name, uint64_t config) {
  return perf_event(name, "software", PERF_TYPE_SOFTWARE, config);
}

static inline struct pml_event faults(void) {
  return software("page-faults", PERF_COUNT_SW_PAGE_FAULTS);
}
static inline struct pml_event task_clock(void) {
  return software("task-clock", PERF_COUNT_SW_TASK_CLOCK);
}
static inline struct pml_event switches(void) {
  return software("context-switches", PERF_COUNT_SW_CONTEXT_SWITCHES);
}

static inline struct pml_event watchpoint(const void *address) {
  struct pml_event ev = perf_event("mem:watched:w", "breakpoint", PERF_TYPE_BREAKPOINT, 0);
  ev.part[0].attr.bp_type = HW_BREAKPOINT_W;
  ev.part[0].attr.bp_addr = (uint64_t)(uintptr_t)address;
  ev.part[0].attr.bp_len = HW_BREAKPOINT_LEN_8;
  return ev;
}

static inline struct pml_event clock_event(const char *name, enum pml_event_kind kind) {
  struct pml_event ev = {.kind = kind, .scale = 1};
  snprintf(ev.name, sizeof ev.name, "%s", name);
  return ev;
}

/* n pages that nobody touched yet, without huge pages: each touch is one fault. */
struct fresh {
  volatile char *at;
  size_t page, pages, next;
};

static inline struct fresh fresh_open(size_t pages) {
  struct fresh f = {.page = (size_t)sysconf(_SC_PAGESIZE), .pages = pages};
  void *m = mmap(NULL, pages * f.page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (m == MAP_FAILED) {
    f.pages = 0;
    return f;
  }
  madvise(m, pages * f.page, MADV_NOHUGEPAGE);
  f.at = m;
  return f;
}

/* Touch @n of them; how many could be touched. */
static inline size_t fresh_touch(struct fresh *f, size_t n) {
  size_t done = 0;
  for (; done < n && f->next < f->pages; done++) f->at[f->next++ * f->page] = 1;
  return done;
}

static inline void fresh_close(struct fresh *f) {
  if (f->at != NULL) munmap((void *)(uintptr_t)f->at, f->pages * f->page);
  f->at = NULL;
}

#endif
