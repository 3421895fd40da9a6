/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/source/kernel/pml_eventset_kernel.h - the kernel's events in an event set: groups and their reading. Internal.
 */
#ifndef PML_EVENTSET_KERNEL_H
#define PML_EVENTSET_KERNEL_H

#include "source/base/pml_eventset_private.h"
#include "source/kernel/pml_counter_private.h"

/* A part of an event is a counter; cold. */
struct pml__kernel_part {
  const char *pmu;  /* with its place: "power:package0" */
  uint32_t counter; /* in counter[] */
  uint32_t group;
  uint32_t position; /* in the group */
  uint32_t word;     /* of its value, in words of the backend */
};

struct pml__kernel_event {
  uint32_t nparts;
  bool places; /* its parts are places that count side by side; else kinds of cores that take turns */
  struct pml__kernel_part *part;
};

/* A further word that belongs to an event: the other parts of one of several. @event is the set's number. */
struct pml__kernel_extra {
  uint32_t event, word;
};

struct pml__kernel_backend {
  struct pml__backend backend;
  uint64_t owner; /* thread that may use the pages */
  uint32_t ngroups;
  bool restarts; /* cores differ in kind: pages are read in restartable sections */
  struct pml__kernel_group *group;
  const volatile struct perf_event_mmap_page **page; /* pages of all groups */
  uint32_t nextra;
  struct pml__kernel_extra *extra;

  /* Fields that only opening, closing and queries touch. */
  uint32_t ncounters;
  struct pml_counter *counter;
  struct pml__kernel_part *part;
  struct pml__kernel_event *event; /* [backend.n] */
};

/* The kernel's backend of @s, which has one. It comes first. */
static inline struct pml__kernel_backend *pml__kernel_backend_of(const struct pml_eventset *s) {
  return (struct pml__kernel_backend *)s->backend;
}

/* The kernel's entry in the table of sources: pml_eventset_kernel_open.c, pml_eventset_kernel.c */
/*
 * pml__kernel_rank - in which order parts are opened, from 0. Slots come first, which must lead the group of topdown
 * metrics, and these next. Hardware comes before software: a software event joins any group, but a group led by one
 * takes any PMU's hardware and would hide which PMU it belongs to.
 */
#define PML__KERNEL_RANKS 5
int pml__kernel_rank(const struct perf_event_attr *attr, const char *pmu, bool intel);

int pml__kernel_open(struct pml__backend *backend, const struct pml_event *ev,
                     const struct pml_eventset_options *options);
void pml__kernel_close(struct pml__backend *backend);
void pml__kernel_describe(const struct pml__backend *backend, uint32_t k, struct pml_eventset_event *info);
void pml__kernel_reading(const struct pml__backend *backend, uint32_t k, struct pml_reading *out, double *scaled);
int pml__kernel_part(const struct pml__backend *backend, uint32_t k, unsigned p, const char **pmu,
                     struct pml_reading *out);

/* As pml__backend.plain_read, of an only group with pages; the second where cores differ in kind. */
pml__source_plain_read pml__kernel_plain_read, pml__kernel_plain_read_restartable;

/* Choose the read functions of the backend, and of its set if it is the only backend, by its events and their pages. */
void pml__kernel_choose_read(struct pml__kernel_backend *k);

/*
 * pml__reading_of_turns - the reading of a hybrid event from the readings of its @n parts, of which one counts at a
 * time. The kernel runs the enabled clock of every part while any part counts, so the enabled time of the event is the
 * enabled time of one part, and its running time is the sum of their running times. The parts are enabled and read one
 * after the other, so the shortest enabled time is used, and the running time is limited to it.
 */
struct pml_reading pml__reading_of_turns(const struct pml_reading *part, uint32_t n);

#endif
