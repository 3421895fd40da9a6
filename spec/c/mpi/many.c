/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/mpi/many.c - two ranks send each other as many messages as the argument says. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv) {
  int rank, n = argc > 1 ? atoi(argv[1]) : 1000;
  char message[8] = {0};
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < n; i++) {
    if (rank == 0) MPI_Send(message, sizeof message, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(message, sizeof message, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(message, sizeof message, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  }
  if (rank == 0) printf("exchanged %d\n", n);
  MPI_Finalize();
  return 0;
}
