/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/mpi/spawn.c - two ranks start a job of three by MPI_Comm_spawn; both jobs meet in one communicator, and each
 * job has a separate ring. Ends with 77 if this MPI cannot start a job. */
#include <mpi.h>
#include <stdio.h>

static int fault; /* a message had another value */

static void ring(MPI_Comm comm, int tag) {
  int rank, size, got = -1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  MPI_Sendrecv(&rank, 1, MPI_INT, (rank + 1) % size, tag, &got, 1, MPI_INT, (rank + size - 1) % size, tag, comm,
               MPI_STATUS_IGNORE);
  fault |= got != (rank + size - 1) % size;
}

/* The first operation on a new communicator is the program's: if pmlua made one, the started job would receive this. */
static void together(MPI_Comm between, int high) {
  MPI_Comm all, half;
  int rank, value = 4711;
  MPI_Intercomm_merge(between, high, &all);
  MPI_Comm_rank(all, &rank);
  if (rank > 0) value = 0;
  MPI_Bcast(&value, 1, MPI_INT, 0, all);
  fault |= value != 4711;
  ring(all, 9);
  MPI_Comm_split(all, high, 0, &half);
  ring(half, 8);
  MPI_Comm_free(&half);
  MPI_Comm_free(&all);
}

int main(int argc, char **argv) {
  MPI_Comm between, parent;
  int rank, value = 0, error, message = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_get_parent(&parent);
  if (parent == MPI_COMM_NULL) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    error = MPI_Comm_spawn(argv[0], MPI_ARGV_NULL, 3, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
    if (error != MPI_SUCCESS) {
      printf("this MPI starts no jobs\n");
      fflush(stdout);
      return 77;
    }
    if (rank == 0) MPI_Send(&rank, 1, MPI_INT, 2, 5, between);
    if (rank == 1) MPI_Recv(&message, 1, MPI_INT, 1, 6, between, MPI_STATUS_IGNORE);
  } else {
    between = parent;
    value = 1;
    if (rank == 2) MPI_Recv(&message, 1, MPI_INT, 0, 5, between, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(&rank, 1, MPI_INT, 1, 6, between);
  }
  together(between, value);
  ring(MPI_COMM_WORLD, 7);
  MPI_Comm_disconnect(&between);
  MPI_Finalize();
  return fault;
}
