/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/mpi/messages.c - sends, receives and collective operations of known number and size, for
 * spec/lua/mpi_spec.lua. In a job of N ranks, each rank sends 10 messages of 400 bytes with tag 7 to the next; rank 0
 * sends 1000 r bytes with tag r to each rank r; one of each collective operation follows among the even ranks, and
 * among the odd ranks.
 */
#include <mpi.h>
#include <stdlib.h>

enum { N = 64 };
static int rank, size;
static char room[1000 * N];

static void ring(void) {
  static int in[10][100], out[10][100];
  MPI_Request request[20];
  for (int i = 0; i < 10; i++) {
    MPI_Irecv(in[i], 100, MPI_INT, (rank + size - 1) % size, 7, MPI_COMM_WORLD, &request[i]);
    MPI_Isend(out[i], 100, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, &request[10 + i]);
  }
  MPI_Wait(&request[0], MPI_STATUS_IGNORE);
  for (int done = 0; !done;) MPI_Test(&request[1], &done, MPI_STATUS_IGNORE);
  MPI_Waitall(20, request, MPI_STATUSES_IGNORE);
}

static void star(void) {
  if (rank > 0) MPI_Recv(room, sizeof room, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int i = 1; rank == 0 && i < size; i++) MPI_Send(room, 1000 * i, MPI_CHAR, i, i, MPI_COMM_WORLD);
}

static void collectives(MPI_Comm comm) {
  static double a[N * N], b[N * N];
  static int count[N], at[N];
  MPI_Datatype type[N];
  MPI_Request request;
  int n, r;
  MPI_Comm_size(comm, &n);
  MPI_Comm_rank(comm, &r);
  for (int i = 0; i < n; i++) {
    count[i] = i + 1;
    at[i] = i * N;
    type[i] = MPI_CHAR;
  }
  MPI_Barrier(comm);
  MPI_Bcast(a, 5, MPI_DOUBLE, 1, comm);
  MPI_Gather(a, 2, MPI_DOUBLE, b, 2, MPI_DOUBLE, 0, comm);
  MPI_Gatherv(a, r + 1, MPI_DOUBLE, b, count, at, MPI_DOUBLE, 1, comm);
  MPI_Scatter(a, 3, MPI_DOUBLE, b, 3, MPI_DOUBLE, 0, comm);
  MPI_Scatterv(a, count, at, MPI_DOUBLE, b, r + 1, MPI_DOUBLE, 1, comm);
  MPI_Allgather(a, 2, MPI_DOUBLE, b, 2, MPI_DOUBLE, comm);
  MPI_Allgatherv(a, r + 1, MPI_DOUBLE, b, count, at, MPI_DOUBLE, comm);
  MPI_Alltoall(a, 1, MPI_DOUBLE, b, 1, MPI_DOUBLE, comm);
  for (int i = 0; i < n; i++) count[i] = r + i;
  MPI_Alltoallv(a, count, at, MPI_DOUBLE, b, count, at, MPI_DOUBLE, comm);
  MPI_Alltoallw(a, count, at, type, b, count, at, type, comm);
  MPI_Allreduce(a, b, 4, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Allreduce(MPI_IN_PLACE, b, 4, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Reduce(r == 0 ? MPI_IN_PLACE : a, r == 0 ? a : NULL, 4, MPI_DOUBLE, MPI_SUM, 0, comm);
  for (int i = 0; i < n; i++) count[i] = i + 1;
  MPI_Reduce_scatter(a, b, count, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Scan(a, b, 2, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Exscan(a, b, 2, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Reduce_scatter_block(a, b, 2, MPI_DOUBLE, MPI_SUM, comm);
  MPI_Iallgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, b, 3, MPI_DOUBLE, comm, &request);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  MPI_Comm half;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > N) MPI_Abort(MPI_COMM_WORLD, 1);
  ring();
  star();
  MPI_Comm_split(MPI_COMM_WORLD, size > 3 ? rank % 2 : 0, rank, &half);
  collectives(half);
  MPI_Comm_free(&half);
  MPI_Finalize();
  return 0;
}
