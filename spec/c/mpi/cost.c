/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/mpi/cost.c - calls of MPI whose instructions spec/mpi_costs.lua counts, by a rank that is alone. */
#include <mpi.h>

enum { TIMES = 4000 };

static int sent[4], got[4], rank, flag;

static void exchange(MPI_Comm comm) {
  MPI_Request r;
  MPI_Status s;
  MPI_Irecv(got, 4, MPI_INT, 0, 1, comm, &r);
  MPI_Send(sent, 4, MPI_INT, 0, 1, comm);
  MPI_Wait(&r, &s);
  MPI_Isend(sent, 4, MPI_INT, 0, 2, comm, &r);
  MPI_Recv(got, 4, MPI_INT, 0, 2, comm, &s);
  MPI_Wait(&r, &s);
}

/* Four requests; the receives are complete as the sends are. */
static void exchange_all(MPI_Comm comm) {
  MPI_Request r[4];
  MPI_Status s[4];
  for (int i = 0; i < 2; i++) MPI_Irecv(got, 4, MPI_INT, 0, 3 + i, comm, &r[i]);
  for (int i = 0; i < 2; i++) MPI_Isend(sent, 4, MPI_INT, 0, 3 + i, comm, &r[2 + i]);
  MPI_Waitall(4, r, s);
  MPI_Irecv(got, 4, MPI_INT, 0, 5, comm, &r[0]);
  MPI_Sendrecv(sent, 4, MPI_INT, 0, 6, got, 4, MPI_INT, 0, 6, comm, s);
  MPI_Send(sent, 4, MPI_INT, 0, 5, comm);
  MPI_Test(&r[0], &flag, s);
  if (!flag) MPI_Wait(&r[0], s);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  for (int i = 0; i < TIMES; i++) {
    exchange(MPI_COMM_WORLD);
    exchange_all(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Allreduce(sent, got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  }
  MPI_Finalize();
  return 0;
}
