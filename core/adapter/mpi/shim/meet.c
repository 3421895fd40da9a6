/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/mpi/shim/meet.c - check that all ranks of the job are recorded, without a collective operation, which
 * would block if one is not.
 *
 * The ranks form a binomial tree. Each rank waits for its children, reports to its parent, and waits for the answer,
 * which is forwarded to children that have reported. A rank that is not recorded sends neither report nor answer, which
 * counts as no. A rank waits for the answer somewhat longer than its parent waits, because otherwise the answer could
 * arrive unexpectedly. These messages precede all messages of the program, so they cannot be confused; a rank that is
 * not recorded may get an unexpected report.
 */
#include "shim.h"

#include "adapter/mpi/pml_mpi_job.h"
#include "base/pml_clock.h"
#include "base/pml_map.h"

#include <unistd.h>

#define REPORT 32701
#define ANSWER 32702
#define CHILDREN_MAX 32

MPI_Comm shim_own = MPI_COMM_NULL;
uint32_t shim_job;

/* A job's number; two jobs of one folder get the same with probability 1 / 2^31. */
static int new_job(void) {
  const uint64_t mixed = (pml_clock_realtime_ns() + (uint64_t)getpid()) * PML__HASH_FACTOR;
  return (int)(mixed >> 33 | 1);
}

/* The timeout of MPI_Finalize; if it is 0, a default, because ranks still need time to answer. */
static int64_t ask_ns(void) {
  int64_t ns = pml__mpi_reduction_timeout();
  return ns > 0 ? ns : INT64_C(10000000000);
}

/* Cancel a receive. Returns whether its message arrived before. */
static bool cancel(MPI_Request *request) {
  MPI_Status status;
  (void)PMPI_Cancel(request);
  (void)PMPI_Wait(request, &status);
  return !is_cancelled(&status);
}

/* came[i]: message i arrived in time. Returns whether all did. */
static bool await(int n, MPI_Request request[], bool came[], int64_t until_ns) {
  bool all = true;
  for (int i = 0; i < n; i++) {
    came[i] = shim_complete(&request[i], until_ns) || cancel(&request[i]);
    all = all && came[i];
  }
  return all;
}

/* Returns the job's number, which is the answer; 0: no. */
static int ask_parent(int parent, int64_t until_ns) {
  int job = 1;
  bool came;
  MPI_Request request;
  (void)PMPI_Send(&job, 1, MPI_INT, parent, REPORT, MPI_COMM_WORLD);
  (void)PMPI_Irecv(&job, 1, MPI_INT, parent, ANSWER, MPI_COMM_WORLD, &request);
  return await(1, &request, &came, until_ns) ? job : 0;
}

/* Returns the job's number, or 0 if a rank is missing. */
static int all_are_here(int rank, int size) {
  int report[CHILDREN_MAX], n = 0;
  bool came[CHILDREN_MAX];
  MPI_Request request[CHILDREN_MAX];
  int64_t now = (int64_t)pml__clock_monotonic(), timeout_ns = ask_ns();
  for (int bit = 1; (rank & bit) == 0 && bit < size - rank; bit *= 2, n++)
    (void)PMPI_Irecv(&report[n], 1, MPI_INT, rank + bit, REPORT, MPI_COMM_WORLD, &request[n]);
  int job = await(n, request, came, now + timeout_ns) ? new_job() : 0;
  if (job != 0 && rank > 0)
    job = ask_parent(rank & (rank - 1), now + timeout_ns + timeout_ns / 4 * __builtin_popcount((unsigned)rank));
  for (int i = 0; i < n; i++)
    if (came[i]) (void)PMPI_Send(&job, 1, MPI_INT, rank + (1 << i), ANSWER, MPI_COMM_WORLD);
  return job;
}

bool shim_meet(int rank, int size) {
  MPI_Request request;
  shim_job = (uint32_t)all_are_here(rank, size);
  return shim_job != 0 && PMPI_Comm_idup(MPI_COMM_WORLD, &shim_own, &request) == MPI_SUCCESS &&
         shim_complete(&request, INT64_MAX);
}

void shim_part(void) {
  if (shim_own != MPI_COMM_NULL) (void)PMPI_Comm_free(&shim_own);
}
