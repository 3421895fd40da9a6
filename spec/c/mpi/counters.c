/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/mpi/counters.c - sections in two threads, counters and recorders of each rank, for
 * spec/lua/mpi_reduction_spec.lua. usage: counters [RANK SECONDS]: this rank comes so much later to MPI_Finalize.
 */
#include <mpi.h>
#include <pml.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static void solve(int times) {
  PML_SECTION("solve", solve);
  for (int i = 0; i < times; i++) {
    pml_section_start(solve);
    pml_section_stop(solve);
  }
}

static void *solve_once(void *arg) {
  (void)arg;
  solve(1);
  return NULL;
}

int main(int argc, char **argv) {
  static long long cells;
  struct pml_sde_library *app;
  struct pml_sde_counter *steps;
  struct pml_recorder *residual;
  const struct pml_recorder_options doubles = {.type = PML_TYPE_DOUBLE};
  pthread_t other;
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  pml_sde_library(&app, "APP");
  pml_sde_create(app, "steps", PML_SDE_RO, &steps);
  pml_sde_register(app, "cells", PML_SDE_RO | PML_SDE_INSTANT, PML_TYPE_INT64, &cells);
  pml_sde_create_recorder(app, "residual", &doubles, &residual);
  pml_sde_increment(steps, 10 * (rank + 1));
  cells = 100 * rank;
  for (int i = 1; i <= 10; i++) pml_recorder_push_double(residual, i + 1000.0 * rank);
  solve(rank + 1);
  pthread_create(&other, NULL, solve_once, NULL);
  pthread_join(other, NULL);
  if (argc > 2 && rank == atoi(argv[1])) sleep((unsigned)atoi(argv[2]));
  MPI_Finalize();
  return 0;
}
