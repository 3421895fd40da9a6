/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/mpi/cost_matrix.c - a message in the sums of a thread, whose instructions spec/mpi_costs.lua counts. */
#include "adapter/mpi/pml_mpi_traffic.h"

enum { TIMES = 2000 };

static struct pml__mpi_lane lane = {.blocks_of_rank = UINT64_C(1) << 32};

__attribute__((noinline)) void hook_MPI_Matrix(uint32_t rank, uint64_t bytes) {
  pml__mpi_count_sent(&lane, rank, bytes);
}

int main(void) {
  for (int i = 0; i < TIMES; i++) hook_MPI_Matrix((uint32_t)i % 4, (uint64_t)i);
  return lane.to.messages[1] == TIMES / 4 ? 0 : 1;
}
