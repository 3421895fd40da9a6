/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/mpi/disagree.c - section "phase" is communication in rank 1, calculation in others; rank r calls it 3 + r times. */
#include <mpi.h>
#include <pml.h>

int main(int argc, char **argv) {
  struct pml_section *phase;
  struct pml_section_options options = {.type = PML_SECTION_CALCULATION};
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 1) options.type = PML_SECTION_COMMUNICATION;
  pml_section_define("phase", &options, &phase);
  for (int i = 0; i < 3 + rank; i++) {
    pml_section_start(phase);
    pml_section_stop(phase);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  return MPI_Finalize();
}
