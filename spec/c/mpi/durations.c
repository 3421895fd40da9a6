/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * spec/c/mpi/durations.c - sections that keep the durations of their calls, all or a sketch, around the same sleeps:
 * two of rank + 1 ms and one of twice that, TIMES times, for spec/lua/mpi_reduction_spec.lua. usage: durations TIMES
 */
#include <mpi.h>
#include <pml.h>
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv) {
  struct pml_section_options o = {.record = PML_SECTION_RECORD_ALL};
  struct pml_section *all, *few;
  int rank, times = argc > 1 ? atoi(argv[1]) : 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  int defined = pml_section_define("all", &o, &all);
  o.record = PML_SECTION_RECORD_SKETCH;
  if (defined < 0 || pml_section_define("few", &o, &few) < 0) MPI_Abort(MPI_COMM_WORLD, 3);
  for (int i = 0; i < 3 * times; i++) {
    pml_section_start(all);
    pml_section_start(few);
    usleep((useconds_t)(1000 * (rank + 1) * (i % 3 / 2 + 1)));
    pml_section_stop(few);
    pml_section_stop(all);
  }
  MPI_Finalize();
  return 0;
}
