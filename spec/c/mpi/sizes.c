/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/mpi/sizes.c - messages whose sizes an int does not hold, for spec/lua/mpi_reduction_spec.lua: each rank
 * broadcasts 2,200 MiB to itself, which moves nothing, and 3 ints to all; one send of a negative count fails.
 */
#include <mpi.h>
#include <stdio.h>

static char memory[1 << 20];

int main(int argc, char **argv) {
  MPI_Datatype block, huge;
  MPI_Init(&argc, &argv);
  MPI_Type_contiguous(sizeof memory, MPI_BYTE, &block);
  MPI_Type_create_hvector(2200, 1, 0, block, &huge);
  MPI_Type_commit(&huge);
  MPI_Bcast(memory, 1, huge, 0, MPI_COMM_SELF);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int failed = MPI_Send(memory, -1, MPI_DOUBLE, 0, 0, MPI_COMM_WORLD) != MPI_SUCCESS;
  failed += MPI_Send(memory, -1, huge, 0, 0, MPI_COMM_WORLD) != MPI_SUCCESS;
  MPI_Bcast(memory, 3, MPI_INT, 0, MPI_COMM_WORLD);
  printf("%d failed\n", failed);
  MPI_Type_free(&huge);
  MPI_Type_free(&block);
  return MPI_Finalize();
}
