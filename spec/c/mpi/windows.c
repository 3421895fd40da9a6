/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/mpi/windows.c - several windows of one communicator, one of another, one of a process alone; with names. */
#include <mpi.h>

static int rank, mine = 1;

static MPI_Win window(MPI_Comm comm) {
  MPI_Win win;
  int *at;
  MPI_Win_allocate(400, 4, MPI_INFO_NULL, comm, &at, &win);
  MPI_Win_fence(0, win);
  return win;
}

static void put(MPI_Win win, int n, int target) {
  for (int i = 0; i < n; i++) MPI_Put(&mine, 1, MPI_INT, target, 2, 1, MPI_INT, win);
  MPI_Win_fence(0, win);
}

int main(int argc, char **argv) {
  MPI_Comm grid;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_dup(MPI_COMM_WORLD, &grid);
  MPI_Comm_set_name(grid, "grid");
  if (rank == 0) MPI_Pcontrol(0);
  MPI_Win unseen = window(MPI_COMM_WORLD);
  if (rank == 0) MPI_Pcontrol(1);
  MPI_Win halo = window(MPI_COMM_WORLD), second = window(MPI_COMM_WORLD), other = window(grid), own;
  MPI_Win_set_name(second, "second");
  if (rank == 0) MPI_Win_set_name(halo, "halo");
  put(halo, 1, 1 - rank);
  put(second, 2, 1 - rank);
  put(other, 3, 1 - rank);
  if (rank == 1) {
    own = window(MPI_COMM_SELF);
    MPI_Win_set_name(own, "own");
    put(own, 4, 0);
    MPI_Win_free(&own);
  }
  MPI_Win_free(&other);
  MPI_Win_free(&second);
  MPI_Win_free(&halo);
  MPI_Win_free(&unseen);
  MPI_Comm_free(&grid);
  MPI_Finalize();
  return 0;
}
