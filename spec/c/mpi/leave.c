/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/mpi/leave.c - a rank that leaves before MPI_Finalize, for spec/lua/mpi_reduction_spec.lua.
 * usage: leave RANK HOW [SECONDS]: kill, abort and exit end it; stop lets it stand for SECONDS. Without HOW none
 * leaves. Before that each rank sends 100 bytes to the next in the world, and 1000 bytes to the other end of the even
 * or the odd ranks.
 */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char room[1000];

static void exchange(MPI_Comm comm, int bytes, int far) {
  int rank, size;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  int to = far ? size - 1 - rank : (rank + 1) % size, from = far ? to : (rank + size - 1) % size;
  char in[1000];
  MPI_Sendrecv(room, bytes, MPI_CHAR, to, 1, in, bytes, MPI_CHAR, from, 1, comm, MPI_STATUS_IGNORE);
}

/* The process that continues this one must not be a child of an MPI process. */
static pid_t start_waker(unsigned seconds) {
  pid_t child = fork();
  if (child != 0) return child;
  pid_t parent = getppid();
  sleep(seconds);
  kill(parent, SIGCONT);
  _exit(0);
}

int main(int argc, char **argv) {
  const char *how = argc > 2 ? argv[2] : "";
  int rank;
  MPI_Comm half;
  MPI_Init(NULL, NULL);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &half);
  exchange(MPI_COMM_WORLD, 100, 0);
  exchange(half, 1000, 1);
  MPI_Comm_free(&half);
  MPI_Barrier(MPI_COMM_WORLD);
  if (argc > 1 && rank == atoi(argv[1])) {
    if (strcmp(how, "kill") == 0) raise(SIGKILL);
    if (strcmp(how, "abort") == 0) abort();
    if (strcmp(how, "exit") == 0) _exit(0);
    if (strcmp(how, "stop") == 0 && start_waker((unsigned)atoi(argv[3])) > 0) raise(SIGSTOP);
  }
  MPI_Finalize();
  return 0;
}
