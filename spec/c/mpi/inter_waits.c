/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/mpi/inter_waits.c - waits on an inter-communicator, whose ranks belong to the remote group: a late sender, and
 * a late rank at its barrier. */
#include <mpi.h>
#include <time.h>

static void pause_ms(int ms) {
  nanosleep(&(struct timespec){.tv_nsec = ms * 1000000L}, NULL);
}

int main(int argc, char **argv) {
  MPI_Comm half, inter;
  char byte[10] = {0};
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half); /* 0 and 2, 1 and 3 */
  MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 1 - rank % 2, 9, &inter);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 2) {
    pause_ms(40);
    MPI_Send(byte, 10, MPI_BYTE, 0, 1, inter);
  }
  if (rank == 1) MPI_Recv(byte, 10, MPI_BYTE, 1, 1, inter, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 3) pause_ms(40);
  MPI_Barrier(inter);
  MPI_Comm_free(&inter);
  MPI_Comm_free(&half);
  MPI_Finalize();
  return 0;
}
