/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/mpi/shim/process.c - the beginning and the end of MPI in a process. */
#include "shim.h"

#include <string.h>

static void begin(void) {
  struct pml__log_mpi d = {0};
  char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int rank = 0, size = 0, level = 0, n;
  (void)PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  (void)PMPI_Comm_size(MPI_COMM_WORLD, &size);
  (void)PMPI_Query_thread(&level);
  (void)PMPI_Get_library_version(version, &n);
  version[strcspn(version, "\n")] = '\0';
  d.rank = rank;
  d.size = size;
  d.thread_level = level;
  pml__mpi_log_process(&d, version);
  shim_communicators_begin();
  shim_clock_begin(rank);
}

static int hook_MPI_Init(int *argc, char ***argv) {
  int err = PMPI_Init(argc, argv);
  if (err == MPI_SUCCESS) begin();
  return err;
}

static int hook_MPI_Init_thread(int *argc, char ***argv, int required, int *provided) {
  int err = PMPI_Init_thread(argc, argv, required, provided);
  if (err == MPI_SUCCESS) begin();
  return err;
}

static int hook_MPI_Finalize(void) {
  shim_clock_end();
  return PMPI_Finalize();
}

static const struct pml__mpi_hook hooks[] = {HOOK(MPI_Init), HOOK(MPI_Init_thread), HOOK(MPI_Finalize)};
const struct pml__mpi_hooks shim_process_hooks = HOOKS(hooks);
