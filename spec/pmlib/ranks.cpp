/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/pmlib/ranks.cpp - not a spec by itself: under MPI; rank r states r + 1 operations in each of r + 1 calls. */
#include <PerfMonitor.h>

#include <unistd.h>

using namespace pm_lib;

int main(int argc, char **argv) {
  PerfMonitor PM;
  int rank, size;
  std::string what = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  PM.initialize();
  if (rank == size - 1) {
    PM.start("last only");
    PM.stop("last only", 40.0);
  }
  for (int i = 0; i <= rank; i++) {
    PM.start("all ranks");
    usleep(2000);
    PM.stop("all ranks", rank + 1.0, 1);
  }
  if (PM.my_rank != rank || PM.num_process != size) return 1;
  if (what == "too late") {
    MPI_Finalize();
    PM.report(stdout);
    return 0;
  }
  PM.report(stdout);

  MPI_Group world, odd;
  MPI_Comm color;
  int ranks[2] = {1, 3};
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 2, ranks, &odd);
  PM.printGroup(stdout, odd, MPI_COMM_WORLD, ranks, 7);
  MPI_Comm_split(MPI_COMM_WORLD, rank / 2 * 10, rank, &color);
  PM.printComm(stdout, color, rank / 2 * 10, rank);
  MPI_Finalize();
  return 0;
}
