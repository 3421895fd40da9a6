/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/mpi/reduction/pml_mpi_reduction.h - summary of an MPI job, made at MPI_Finalize.
 *
 * Each rank adds what it measured to a summary (record/summary); these go up a tree of ranks and are merged on the way,
 * and rank 0 writes one file. This part knows no MPI; core/adapter/mpi/shim/reduction.c sends and receives.
 *
 * No rank waits for another longer than the timeout. Ranks that are not in the file are those that its ranges do not
 * have; their own logs have what they measured.
 */
#ifndef PML_MPI_REDUCTION_H
#define PML_MPI_REDUCTION_H

#include "base/pml_api.h"
#include "record/summary/pml_summary.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PML_BEGIN_DECLS

/* ---- who asks for it ---- */

struct pml_mpi_reduction {
  int (*add)(struct pml_summary *s, int64_t rank, void *arg); /* what this process measured; 0 or a failure */
  void (*written)(void *arg);                                 /* that is in the file of the job; may be NULL */
  void *arg;
  const char *path; /* the file that rank 0 writes, .../job.pmlsum; stays */
  bool all;         /* however large that is; else it has PML__MPI_BYTES for each rank in it */
};
#define PML__MPI_BYTES 8192u

/*
 * pml_mpi_reduce - MPI_Finalize reduces from now on, and messages are counted. @r is copied. Before MPI_Init, in all
 * ranks. Not thread-safe. Where it is not called and PMLUA_REPORT is set, what the process's log has is reduced to
 * job.pmlsum beside it.
 */
PML__SHARED void pml_mpi_reduce(const struct pml_mpi_reduction *r);

/*
 * pml__mpi_time_summary - a row PML_SUMMARY_MPI "time" for @s, which has the calls of @rank alone: its time in
 * functions of MPI but for Init and Finalize. Returns 0 or what pml_summary_add() returns.
 */
PML__SHARED int pml__mpi_time_summary(struct pml_summary *s, int64_t rank);

/* ---- for the shim ---- */

/*
 * pml__mpi_reduction_begin - the summary of this rank alone; NULL: not asked for, or no memory. Close it with
 * pml_summary_close().
 * pml__mpi_reduction_pack - @s as @n bytes for another rank: 0 or -ENOMEM. pml__mpi_reduction_free - they go: not with
 * free(), for the shim may have another heap than the library.
 * pml__mpi_reduction_merge - @bytes of another rank's join @s: 0, or what pml_summary_unpack() or _merge() returns.
 * pml__mpi_reduction_write - the file of the job, whole or not at all, and read back: 0, -errno or PML_EFORMAT.
 * pml__mpi_reduction_written - what this rank added is in that file.
 * pml__mpi_reduction_spawned - another job started this one, @job is its number: its file is job-@job.pmlsum, beside
 * that of the other one. Before MPI_Finalize.
 * pml__mpi_reduction_timeout - in ns: PMLUA_MPI_TIMEOUT in seconds, 10 without it.
 */
PML__SHARED struct pml_summary *pml__mpi_reduction_begin(int rank, int size);
PML__SHARED int pml__mpi_reduction_pack(const struct pml_summary *s, unsigned char **bytes, size_t *n);
PML__SHARED void pml__mpi_reduction_free(unsigned char *bytes);
PML__SHARED int pml__mpi_reduction_merge(struct pml_summary *s, const void *bytes, size_t n);
PML__SHARED int pml__mpi_reduction_write(const struct pml_summary *s);
PML__SHARED void pml__mpi_reduction_written(void);
PML__SHARED void pml__mpi_reduction_spawned(uint32_t job);
PML__SHARED int64_t pml__mpi_reduction_timeout(void);

/* ---- pml_mpi_bound.c ---- */

/*
 * pml__mpi_pack_within - @s as @size bytes, @most of them if that can be: functions of libraries other than MPI, those
 * with the least time first, are left out, and a row PML_SUMMARY_MPI "left out" has their number (functions), calls,
 * and time without what is inside. Sections, counters and what MPI did are never left out. Free @bytes with free().
 * Returns 0 or what pml_summary_pack() or pml_summary_add() returns.
 */
int pml__mpi_pack_within(const struct pml_summary *s, size_t most, unsigned char **bytes, size_t *size);

/* ---- the tree ---- */

/*
 * A binomial tree: rank 0 is its root, and a parent has the number of its child without the lowest bit that is set.
 * pml__mpi_tree_height - how many children @rank has of @size ranks: child k is @rank + 2^k.
 * pml__mpi_tree_share - how much of the timeout a rank of that height waits for its children: a half and more at the
 * leaves, 9/10 at the root, so that a parent still waits when its child gives up.
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

/* ---- pml_mpi_times.c ---- */

/*
 * pml_mpi_times_summary - add to @s how long the process whose log is at @path was in the calls that sent and received
 * its messages, by size: rows "time sent" and "time received", whose values are ns, named as those of "messages sent".
 * What it has of a call with several messages is shared equally among them. The begin and each test of a request count
 * with its message. Without a trace there are no events, and no rows. The process may go on writing. Events that the
 * shim wrote without counting them (PML__LOG_CALL_COMMUNICATION) are counted: once, before pml__mpi_traffic_summary().
 * Returns 0, -errno of open or read, PML_EFORMAT, -ENOMEM. Cost: some 30 ns for each event of the trace.
 */
PML__SHARED int pml_mpi_times_summary(struct pml_summary *s, int64_t rank, const char *path);

/* ---- pml_mpi_traffic.c ---- */

/*
 * pml__mpi_traffic_count - count messages and collective operations from now on.
 * pml__mpi_traffic_summary - add to @s what this rank of @size sent, by receiver, and received: rows PML_SUMMARY_MPI.
 * Returns 0 or what pml_summary_add() returns.
 *
 *   name             values: number of what
 *   messages sent    "10": those of 2^9 to 2^10 - 1 bytes; "0": without bytes
 *   bytes sent       the same; and messages received, bytes received
 *   collective       of the operation that the detail names: calls, sent and received bytes
 *   messages to      "7": from the block of ranks that the detail names to block 7
 *   bytes to         the same
 *
 * A block has one rank in jobs of up to PML__MPI_BLOCKS ranks, and more in larger ones, so that there are at most that
 * many blocks.
 */
#define PML__MPI_BLOCKS 256
void pml__mpi_traffic_count(void);
int pml__mpi_traffic_summary(struct pml_summary *s, int rank, int size);
static inline int pml__mpi_block(int size) {
  int ranks = 1;
  while ((size + ranks - 1) / ranks > PML__MPI_BLOCKS) ranks *= 2;
  return ranks;
}

/* pml__mpi_translate - set the @size of the world, before messages are counted, and the function that returns the rank
 * in the world of a communicator's @rank; -1: not in this world. */
PML__SHARED void pml__mpi_translate(int size, int (*world_rank)(uint32_t communicator, int32_t rank));

PML_END_DECLS

#endif
