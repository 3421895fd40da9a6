/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/mpi/connect.c - two jobs that meet by a port, whose name goes through a file: connect accept|connect FILE.
 * Each rank exchanges its number with the same rank of the other job, and with its neighbours in its own.
 */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char port[MPI_MAX_PORT_NAME];

static void write_port(const char *path) {
  char early[4096];
  (void)snprintf(early, sizeof early, "%s.early", path);
  MPI_Open_port(MPI_INFO_NULL, port);
  FILE *f = fopen(early, "w");
  fputs(port, f);
  fclose(f);
  rename(early, path);
}

static void read_port(const char *path) {
  FILE *f;
  while ((f = fopen(path, "r")) == NULL) usleep(10000);
  if (fgets(port, sizeof port, f) == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  fclose(f);
}

static int exchange(MPI_Comm comm, int rank, int to, int from) {
  int other = -1;
  MPI_Sendrecv(&rank, 1, MPI_INT, to, 5, &other, 1, MPI_INT, from, 5, comm, MPI_STATUS_IGNORE);
  return other;
}

int main(int argc, char **argv) {
  MPI_Comm both;
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc < 3) return 2;
  if (strcmp(argv[1], "accept") == 0) {
    if (rank == 0) write_port(argv[2]);
    MPI_Comm_accept(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &both);
  } else {
    if (rank == 0) read_port(argv[2]);
    MPI_Comm_connect(port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &both);
  }
  int wrong = exchange(both, rank, rank, rank) != rank;
  wrong |= exchange(MPI_COMM_WORLD, rank, (rank + 1) % size, (rank + size - 1) % size) != (rank + size - 1) % size;
  MPI_Comm_disconnect(&both);
  MPI_Finalize();
  return wrong;
}
