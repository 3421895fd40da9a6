/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/event/pml_event_pfm.h - libpfm4, loaded on demand, behind its lock. */
#ifndef PML_EVENT_PFM_H
#define PML_EVENT_PFM_H

#include <linux/perf_event.h> /* first: libpfm4 has a copy */

#include "source/kernel/event/pml_event_parsers.h"

#include <perfmon/pfmlib_perf_event.h>

#define PML__LIBPFM_LIST(X)                                                                                            \
  X(initialize)                                                                                                        \
  X(strerror)                                                                                                          \
  X(get_pmu_info)                                                                                                      \
  X(get_event_next)                                                                                                    \
  X(get_event_info)                                                                                                    \
  X(get_event_attr_info)                                                                                               \
  X(get_os_event_encoding)                                                                                             \
  X(find_event)

struct pml__libpfm {
#define PML__LIBPFM_MEMBER(name) __typeof__(pfm_##name) *name;
  PML__LIBPFM_LIST(PML__LIBPFM_MEMBER)
#undef PML__LIBPFM_MEMBER
};

/*
 * pml__libpfm - its functions, or NULL and a detail with PML_ENOTHERE. It is never unloaded: names of events point into
 * it. Thread-safe. Cost, once: a dlopen(3), about a millisecond: relocating its 45,000 pointers took most of the start
 * time of each process.
 */
const struct pml__libpfm *pml__libpfm(void);

/* attr.type of an event whose PMU has no perf type because it is not here. */
#define PML__TYPE_NONE UINT32_MAX

/* libpfm4 has global state: everything below is called between these. False: libpfm4 is not usable, nothing is held. */
bool pml__pfm_lock(void);
void pml__pfm_unlock(void);
extern const struct pml__libpfm *pml__pfm;

bool pml__pfm_pmu(int i, pfm_pmu_info_t *pmu); /* PMU number @i, if this libpfm4 has it */

struct pml__pfm_encoding {
  struct perf_event_attr attr;
  int idx, cpu;   /* cpu: -1: any */
  bool corrected; /* libpfm4's code was wrong: attr has the right one */
};

/* pml__pfm_encode - returns PFM_SUCCESS or PFM_ERR_*. */
int pml__pfm_encode(const char *name, struct pml__pfm_encoding *e);

/*
 * pml__pfm_correct - replace a code that libpfm4 is known to have wrong. @full: libpfm4's whole name of the event, with
 * its PMU and all modifiers. Returns whether it was replaced. Cost: a walk over some 35 rows.
 */
bool pml__pfm_correct(const char *full, struct perf_event_attr *attr);

/* pml__pfm_prefix - what precedes a code in text: r of a core PMU's, config=0x of any other's. */
static inline const char *pml__pfm_prefix(const struct perf_event_attr *attr) {
  return attr->type == PERF_TYPE_RAW ? "r" : "config=0x";
}

#endif
