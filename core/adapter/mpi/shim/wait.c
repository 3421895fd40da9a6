/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * core/adapter/mpi/shim/wait.c - waiting for other ranks without occupying the processor.
 *
 * MPI itself may poll without a pause. A rank that does so on a shared processor delays the ranks that it waits for by
 * a time slice, in every round of a collective operation.
 */
#include "shim.h"

#include "base/pml_clock.h"

#include <time.h>

void shim_nap(unsigned tries) {
  const unsigned doubled = tries / 8 < 6 ? tries / 8 : 6;
  const struct timespec t = {0, 20000L << doubled};
  (void)nanosleep(&t, NULL);
}

bool shim_complete(MPI_Request *r, int64_t until_ns) {
  int flag = 0, err = MPI_SUCCESS;
  for (unsigned tries = 0;; tries++) {
    err = PMPI_Test(r, &flag, MPI_STATUS_IGNORE);
    if (err != MPI_SUCCESS || flag || (int64_t)pml__clock_monotonic() >= until_ns) break;
    shim_nap(tries);
  }
  return err == MPI_SUCCESS && flag;
}
