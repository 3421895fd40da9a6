/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/mpi/known_waits.c - three ranks that wait for each other in known ways. Each prints "RANK CALL NS" before each call:
 * the time at which it enters it.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static int rank;
static struct {
  const char *name;
  long long ns;
} entered[16];
static int n;

static void before(const char *name, int late, int ms) {
  struct timespec t;
  if (rank == late) usleep((useconds_t)ms * 1000);
  clock_gettime(CLOCK_MONOTONIC, &t);
  entered[n].name = name;
  entered[n++].ns = t.tv_sec * 1000000000LL + t.tv_nsec;
}

int main(int argc, char **argv) {
  int value = 1, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);

  if (rank < 2) before("late_sender", 0, 200);
  if (rank == 0) MPI_Send(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);

  before("barrier", 1, 100);
  MPI_Barrier(MPI_COMM_WORLD);

  before("bcast", 2, 150);
  MPI_Bcast(&value, 1, MPI_INT, 2, MPI_COMM_WORLD);

  if (rank != 1) before("late_receiver", 2, 120);
  if (rank == 0) MPI_Ssend(&value, 1, MPI_INT, 2, 6, MPI_COMM_WORLD);
  if (rank == 2) MPI_Recv(&value, 1, MPI_INT, 0, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);

  if (rank == 1) usleep(30000);
  before("reduce", 2, 90);
  MPI_Reduce(&value, &sum, 1, MPI_INT, MPI_SUM, 0, MPI_COMM_WORLD);
  MPI_Barrier(MPI_COMM_WORLD);

  before("allreduce", 0, 80);
  MPI_Allreduce(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);

  MPI_Barrier(MPI_COMM_WORLD);
  before("scan", 1, 110);
  MPI_Scan(&value, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);

  MPI_Finalize();
  for (int i = 0; i < n; i++) printf("%d %s %lld\n", rank, entered[i].name, entered[i].ns);
  return 0;
}
