/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/mpi/large.c - two ranks that use what MPI has from version 4 on, for spec/lua/mpi_spec.lua: functions with
 * large counts, and persistent collective operations. Messages have as many bytes as their tag says. Status 77: an
 * older MPI.
 */
#include <mpi.h>

#if MPI_VERSION >= 4

static int rank;
static char from[1000], to[1000];

static void messages(void) {
  int other = 1 - rank;
  MPI_Request r[2];
  MPI_Status s;
  MPI_Sendrecv_c(from, 10, MPI_CHAR, other, 10, to, 100, MPI_CHAR, other, 10, MPI_COMM_WORLD, &s);
  MPI_Irecv_c(to, 100, MPI_CHAR, other, 11, MPI_COMM_WORLD, &r[0]);
  MPI_Isend_c(from, 11, MPI_CHAR, other, 11, MPI_COMM_WORLD, &r[1]);
  MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  if (rank == 0) {
    MPI_Send_c(from, 12, MPI_CHAR, 1, 12, MPI_COMM_WORLD);
    MPI_Send_init_c(from, 13, MPI_CHAR, 1, 13, MPI_COMM_WORLD, &r[0]);
  } else {
    MPI_Message message;
    MPI_Mprobe(0, 12, MPI_COMM_WORLD, &message, &s);
    MPI_Mrecv_c(to, 100, MPI_CHAR, &message, &s);
    MPI_Recv_init_c(to, 100, MPI_CHAR, 0, 13, MPI_COMM_WORLD, &r[0]);
  }
  MPI_Start(&r[0]);
  MPI_Wait(&r[0], MPI_STATUS_IGNORE);
  MPI_Request_free(&r[0]);
}

/* Each rank sends and receives, each twice; a partitioned transfer is one message. */
static void both_ways(void) {
  int other = 1 - rank;
  MPI_Request r[2];
  for (int i = 0; i < 2; i++) {
    MPI_Isendrecv(from, 14, MPI_CHAR, other, 14, to, 14, MPI_CHAR, other, 14, MPI_COMM_WORLD, &r[0]);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Isendrecv_replace(from, 15, MPI_CHAR, other, 15, other, 15, MPI_COMM_WORLD, &r[0]);
    MPI_Isendrecv_c(from, 17, MPI_CHAR, rank == 0 ? 1 : MPI_PROC_NULL, 17, to, 17, MPI_CHAR,
                    rank == 1 ? 0 : MPI_PROC_NULL, 17, MPI_COMM_WORLD, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  }
  MPI_Psend_init(from, 4, 4, MPI_CHAR, other, 16, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
  MPI_Precv_init(to, 4, 4, MPI_CHAR, other, 16, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]);
  for (int i = 0; i < 2; i++) {
    MPI_Startall(2, r);
    for (int part = 0; part < 4; part++) MPI_Pready(part, r[0]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
  }
  MPI_Request_free(&r[0]);
  MPI_Request_free(&r[1]);
}

static void collectives(void) {
  const MPI_Count count[2] = {1, 2};
  const MPI_Aint at[2] = {0, 1};
  MPI_Request r[2];
  MPI_Bcast_c(from, 30, MPI_CHAR, 1, MPI_COMM_WORLD);
  MPI_Allgatherv_c(from, 1 + rank, MPI_CHAR, to, count, at, MPI_CHAR, MPI_COMM_WORLD);
  MPI_Allreduce_init(from, to, 2, MPI_INT, MPI_MAX, MPI_COMM_WORLD, MPI_INFO_NULL, &r[0]);
  MPI_Gather_init_c(from, 5, MPI_CHAR, to + 500, 5, MPI_CHAR, 0, MPI_COMM_WORLD, MPI_INFO_NULL, &r[1]);
  for (int i = 0; i < 3; i++) {
    MPI_Startall(2, r);
    MPI_Wait(&r[0], MPI_STATUS_IGNORE);
    MPI_Wait(&r[1], MPI_STATUS_IGNORE);
  }
  MPI_Request_free(&r[0]);
  MPI_Request_free(&r[1]);
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  messages();
  both_ways();
  collectives();
  MPI_Finalize();
  return 0;
}

#else

int main(void) {
  return 77;
}

#endif
