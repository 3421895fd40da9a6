/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/mpi/sections.c - a section in each rank, for spec/lua/mpi_spec.lua. */
#include <mpi.h>
#include <pml.h>

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  PML_SECTION("meet", meet);
  pml_section_start(meet);
  MPI_Barrier(MPI_COMM_WORLD);
  pml_section_stop(meet);
  MPI_Finalize();
  return 0;
}
