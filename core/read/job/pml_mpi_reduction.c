/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/job/pml_mpi_reduction.c - reduction of the ranks' summaries to the job's file. */
#include "read/job/pml_mpi_reduction.h"

#include "adapter/mpi/pml_mpi_traffic.h"
#include "adapter/section/pml_section_private.h"
#include "base/pml_file.h"
#include "read/section/pml_section_totals.h"
#include "source/sde/pml_sde.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct pml_mpi_reduction *asked;
static bool added; /* the summary contains this rank's measurements */

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

static int add_measured(struct pml_summary *s, int64_t rank) {
  struct pml_mpi_measured m = {0};
  if (!asked->measured(&m, asked->arg)) return -ESRCH;
  (void)pml_sde_log_sample(true);
  pml__section_log_sketches();
  int err = pml__section_own_summary(m.log, s, rank);
  if (err == 0 && m.profile != NULL) err = pml_profile_summary(m.profile, s, rank);
  return err == 0 && m.events ? pml_mpi_times_summary(s, rank, m.log) : err;
}

static int add_rank(struct pml_summary *s, int rank, int size) {
  int err = rank == 0 ? add_job(s, size) : 0;
  if (err == 0) err = add_measured(s, rank);
  if (err == 0) err = pml__mpi_time_summary(s, rank);
  if (err == 0) err = pml__mpi_traffic_summary(s, rank, size);
  if (err == 0) err = pml__mpi_files_summary(s, rank);
  return err == 0 ? pml_summary_seen(s, rank, rank) : err;
}

static void written(void) {
  if (added && asked->written != NULL) asked->written(asked->arg);
}

/* A rank without measurements still forwards the measurements of other ranks. */
static struct pml_summary *begin(const struct pml_mpi_reduction *r, int rank, int size) {
  struct pml_summary *s = NULL;
  asked = r;
  if (pml_summary_open(&s) < 0) return NULL;
  added = add_rank(s, rank, size) == 0;
  if (added) return s;
  pml_summary_close(s);
  return pml_summary_open(&s) == 0 && (rank > 0 || add_job(s, size) == 0) ? s : NULL;
}

static void free_packed(unsigned char *bytes) {
  free(bytes);
}

static int merge(struct pml_summary *s, const void *bytes, size_t n) {
  struct pml_summary *other;
  int err = pml_summary_unpack(&other, bytes, n);
  if (err < 0) return err;
  err = pml_summary_merge(s, other);
  pml_summary_close(other);
  return err;
}

static void path_of_job(char path[PATH_MAX]) {
  int stem = (int)(strlen(asked->path) - strlen(".pmlsum"));
  if (asked->job == 0)
    (void)snprintf(path, PATH_MAX, "%s", asked->path);
  else
    (void)snprintf(path, PATH_MAX, "%.*s-%u.pmlsum", stem, asked->path, asked->job);
}

static size_t most_bytes(const struct pml_summary *s) {
  int64_t first, last, ranks = 0;
  for (size_t i = 0; pml_summary_range(s, i, &first, &last); i++) ranks += last - first + 1;
  return asked->all ? SIZE_MAX : PML__MPI_BYTES * (size_t)ranks;
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

static int write_file(const struct pml_summary *s, int size) {
  int64_t first = 0, last = 0;
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
  if (err == 0) err = read_back(path, n);
  (void)pml_summary_range(s, 0, &first, &last);
  return err == 0 ? first == 0 && last == size - 1 : err;
}

const struct pml__mpi_reducer pml__mpi_reducer = {begin,      pml_summary_pack, free_packed,      merge,
                                                  write_file, written,          pml_summary_close};
