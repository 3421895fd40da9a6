/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/mpi/known_causes.c - two ranks with two threads of OpenMP each: rank 1's second thread is late for the end of
 * a region, and rank 1 therefore for a message to rank 0, which works on while rank 1 waits in a barrier. Each rank
 * prints "RANK WHAT NS" at the end.
 */
#define _GNU_SOURCE
#include <mpi.h>
#include <omp.h>
#include <pml.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

static long long now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1000000000LL + t.tv_nsec;
}

static long long ended[2];

__attribute__((noinline)) static void work(const int *ms) {
#pragma omp parallel num_threads(2)
  {
    usleep((useconds_t)ms[omp_get_thread_num()] * 1000);
    ended[omp_get_thread_num()] = now();
  }
}

int main(int argc, char **argv) {
  static const int ms[2][2] = {{150, 20}, {20, 240}}; /* by rank and thread */
  int level, rank, value = 1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PML_SECTION("prepare", prepare);
  PML_SECTION("exchange", exchange);
  MPI_Barrier(MPI_COMM_WORLD);

  pml_section_start(prepare);
  long long prepared = now();
  usleep(rank == 1 ? 160000 : 1000);
  prepared = now() - prepared;
  pml_section_stop(prepare);
  if (rank == 1) work(ms[1]);
  pml_section_start(exchange);
  long long met = now();
  if (rank == 0)
    MPI_Recv(&value, 1, MPI_INT, 1, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else
    MPI_Send(&value, 1, MPI_INT, 0, 5, MPI_COMM_WORLD);
  pml_section_stop(exchange);
  if (rank == 0) work(ms[0]);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  printf("%d thread0 %lld\n%d thread1 %lld\n%d met %lld\n%d prepared %lld\n", rank, ended[0], rank, ended[1], rank, met,
         rank, prepared);
  return 0;
}
