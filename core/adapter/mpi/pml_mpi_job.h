/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/mpi/pml_mpi_job.h - summary of an MPI job, created at MPI_Finalize.
 *
 * Each rank adds its measurements to a summary (read/summary). The summaries are sent up a tree of ranks and merged
 * on the way, and rank 0 writes one file. core/adapter/mpi/shim/reduction.c sends and receives, and core/read/job makes
 * and merges the summaries: only MPI_Finalize loads it.
 *
 * No rank waits for another longer than the timeout. The file lists ranges of ranks; the measurements of other ranks
 * are in their logs.
 */
#ifndef PML_MPI_JOB_H
#define PML_MPI_JOB_H

#include "base/pml_api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PML_BEGIN_DECLS

struct pml_profile;
struct pml_summary;

/* ---- for callers ---- */

/* The measurements of a process. */
struct pml_mpi_measured {
  const char *log;             /* path of its log; stays */
  struct pml_profile *profile; /* NULL: none */
  bool events;                 /* the log contains events */
};
struct pml_mpi_reduction {
  bool (*measured)(struct pml_mpi_measured *m, void *arg); /* the process's measurements; false: it adds none */
  void (*written)(void *arg);                              /* called once it is in the job's file; may be NULL */
  void *arg;
  const char *path; /* the file that rank 0 writes, .../job.pmlsum; stays */
  bool all;         /* no limit of size; otherwise PML__MPI_BYTES for each rank in it */
  uint32_t job;     /* set by pml__mpi_reduction_spawned() */
};
#define PML__MPI_BYTES 8192u

/*
 * pml_mpi_reduce - let MPI_Finalize reduce the ranks' summaries, and count messages. @r is copied. Call it before
 * MPI_Init, in all ranks. Not thread-safe. Without this call, and with PMLUA_REPORT set, the contents of the processes'
 * logs are reduced to job.pmlsum beside them.
 */
PML__SHARED void pml_mpi_reduce(const struct pml_mpi_reduction *r);

/* ---- for the shim ---- */

/*
 * Functions of core/read/job for the shim.
 * begin - make the summary of this rank; NULL: no memory. Close it with close().
 * pack - pack @s into @n bytes for another rank: 0 or -ENOMEM. free - free them; not by free(), because the shim may
 * use another heap than the library. merge - merge @bytes of another rank into @s: 0, or an error of
 * pml_summary_unpack() or _merge(). write - write the file of the job, completely or not at all, and read it back: 1 if
 * it contains all @size ranks, 0 if some, -errno or PML_EFORMAT. written - notify this rank that its data is in that
 * file.
 */
struct pml__mpi_reducer {
  struct pml_summary *(*begin)(const struct pml_mpi_reduction *r, int rank, int size);
  int (*pack)(const struct pml_summary *s, unsigned char **bytes, size_t *n);
  void (*free)(unsigned char *bytes);
  int (*merge)(struct pml_summary *s, const void *bytes, size_t n);
  int (*write)(const struct pml_summary *s, int size);
  void (*written)(void);
  void (*close)(struct pml_summary *s);
};

/*
 * pml__mpi_reduction_begin - the summary of this rank, and in @by the functions for it, from the library that is loaded
 * now; NULL: not requested, no library, or no memory.
 * pml__mpi_reduction_spawned - another job spawned this one, number @job: its file is job-@job.pmlsum, beside the other
 * job's file. Before MPI_Finalize.
 * pml__mpi_reduction_timeout - in ns: PMLUA_MPI_TIMEOUT in seconds, 10 without it.
 */
PML__SHARED struct pml_summary *pml__mpi_reduction_begin(int rank, int size, const struct pml__mpi_reducer **by);
PML__SHARED void pml__mpi_reduction_spawned(uint32_t job);
PML__SHARED int64_t pml__mpi_reduction_timeout(void);

/* ---- the tree ---- */

/*
 * A binomial tree with root 0: a parent's rank is its child's rank without the lowest set bit.
 * pml__mpi_tree_height - the number of children of @rank among @size ranks: child k is @rank + 2^k.
 * pml__mpi_tree_share - the part of the timeout that a rank of that height waits for its children: at least half at the
 * leaves, 9/10 at the root, so that a parent still waits when its child times out.
 */
static inline int pml__mpi_tree_parent(int rank) {
  return rank & (rank - 1);
}
static inline int pml__mpi_tree_height(int rank, int size) {
  int k = 0;
  while (k < 31 && (rank >> k & 1) == 0 && (int64_t)rank + (INT64_C(1) << k) < size) k++;
  return k;
}
static inline double pml__mpi_tree_share(int height, int size) {
  int all = pml__mpi_tree_height(0, size);
  return all > 0 ? 0.5 + 0.4 * height / all : 0.9;
}

PML_END_DECLS

#endif
