/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/mpi/reduction/pml_mpi_reduction.h - summary of an MPI job, created at MPI_Finalize.
 *
 * Each rank adds its measurements to a summary (read/summary). The summaries are sent up a tree of ranks and merged
 * on the way, and rank 0 writes one file. This part does not use MPI; core/adapter/mpi/shim/reduction.c sends and
 * receives.
 *
 * No rank waits for another longer than the timeout. The file lists ranges of ranks; the measurements of other ranks
 * are in their logs.
 */
#ifndef PML_MPI_REDUCTION_H
#define PML_MPI_REDUCTION_H

#include "base/pml_api.h"
#include "read/summary/pml_summary.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

PML_BEGIN_DECLS

/* ---- for callers ---- */

struct pml_mpi_reduction {
  int (*add)(struct pml_summary *s, int64_t rank, void *arg); /* adds the process's measurements; 0 or a failure */
  void (*written)(void *arg);                                 /* called once they are in the job's file; may be NULL */
  void *arg;
  const char *path; /* the file that rank 0 writes, .../job.pmlsum; stays */
  bool all;         /* no limit of size; otherwise PML__MPI_BYTES for each rank in it */
};
#define PML__MPI_BYTES 8192u

/*
 * pml_mpi_reduce - let MPI_Finalize reduce the ranks' summaries, and count messages. @r is copied. Call it before
 * MPI_Init, in all ranks. Not thread-safe. Without this call, and with PMLUA_REPORT set, the contents of the processes'
 * logs are reduced to job.pmlsum beside them.
 */
PML__SHARED void pml_mpi_reduce(const struct pml_mpi_reduction *r);

/* pml__mpi_time_summary - add a row PML_SUMMARY_MPI "time" to @s, which contains calls of @rank only: its time in MPI
 * functions except Init and Finalize. Returns 0 or an error of pml_summary_add(). */
PML__SHARED int pml__mpi_time_summary(struct pml_summary *s, int64_t rank);

/* ---- for the shim ---- */

/*
 * pml__mpi_reduction_begin - make the summary of this rank; NULL: not requested, or no memory. Close it with
 * pml_summary_close().
 * pml__mpi_reduction_pack - pack @s into @n bytes for another rank: 0 or -ENOMEM. pml__mpi_reduction_free - free them;
 * not by free(), because the shim may use another heap than the library.
 * pml__mpi_reduction_merge - merge @bytes of another rank into @s: 0, or an error of pml_summary_unpack() or _merge().
 * pml__mpi_reduction_write - write the file of the job, completely or not at all, and read it back: 0, -errno or
 * PML_EFORMAT.
 * pml__mpi_reduction_written - notify this rank that its data is in that file.
 * pml__mpi_reduction_spawned - another job spawned this one, number @job: its file is job-@job.pmlsum, beside the other
 * job's file. Before MPI_Finalize.
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
 * pml__mpi_pack_within - pack @s into @size bytes, at most @most if possible: functions of libraries other than MPI are
 * omitted, beginning with the least time, and a row PML_SUMMARY_MPI "left out" contains their number (functions),
 * calls, and exclusive time. Sections, counters and MPI's rows are never omitted. Free @bytes with free(). Returns 0 or
 * an error of pml_summary_pack() or pml_summary_add().
 */
int pml__mpi_pack_within(const struct pml_summary *s, size_t most, unsigned char **bytes, size_t *size);

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

/* ---- pml_mpi_times.c ---- */

/*
 * pml_mpi_times_summary - add to @s the time that the process of the log @path spent in the calls that sent and
 * received its messages, by size: rows "time sent" and "time received", whose values are ns, named like the values of
 * "messages sent". The time of a call with several messages is divided equally among them. The begin and each test of a
 * request count with its message. Without a trace there are no events, and no rows. The process may continue writing.
 * This also counts the events that the shim wrote without counting them (PML__LOG_CALL_COMMUNICATION), so call it once,
 * before pml__mpi_traffic_summary(). Returns 0, -errno of open or read, PML_EFORMAT, -ENOMEM. Cost: some 30 ns for each
 * event of the trace.
 */
PML__SHARED int pml_mpi_times_summary(struct pml_summary *s, int64_t rank, const char *path);

/* ---- pml_mpi_traffic.c ---- */

/*
 * pml__mpi_traffic_count - count messages and collective operations from now on.
 * pml__mpi_traffic_summary - add to @s the messages that this rank of @size sent, by receiver, and received: rows
 * PML_SUMMARY_MPI. Returns 0 or an error of pml_summary_add().
 *
 *   name             values: meaning of the number
 *   messages sent    "10": messages of 2^9 to 2^10 - 1 bytes; "0": without bytes
 *   bytes sent       the same; and messages received, bytes received
 *   collective       operation in the detail: calls, sent and received bytes
 *   messages to      "7": from the block of ranks in the detail to block 7
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
