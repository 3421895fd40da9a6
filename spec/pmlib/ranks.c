/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/pmlib/ranks.c - not a spec by itself: the two C calls that take MPI's handles. */
#include <mpi.h>
#define MORE_MPI_MEMBERS
#include <pmlib_api_C.h>

int main(int argc, char **argv) {
  int rank, both[2] = {3, 0};
  MPI_Group world, pair;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  C_pm_initialize(10);
  C_pm_start("work");
  C_pm_stop_usermode("work", 100.0 * rank, 1);
  C_pm_report("");
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 2, both, &pair);
  C_pm_printgroup("", pair, MPI_COMM_WORLD, both, 6, 0, 0);
  C_pm_printcomm("", MPI_COMM_WORLD, 4 - rank, rank, 0, 0);
  MPI_Finalize();
  return 0;
}
