/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/pml_counter_error.h - explanations and remedies of perf_event_open failures. */
#ifndef PML_COUNTER_ERROR_H
#define PML_COUNTER_ERROR_H

#include "source/kernel/pml_counter.h"

/* The request that was refused. */
struct pml__counter_request {
  const struct pml_event *ev;
  const struct perf_event_attr *attr;
  const char *pmu;
  pid_t pid; /* as perf_event_open was asked */
  int cpu;
  bool joins;       /* it was to join a group */
  bool opens_alone; /* and would open without it */
};

/* pml__counter_refused - the code for errno @err, its detail set. Reads /proc/sys. */
int pml__counter_refused(const struct pml__counter_request *q, int err);

/* pml__counter_starved - the code for events that opened, but get no counter: the watchdog's or others' fault. */
int pml__counter_starved(const char *name);

/* Is the event counted by the kernel's software, so that it fits into any group and has no page? */
bool pml__counter_is_software(const struct perf_event_attr *attr, const char *pmu);

/*
 * Intel's slots and topdown metrics (event 0, umask 4 or 80-8f) share the register PERF_METRICS, which has fractions of
 * slots; the kernel gives fractions times slots, for a group that slots leads.
 */
enum pml__packed { PML__NOT_PACKED, PML__PACKED_SLOTS, PML__PACKED_METRIC };
enum pml__packed pml__counter_packed(const struct perf_event_attr *attr, bool intel);
bool pml__cpu_is_intel(void);

#endif
