/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/mpi/shim/meet.c - whether all ranks of the job are recorded, found out without a collective operation,
 * which would wait for ever for one that is not.
 *
 * The ranks are a binomial tree. Each waits for its children, reports to its parent, and waits for the answer, which
 * goes down to those that have reported. Whoever is not recorded neither reports nor answers: then no is the answer. A
 * rank waits for it somewhat longer than its parent does, whose answer would else come when it is not expected. These
 * messages come before any of the program's, so that they cannot be taken for one another; a rank that is not recorded
 * may get a report that it does not expect.
 */
#include "shim.h"

#include "base/pml_clock.h"

#include <stdlib.h>
#include <time.h>

#define REPORT 32701
#define ANSWER 32702
#define CHILDREN_MAX 32

MPI_Comm shim_own = MPI_COMM_NULL;

static double timeout_s(void) {
  const char *text = secure_getenv("PMLUA_MPI_TIMEOUT");
  double s = text != NULL ? strtod(text, NULL) : 0;
  return s > 0 ? s : 10;
}

static bool is_over(uint64_t until_ns) {
  return (int64_t)(pml__clock_monotonic() - until_ns) > 0;
}

/* What does not come in time is cancelled; came[i]: it came. Returns whether all did. */
static bool await(int n, MPI_Request request[], bool came[], uint64_t until_ns) {
  const struct timespec nap = {0, 100000};
  MPI_Status status[CHILDREN_MAX];
  int all = n == 0;
  for (int i = 0; !all && !is_over(until_ns); i++) {
    (void)PMPI_Testall(n, request, &all, status);
    if (!all && i > 1000) (void)nanosleep(&nap, NULL);
  }
  for (int i = 0; i < n; i++) came[i] = true;
  if (all) return true;
  for (int i = 0; i < n; i++) (void)PMPI_Cancel(&request[i]);
  (void)PMPI_Waitall(n, request, status);
  for (int i = 0; i < n; i++) came[i] = !is_cancelled(&status[i]);
  return false;
}

static bool ask_parent(int parent, uint64_t until_ns) {
  int yes = 1;
  bool came;
  MPI_Request request;
  (void)PMPI_Send(&yes, 1, MPI_INT, parent, REPORT, MPI_COMM_WORLD);
  (void)PMPI_Irecv(&yes, 1, MPI_INT, parent, ANSWER, MPI_COMM_WORLD, &request);
  return await(1, &request, &came, until_ns) && yes == 1;
}

static bool all_are_here(int rank, int size) {
  int report[CHILDREN_MAX], n = 0;
  bool came[CHILDREN_MAX];
  MPI_Request request[CHILDREN_MAX];
  uint64_t now = pml__clock_monotonic(), timeout_ns = (uint64_t)(timeout_s() * 1e9);
  for (int bit = 1; (rank & bit) == 0 && bit < size - rank; bit *= 2, n++)
    (void)PMPI_Irecv(&report[n], 1, MPI_INT, rank + bit, REPORT, MPI_COMM_WORLD, &request[n]);
  int yes = await(n, request, came, now + timeout_ns);
  if (yes && rank > 0)
    yes =
        ask_parent(rank & (rank - 1), now + timeout_ns + timeout_ns / 4 * (uint64_t)__builtin_popcount((unsigned)rank));
  for (int i = 0; i < n; i++)
    if (came[i]) (void)PMPI_Send(&yes, 1, MPI_INT, rank + (1 << i), ANSWER, MPI_COMM_WORLD);
  return yes;
}

bool shim_meet(int rank, int size) {
  return all_are_here(rank, size) && PMPI_Comm_dup(MPI_COMM_WORLD, &shim_own) == MPI_SUCCESS;
}

void shim_part(void) {
  if (shim_own != MPI_COMM_NULL) (void)PMPI_Comm_free(&shim_own);
}
