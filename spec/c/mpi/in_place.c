/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/mpi/in_place.c - collective operations with MPI_IN_PLACE, each once in three ranks, for spec/lua/mpi_spec.lua.
 */
#include <mpi.h>

enum { N = 64, RANKS = 3 };

int main(int argc, char **argv) {
  static double a[N];
  int rank, count[RANKS] = {1, 2, 3}, at[RANKS] = {0, 8, 16};
  MPI_Datatype type[RANKS] = {MPI_CHAR, MPI_CHAR, MPI_CHAR};
  void *place = MPI_IN_PLACE;
  const MPI_Datatype none = MPI_DATATYPE_NULL, real = MPI_DOUBLE;
  const MPI_Comm comm = MPI_COMM_WORLD;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(comm, &rank);
  MPI_Gather(rank == 0 ? place : a, 2, real, a, 2, real, 0, comm);
  MPI_Gatherv(rank == 1 ? place : a, rank + 1, real, a, count, at, real, 1, comm);
  MPI_Scatter(a, 3, real, rank == 0 ? place : a, 3, real, 0, comm);
  MPI_Scatterv(a, count, at, real, rank == 1 ? place : a, rank + 1, real, 1, comm);
  MPI_Allgather(place, 0, none, a, 2, real, comm);
  MPI_Allgatherv(place, 0, none, a, count, at, real, comm);
  MPI_Alltoall(place, 0, none, a, 1, real, comm);
  MPI_Reduce_scatter(place, a, count, real, MPI_SUM, comm);
  MPI_Reduce_scatter_block(place, a, 2, real, MPI_SUM, comm);
  for (int i = 0; i < RANKS; i++) count[i] = rank + i;
  MPI_Alltoallv(place, 0, at, none, a, count, at, real, comm);
  MPI_Alltoallw(place, count, at, type, a, count, at, type, comm);
  return MPI_Finalize();
}
