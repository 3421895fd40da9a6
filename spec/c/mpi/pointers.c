/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/mpi/pointers.c - rank 0 sends 10 bytes to rank 1, through pointers of dlsym(), for spec/lua/mpi_spec.lua. */
#include <dlfcn.h>
#include <mpi.h>

int main(int argc, char **argv) {
  int (*send)(const void *, int, MPI_Datatype, int, int, MPI_Comm);
  int (*receive)(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
  char room[10] = "";
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  *(void **)&send = dlsym(RTLD_DEFAULT, "MPI_Send");
  *(void **)&receive = dlsym(RTLD_DEFAULT, "MPI_Recv");
  if (rank == 0) send(room, 10, MPI_CHAR, 1, 5, MPI_COMM_WORLD);
  if (rank == 1) receive(room, 10, MPI_CHAR, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
