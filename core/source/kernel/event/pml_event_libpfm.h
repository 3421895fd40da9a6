/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/kernel/event/pml_event_libpfm.h - libpfm4, loaded on demand: relocating its 45,000 pointers took most of
 * the start time of each process.
 */
#ifndef PML_EVENT_LIBPFM_H
#define PML_EVENT_LIBPFM_H

#include <linux/perf_event.h> /* first: libpfm4 has a copy */

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
 * it. Thread-safe. Cost, once: a dlopen(3), about a millisecond.
 */
const struct pml__libpfm *pml__libpfm(void);

#endif
