/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/mpi/pml_mpi_job.c - request for the summary of an MPI job. */
#include "adapter/mpi/pml_mpi_job.h"

#include "adapter/mpi/pml_mpi.h"
#include "adapter/mpi/pml_mpi_traffic.h"
#include "base/pml_setting.h"
#include "record/log/pml_log_own.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TIMEOUT_S 10
#define TIMEOUT_MAX_S 86400

static struct pml_mpi_reduction asked;

void pml_mpi_reduce(const struct pml_mpi_reduction *r) {
  asked = *r;
  pml__mpi_traffic_count();
}

void pml__mpi_reduction_spawned(uint32_t job) {
  asked.job = job;
}

/* The log of PMLUA_REPORT; the job's file is beside it. */
static bool measured_by_report(struct pml_mpi_measured *m, void *path) {
  const struct pml__log *log = pml__log_own();
  if (log == NULL) return false;
  const char *slash = strrchr(log->file.path, '/');
  (void)snprintf(path, PATH_MAX, "%.*s/job.pmlsum", (int)(slash - log->file.path), log->file.path);
  *m = (struct pml_mpi_measured){.log = log->file.path};
  return true;
}

/* The log of PMLUA_REPORT is also reduced, without counts of messages. */
__attribute__((constructor)) static void reduce_log(void) {
  static char path[PATH_MAX];
  if (pml__mpi_report()) asked = (struct pml_mpi_reduction){.measured = measured_by_report, .arg = path, .path = path};
}

struct pml_summary *pml__mpi_reduction_begin(int rank, int size, const struct pml__mpi_reducer **by) {
  void *library = asked.measured != NULL ? dlopen(PML__SONAME("libpmlua-read"), RTLD_NOW | RTLD_LOCAL) : NULL;
  *by = library != NULL ? dlsym(library, "pml__mpi_reducer") : NULL;
  return *by != NULL ? (*by)->begin(&asked, rank, size) : NULL;
}

int64_t pml__mpi_reduction_timeout(void) {
  const char *text = pml__setting("PMLUA_MPI_TIMEOUT");
  char *end = NULL;
  double seconds = text != NULL ? strtod(text, &end) : TIMEOUT_S;
  if (text != NULL && (end == text || *end != '\0' || !(seconds >= 0))) seconds = TIMEOUT_S;
  if (seconds > TIMEOUT_MAX_S) seconds = TIMEOUT_MAX_S;
  return (int64_t)(seconds * 1e9);
}
