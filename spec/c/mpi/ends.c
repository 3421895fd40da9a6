/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/mpi/ends.c - ends of a job, for spec/lua/mpi_spec.lua: rank 0 sends 10 bytes to rank 1, then argv[1] says what
 * happens.
 */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int rank;
static char room[100];

static void send_one(int tag) {
  if (rank == 0) MPI_Send(room, 10, MPI_CHAR, 1, tag, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(room, 10, MPI_CHAR, 0, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

int main(int argc, char **argv) {
  const char *how = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  send_one(1);
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 3);
  if (strcmp(how, "kill") == 0) raise(SIGKILL);
  if (strcmp(how, "_exit") == 0) _exit(0);
  if (strcmp(how, "exit") == 0) return 0;
  MPI_Pcontrol(0);
  send_one(2); /* not recorded */
  MPI_Pcontrol(1);
  send_one(3);
  MPI_Finalize();
  return 0;
}
