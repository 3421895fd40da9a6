/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/mpi/reuse.c - two ranks, whose communicators, types and requests get the handles of others that are gone, for
 * spec/lua/mpi_spec.lua. In round i the first rank of the communicator is i % 2, and sends i % 7 + 1 integers. With an
 * argument, a request of each round is also completed where no tool sees it. Status 77: no handle came twice.
 */
#include <mpi.h>

enum { ROUNDS = 200 };

static int room[2][8], rank;

static MPI_Comm pair_of(int first) {
  MPI_Comm comm;
  MPI_Comm_split(MPI_COMM_WORLD, 0, (rank + first) % 2, &comm);
  return comm;
}

static MPI_Datatype integers(int n) {
  MPI_Datatype type;
  MPI_Type_contiguous(n, MPI_INT, &type);
  MPI_Type_commit(&type);
  return type;
}

/* Tags of recorded messages are the number of the round; other tags are larger. */
static void exchange(int i, MPI_Comm comm, MPI_Datatype type, int unseen) {
  MPI_Request r[2];
  int here;
  MPI_Comm_rank(comm, &here);
  if (here == 0) {
    for (int k = 0; k <= unseen; k++) MPI_Isend(room[k], 1, type, 1, i + ROUNDS * (unseen - k), comm, &r[k]);
    MPI_Waitall(1 + unseen, r, MPI_STATUSES_IGNORE);
    return;
  }
  if (unseen) {
    MPI_Irecv(room[0], 1, type, 0, i + ROUNDS, comm, &r[0]);
    PMPI_Wait(&r[0], MPI_STATUS_IGNORE);
  }
  MPI_Irecv(room[1], 1, type, 0, i, comm, &r[0]);
  MPI_Wait(&r[0], MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  MPI_Comm before = MPI_COMM_NULL;
  MPI_Datatype type_before = MPI_DATATYPE_NULL;
  int again = 0, type_again = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  for (int i = 0; i < ROUNDS; i++) {
    MPI_Comm comm = pair_of(i % 2);
    MPI_Datatype type = integers(i % 7 + 1);
    again += comm == before;
    type_again += type == type_before;
    before = comm;
    type_before = type;
    exchange(i, comm, type, argc > 1);
    MPI_Type_free(&type);
    MPI_Comm_free(&comm);
  }
  MPI_Finalize();
  return again > 0 && type_again > 0 ? 0 : 77;
}
