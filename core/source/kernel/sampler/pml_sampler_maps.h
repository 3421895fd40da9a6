/* SPDX-License-Identifier: BSD-3-Clause */
/* core/source/kernel/sampler/pml_sampler_maps.h - file mappings of processes over time. Internal. */
#ifndef PML_SAMPLER_MAPS_H
#define PML_SAMPLER_MAPS_H

#include "source/kernel/sampler/pml_sampler_ring.h"

/* What happened to the memory of a process. */
struct pml__mapping {
  uint64_t time_ns;
  int32_t pid, parent; /* parent: of a FORK */
  enum pml__record_kind kind;
  uint32_t order; /* of two at the same time */
  uint64_t start, length, offset;
  const char *name;
};

/* Zeroed at first. */
struct pml__maps {
  struct pml__mapping *map;
  size_t n, room;
  char **name;
  size_t names, names_room;
  bool sorted;
  int32_t *known; /* sorted: processes that pml__maps_of_newcomer() need not look at */
  size_t nknown, known_room;
};

/* pml__maps_add - note a MAP, an EXEC or a FORK. Returns 0 or -ENOMEM. */
int pml__maps_add(struct pml__maps *m, const struct pml__record *record);

/* pml__maps_of_process - note what /proc/PID/maps has, as of the beginning of time. Returns 0, -ENOMEM, -errno. */
int pml__maps_of_process(struct pml__maps *m, pid_t pid);

/*
 * pml__maps_of_newcomer - pml__maps_of_process() when it is called for @pid for the first time: a process that joined
 * what is sampled, whose mappings the kernel did not report. One that has ended already has none.
 */
void pml__maps_of_newcomer(struct pml__maps *m, pid_t pid);

/*
 * pml__maps_find - the mapping that @pid had at @address at @time_ns; NULL: none is known. Later mappings win; a forked
 * process has those of its parent until it executes a program. Unmapping is not reported by the kernel.
 */
const struct pml__mapping *pml__maps_find(struct pml__maps *m, int32_t pid, uint64_t time_ns, uint64_t address);

/*
 * pml__maps_below - the mapping of a file that is at @address, or next below it with at most PML__BELOW_MAX bytes
 * between: what a program's file does not fill of its data follows the mapping, and the kernel reports no mapping of
 * it.
 */
#define PML__BELOW_MAX (UINT64_C(64) << 20)
const struct pml__mapping *pml__maps_below(struct pml__maps *m, int32_t pid, uint64_t time_ns, uint64_t address);

void pml__maps_free(struct pml__maps *m);

#endif
