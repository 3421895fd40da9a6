/* SPDX-License-Identifier: BSD-3-Clause */
/* core/base/pml_launched.c - environment variables of MPI and batch launchers. */
#include "base/pml_launched.h"

#include <errno.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>

/*
 * Open MPI; MPICH and others with its process manager; PMIx; MVAPICH; PALS; Slurm. One launcher may start another: rank
 * and size come from one row. SLURM_NTASKS is the whole job's, also in its batch script.
 */
static const struct {
  const char *rank, *size, *local_rank;
} variables[] = {{"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"},
                 {"PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"},
                 {"PMIX_RANK", "PMIX_SIZE", NULL},
                 {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK"},
                 {"PALS_RANKID", NULL, "PALS_LOCAL_RANKID"},
                 {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"}};

int pml__number_of(const char *text) {
  char *end;
  int err = errno;
  if (text == NULL || *text < '0' || *text > '9') return -1;
  errno = 0;
  long v = strtol(text, &end, 10);
  int n = errno != 0 || *end != '\0' || v > INT_MAX ? -1 : (int)v;
  errno = err;
  return n;
}

static int value_of(const char *name) {
  return name != NULL ? pml__number_of(secure_getenv(name)) : -1;
}

void pml__launched(struct pml__launched *l) {
  *l = (struct pml__launched){-1, -1, -1};
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++) {
    if (l->local_rank < 0) l->local_rank = value_of(variables[i].local_rank);
    if (l->rank >= 0) continue;
    l->rank = value_of(variables[i].rank);
    if (l->rank >= 0) l->size = value_of(variables[i].size);
  }
}
