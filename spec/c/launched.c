/* SPDX-License-Identifier: BSD-3-Clause */
/* spec/c/launched.c - a process's rank, size and local rank from the variables of each launcher. */
#include "base/pml_launched.h"
#include "check.h"

static const char *const known[] = {"OMPI_COMM_WORLD_RANK",
                                    "OMPI_COMM_WORLD_SIZE",
                                    "OMPI_COMM_WORLD_LOCAL_RANK",
                                    "PMI_RANK",
                                    "PMI_SIZE",
                                    "MPI_LOCALRANKID",
                                    "PMIX_RANK",
                                    "PMIX_SIZE",
                                    "MV2_COMM_WORLD_RANK",
                                    "MV2_COMM_WORLD_SIZE",
                                    "PALS_RANKID",
                                    "MV2_COMM_WORLD_LOCAL_RANK",
                                    "PALS_LOCAL_RANKID",
                                    "SLURM_PROCID",
                                    "SLURM_STEP_NUM_TASKS",
                                    "SLURM_NTASKS",
                                    "SLURM_LOCALID"};

static void expect(const char *set, int rank, int size, int local_rank) {
  char words[300], *rest = words;
  struct pml__launched l;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) unsetenv(known[i]);
  strcpy(words, set);
  for (char *word; (word = strsep(&rest, " ")) != NULL;) {
    char *value = strchr(word, '=');
    if (value == NULL) continue;
    *value = '\0';
    setenv(word, value + 1, 1);
  }
  pml__launched(&l);
  CHECK(l.rank == rank && l.size == size && l.local_rank == local_rank, "'%s': rank %d of %d, %d here", set, l.rank,
        l.size, l.local_rank);
}

int main(void) {
  expect("", -1, -1, -1);
  expect("OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=1", 3, 4, 1);
  expect("PMI_RANK=0 PMI_SIZE=2 MPI_LOCALRANKID=0", 0, 2, 0);
  expect("PMIX_RANK=5 SLURM_LOCALID=1", 5, -1, 1);
  expect("MV2_COMM_WORLD_RANK=1 MV2_COMM_WORLD_SIZE=8 MV2_COMM_WORLD_LOCAL_RANK=1", 1, 8, 1);
  expect("PALS_RANKID=2 PALS_LOCAL_RANKID=0", 2, -1, 0);
  expect("SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 SLURM_NTASKS=16", 1, 2, -1);
  /* mpirun in a job of Slurm's: the nearest launcher counts. */
  expect("OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1", 1, 2, -1);
  expect("OMPI_COMM_WORLD_RANK=x PMI_RANK=99999999999 PMIX_RANK=-1 SLURM_PROCID=7z", -1, -1, -1);
  return check_done();
}
