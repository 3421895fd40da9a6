/* SPDX-License-Identifier: BSD-3-Clause */
/* core/adapter/mpi/reduction/pml_mpi_reduction.c - reduction of the ranks' summaries to the job's file. */
#include "adapter/mpi/reduction/pml_mpi_reduction.h"

#include "adapter/mpi/pml_mpi.h"
#include "adapter/mpi/reduction/pml_mpi_files.h"
#include "base/pml_file.h"
#include "base/pml_setting.h"
#include "read/section/pml_section_totals.h"
#include "record/log/pml_log_own.h"
#include "source/sde/pml_sde.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_S 10
#define TIMEOUT_MAX_S 86400

static struct pml_mpi_reduction asked;
static uint32_t spawned; /* this job's number if another job spawned it */
static bool added;       /* the summary contains this rank's measurements */

void pml_mpi_reduce(const struct pml_mpi_reduction *r) {
  asked = *r;
  pml__mpi_traffic_count();
}

void pml__mpi_reduction_spawned(uint32_t job) {
  spawned = job;
}

/* Add the log of PMLUA_REPORT; the job's file is beside it. */
static int add_log(struct pml_summary *s, int64_t rank, void *path) {
  const struct pml__log *log = pml__log_own();
  if (log == NULL) return -ENOENT;
  const char *slash = strrchr(log->file.path, '/');
  (void)snprintf(path, PATH_MAX, "%.*s/job.pmlsum", (int)(slash - log->file.path), log->file.path);
  (void)pml_sde_log_sample(true);
  pml__section_log_sketches();
  return pml__section_own_summary(log->file.path, s, rank);
}

/* The log of PMLUA_REPORT is also reduced, without counts of messages. */
__attribute__((constructor)) static void reduce_log(void) {
  static char path[PATH_MAX];
  if (pml__mpi_report()) asked = (struct pml_mpi_reduction){add_log, NULL, path, path, false};
}

int64_t pml__mpi_reduction_timeout(void) {
  const char *text = pml__setting("PMLUA_MPI_TIMEOUT");
  char *end = NULL;
  double seconds = text != NULL ? strtod(text, &end) : TIMEOUT_S;
  if (text != NULL && (end == text || *end != '\0' || !(seconds >= 0))) seconds = TIMEOUT_S;
  if (seconds > TIMEOUT_MAX_S) seconds = TIMEOUT_MAX_S;
  return (int64_t)(seconds * 1e9);
}

/* Add the properties of the job, once. */
static int add_job(struct pml_summary *s, int size) {
  struct pml_summary_value value[] = {{"size", false, size, pml_summary_one(size, 0)},
                                      {"block", false, pml__mpi_block(size), pml_summary_one(pml__mpi_block(size), 0)}};
  const struct pml_summary_row row = {
      .kind = PML_SUMMARY_MPI, .name = "job", .processes = 1, .nvalues = 2, .value = value};
  return pml_summary_add(s, &row);
}

static bool is_communicating(const struct pml_summary_row *row) {
  return row->kind == PML_SUMMARY_CALL && row->detail[0] == '\0' && strncmp(row->name, "MPI_", 4) == 0 &&
         strncmp(row->name, "MPI_Init", 8) != 0 && strcmp(row->name, "MPI_Finalize") != 0;
}

int pml__mpi_time_summary(struct pml_summary *s, int64_t rank) {
  const struct pml_summary_row *one;
  double ns = 0;
  for (size_t i = 0; (one = pml_summary_row(s, i)) != NULL; i++)
    if (is_communicating(one)) ns += one->time.sum;
  const struct pml_summary_row row = {
      .kind = PML_SUMMARY_MPI, .name = "time", .processes = 1, .first = rank, .time = pml_summary_one(ns, rank)};
  return ns > 0 ? pml_summary_add(s, &row) : 0;
}

static int add_rank(struct pml_summary *s, int rank, int size) {
  int err = rank == 0 ? add_job(s, size) : 0;
  if (err == 0) err = asked.add(s, rank, asked.arg);
  if (err == 0) err = pml__mpi_time_summary(s, rank);
  if (err == 0) err = pml__mpi_traffic_summary(s, rank, size);
  if (err == 0) err = pml__mpi_files_summary(s, rank);
  return err == 0 ? pml_summary_seen(s, rank, rank) : err;
}

void pml__mpi_reduction_written(void) {
  if (added && asked.written != NULL) asked.written(asked.arg);
}

/* A rank without measurements still forwards the measurements of other ranks. */
struct pml_summary *pml__mpi_reduction_begin(int rank, int size) {
  struct pml_summary *s = NULL;
  if (asked.add == NULL || pml_summary_open(&s) < 0) return NULL;
  added = add_rank(s, rank, size) == 0;
  if (added) return s;
  pml_summary_close(s);
  return pml_summary_open(&s) == 0 && (rank > 0 || add_job(s, size) == 0) ? s : NULL;
}

int pml__mpi_reduction_pack(const struct pml_summary *s, unsigned char **bytes, size_t *n) {
  return pml_summary_pack(s, bytes, n);
}

void pml__mpi_reduction_free(unsigned char *bytes) {
  free(bytes);
}

int pml__mpi_reduction_merge(struct pml_summary *s, const void *bytes, size_t n) {
  struct pml_summary *other;
  int err = pml_summary_unpack(&other, bytes, n);
  if (err < 0) return err;
  err = pml_summary_merge(s, other);
  pml_summary_close(other);
  return err;
}

static void path_of_job(char path[PATH_MAX]) {
  int stem = (int)(strlen(asked.path) - strlen(".pmlsum"));
  if (spawned == 0)
    (void)snprintf(path, PATH_MAX, "%s", asked.path);
  else
    (void)snprintf(path, PATH_MAX, "%.*s-%u.pmlsum", stem, asked.path, spawned);
}

static size_t most_bytes(const struct pml_summary *s) {
  int64_t first, last, ranks = 0;
  for (size_t i = 0; pml_summary_range(s, i, &first, &last); i++) ranks += last - first + 1;
  return asked.all ? SIZE_MAX : PML__MPI_BYTES * (size_t)ranks;
}

/* The ranks' logs are removed once the file contains their data, so it is read back. */
static int read_back(const char *path, size_t n) {
  struct pml_summary *s = NULL;
  unsigned char *bytes = malloc(n);
  int fd = bytes != NULL ? open(path, O_RDONLY | O_CLOEXEC) : -1;
  bool whole = fd >= 0 && pml__file_read(fd, bytes, n, 0) == (ssize_t)n;
  int err = whole ? pml_summary_unpack(&s, bytes, n) : -EIO;
  if (fd >= 0) (void)close(fd);
  pml_summary_close(s);
  free(bytes);
  return err;
}

int pml__mpi_reduction_write(const struct pml_summary *s) {
  struct pml_file f;
  char path[PATH_MAX];
  unsigned char *bytes;
  size_t n;
  int err = pml__mpi_pack_within(s, most_bytes(s), &bytes, &n);
  if (err < 0) return err;
  path_of_job(path);
  err = pml_file_create(&f, path);
  if (err == 0) {
    err = pml__file_write(f.fd, bytes, n);
    if (err == 0)
      err = pml_file_commit(&f);
    else
      pml_file_discard(&f);
  }
  free(bytes);
  return err == 0 ? read_back(path, n) : err;
}
