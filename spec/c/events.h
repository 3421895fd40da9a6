/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/events.h - hand-made software events, and work with known counts. */
#ifndef SPEC_EVENTS_H
#define SPEC_EVENTS_H

#include "permission.h"
#include "source/pml_event.h"

#include <linux/hw_breakpoint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static inline struct pml_event perf_event(const char *name, const char *pmu, uint32_t type, uint64_t config) {
  struct pml_event ev = {.scale = 1, .nparts = 1};
  snprintf(ev.name, sizeof ev.name, "%s", name);
  ev.first.pmu = pmu;
  ev.first.attr.type = type;
  ev.first.attr.size = sizeof ev.first.attr;
  ev.first.attr.config = config;
  ev.first.here = true;
  ev.first.cpu_any = -1;
  ev.first.attr.exclude_kernel = !counts_kernel();
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
  ev.first.attr.bp_type = HW_BREAKPOINT_W;
  ev.first.attr.bp_addr = (uint64_t)(uintptr_t)address;
  ev.first.attr.bp_len = HW_BREAKPOINT_LEN_8;
  return ev;
}

static inline struct pml_event clock_event(const char *name) {
  struct pml_event ev = {.scale = 1};
  (void)pml_event_parse(&ev, name);
  return ev;
}

/* Page faults of the thread sanitizer itself while a loop runs; otherwise 0. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define STRAY_FAULTS 200u
#else
#define STRAY_FAULTS 0u
#endif

static inline bool is_faults(uint64_t counted, uint64_t expected) {
  return counted >= expected && counted <= expected + STRAY_FAULTS;
}

/* Untouched pages, without huge pages: each touch is one fault. */
struct fresh {
  volatile char *at;
  size_t page, pages, next;
};

/* Touch @n of them; how many could be touched. Not instrumented: a sanitizer's shadow would fault beside the page. */
__attribute__((noinline, no_sanitize("address", "thread", "undefined"))) static size_t fresh_touch(struct fresh *f,
                                                                                                   size_t n) {
  size_t done = 0;
  for (; done < n && f->next < f->pages; done++) f->at[f->next++ * f->page] = 1;
  return done;
}

/* One page more than asked for is touched at once, for the sake of the pages that touching itself needs. */
static inline struct fresh fresh_open(size_t pages) {
  struct fresh f = {.page = (size_t)sysconf(_SC_PAGESIZE), .pages = pages + 1};
  void *m = mmap(NULL, f.pages * f.page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (m == MAP_FAILED) {
    f.pages = 0;
    return f;
  }
  madvise(m, f.pages * f.page, MADV_NOHUGEPAGE);
  f.at = m;
  fresh_touch(&f, 1);
  return f;
}

static inline void fresh_close(struct fresh *f) {
  if (f->at != NULL) munmap((void *)(uintptr_t)f->at, f->pages * f->page);
  f->at = NULL;
}

#endif
