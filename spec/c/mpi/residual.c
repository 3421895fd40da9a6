/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/mpi/residual.c - a solver of a minute at most, whose residual on rank 2 is NaN from the 40th step on; it ends when a
 * rank was asked to. */
#include "source/sde/pml_sde.h"

#include <math.h>
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static volatile sig_atomic_t stopped;
static double residual = 1;

static void stop(int signal) {
  (void)signal;
  stopped = 1;
}

int main(int argc, char **argv) {
  struct pml_sde_library *lib;
  int rank, any = 0, steps = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  signal(SIGTERM, stop);
  signal(SIGINT, stop);
  if (pml_sde_library(&lib, "SOLVER") < 0) return 1;
  pml_sde_register(lib, "residual", PML_SDE_RO | PML_SDE_INSTANT, PML_TYPE_DOUBLE, &residual);
  for (; any == 0 && steps < 3000; steps++) {
    residual = rank == 2 && steps >= 40 ? NAN : 1.0 / (steps + 1);
    int own = stopped;
    MPI_Allreduce(&own, &any, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    usleep(20000);
  }
  if (rank == 0) printf("%s\n", any ? "stopped" : "not stopped");
  MPI_Finalize();
  return 0;
}
