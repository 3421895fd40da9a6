/* SPDX-License-Identifier: BSD-3-Clause */
/* core/substrate/trace/pml_archive_private.h - what the parts of an archive of several logs share. Internal. */
#ifndef PML_ARCHIVE_PRIVATE_H
#define PML_ARCHIVE_PRIVATE_H

#include "substrate/recording/pml_recording_read_private.h"
#include "substrate/trace/pml_archive.h"
#include "substrate/trace/pml_archive_clock.h"
#include "substrate/trace/pml_otf2_mpi.h"

/* A communicator as a process knows it. */
struct pml__archive_comm {
  struct pml__log_communicator is;
  uint32_t ref;            /* of the archive's */
  char *name, *members[2]; /* world ranks as text; empty: not known */
};

/* A list of values of a region's calls. */
struct pml__archive_list {
  pml_region_t region;
  bool results;
  uint32_t n, single[PML_RECORDING_VALUES_MAX]; /* of the archive's single metrics */
};

/* A process: what its log says of it. */
struct pml__archive_process {
  const struct pml_archive_log *log;
  char *name, *host;
  int32_t pid;
  uint64_t bytes; /* of its log */
  struct pml__archive_clock own;
  const struct pml__archive_clock *clock; /* the one that it goes by, of its host */
  int32_t rank, size;                     /* of MPI_COMM_WORLD; -1: it is no rank */
  uint32_t world;                         /* its job, of those in the archive */
  uint32_t base, index;                   /* among all ranks: of its job's rank 0, its own */
  struct pml__archive_comm *comm;         /* [ncomms] by their numbers */
  size_t ncomms;
};

struct pml__archive {
  struct pml__archive_process *process; /* [nprocesses] in their order in the archive */
  size_t nprocesses;
  uint64_t origin_ns; /* CLOCK_REALTIME at time 0 */
  struct pml__otf2_mpi mpi;
  uint32_t *of_rank; /* [mpi.nranks]: the process; UINT32_MAX: it has no log */
  struct pml_otf2 *otf2;
  struct pml_archive_story *story;
  int (*progress)(uint64_t done, uint64_t all, void *arg);
  void *progress_arg;
  uint64_t done, all; /* bytes */
};

/* ---- pml_archive_process.c ---- */

/* pml__archive_know - read what @log says of its process. pml__archive_forget - free it. */
int pml__archive_know(struct pml__archive_process *p, const struct pml_archive_log *log);
void pml__archive_forget(struct pml__archive_process *p);
/* pml__archive_comm_of - the communicator that @p calls @number; NULL: it has none. */
const struct pml__archive_comm *pml__archive_comm_of(const struct pml__archive_process *p, uint32_t number);

/* ---- pml_archive_ranks.c ---- */

/* pml__archive_order - put processes in their order, ranks first, and number these. */
int pml__archive_order(struct pml__archive *a);
/* pml__archive_unite - communicators of all ranks as those of the archive. pml__archive_disunite - free both. */
int pml__archive_unite(struct pml__archive *a);
void pml__archive_disunite(struct pml__archive *a);

/* ---- pml_archive_threads.c ---- */

/* pml__archive_events - the events of @p as locations of @in. */
int pml__archive_events(struct pml__archive *a, struct pml__archive_process *p, struct pml__otf2_process *in);

/* pml__archive_time - ticks of @p as ns of the archive. */
static inline uint64_t pml__archive_time(const struct pml__archive *a, const struct pml__archive_process *p,
                                         uint64_t ticks) {
  uint64_t ns = pml__archive_clock_ns(p->clock, ticks);
  return ns > a->origin_ns ? ns - a->origin_ns : 0;
}

/* ---- pml_archive_metrics.c ---- */

/* Metrics of a process on their way into the archive. */
struct pml__archive_metrics {
  const struct pml__otf2_set *set;
  struct pml__archive_list *list; /* [nlists] sorted */
  size_t nlists;
};
int pml__archive_metrics(const struct pml_recording_reader *r, struct pml_otf2 *to, struct pml__archive_metrics *m);
const struct pml__archive_list *pml__archive_list_of(const struct pml__archive_metrics *m, pml_region_t region,
                                                     bool results);

#endif
