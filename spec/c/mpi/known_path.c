/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/mpi/known_path.c - three ranks whose critical path is known: each sleeps in turn, and hands on. Each prints
 * "RANK NS" of its sleeps on the path, and "whole NS" of the longest rank.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long long slept(int ms) {
  long long before = now();
  usleep((useconds_t)ms * 1000);
  return now() - before;
}

int main(int argc, char **argv) {
  int rank, value = 1;
  long long on_path = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);

  /* The others wait for 1, so that the path comes to 0 after the start, however long that took. */
  if (rank == 1) on_path += slept(60);
  MPI_Barrier(MPI_COMM_WORLD);

  /* 0 sleeps and sends to 1, which was waiting; 1 sleeps and sends to 2; 2 sleeps, while the others wait in a barrier. */
  if (rank > 0) MPI_Recv(&value, 1, MPI_INT, rank - 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  on_path += slept(rank == 0 ? 200 : rank == 1 ? 150 : 100);
  if (rank < 2) MPI_Send(&value, 1, MPI_INT, rank + 1, 5, MPI_COMM_WORLD);
  if (rank < 2) (void)slept(20); /* beside the path */
  MPI_Barrier(MPI_COMM_WORLD);

  /* 1 is late for a broadcast that it begins. */
  if (rank == 1) on_path += slept(120);
  MPI_Bcast(&value, 1, MPI_INT, 1, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);

  printf("%d %lld\n", rank, on_path);
  fflush(stdout);
  MPI_Finalize();
  return 0;
}
