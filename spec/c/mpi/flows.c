/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/mpi/flows.c - ranks with the same flow, but for rank 0, which calls one function more in each round. */
#include <mpi.h>

int main(int argc, char **argv) {
  int rank, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < 10; i++) {
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0) MPI_Barrier(MPI_COMM_SELF);
  }
  MPI_Finalize();
  return 0;
}
