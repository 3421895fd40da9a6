/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/mpi/shim/process.c - MPI initialization and finalization. */
#define HOOK_ALWAYS true
#include "quick.h"

#include "adapter/intercept/pml_intercept.h"
#include "adapter/mpi/pml_mpi_job.h"

#include <string.h>

shim_key_t shim_world;
uint32_t shim_ranks;
static bool begun; /* initialised and not finalised */

static void set_on(bool on) {
  __atomic_store_n(&shim_world, on ? key_of(MPI_COMM_WORLD) : 0, __ATOMIC_RELAXED);
}

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
  shim_ranks = (uint32_t)size;
  d.thread_level = level;
  pml__mpi_log_process(&d, version);
  shim_types_begin();
  shim_communicators_begin();
  shim_requests_begin(level);
  if (shim_meet(rank, size)) {
    d.job = shim_job;
    pml__mpi_log_process(&d, version);
    if (shim_is_spawned) pml__mpi_reduction_spawned(shim_job);
    shim_clock_begin(rank);
  } else {
    pml__mpi_set_trouble("messages have no communicators in common: some ranks of the job are not recorded; run all "
                         "of them under pmlua");
  }
  begun = true;
  set_on(true);
}

HOOK(Init)(int *argc, char ***argv) {
  int err = PMPI_Init(argc, argv);
  if (err == MPI_SUCCESS) begin();
  return err;
}

HOOK(Init_thread)(int *argc, char ***argv, int required, int *provided) {
  int err = PMPI_Init_thread(argc, argv, required, provided);
  if (err == MPI_SUCCESS) begin();
  return err;
}

HOOK(Finalize)(void) {
  begun = false;
  shim_requests_end();
  set_on(false);
  bool all = shim_own != MPI_COMM_NULL && shim_reduce() == SHIM_REDUCED_ALL;
  if (shim_own != MPI_COMM_NULL) shim_clock_end(all);
  if (all) shim_part(); /* called by all ranks together */
  shim_communicators_end();
  return PMPI_Finalize();
}

/* Level 0 stops recording until a call with another level. */
HOOK(Pcontrol)(const int level, ...) {
  static bool off; /* programs call MPI_Pcontrol from one thread at a time */
  if (!begun || off == (level == 0)) return MPI_SUCCESS;
  off = level == 0;
  set_on(!off);
  pml_intercept_pause(off);
  return MPI_SUCCESS;
}

#if MPI_VERSION >= 4
HOOK(Session_init)(MPI_Info info, MPI_Errhandler handler, MPI_Session *session) {
  pml__mpi_set_trouble("messages of MPI are not recorded: the program uses MPI_Session_init, which pmlua does not "
                       "support");
  return PMPI_Session_init(info, handler, session);
}
#endif
