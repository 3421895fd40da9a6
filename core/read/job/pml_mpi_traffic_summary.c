/* SPDX-License-Identifier: BSD-3-Clause */
/* core/read/job/pml_mpi_traffic_summary.c - a process's traffic as rows of a summary. */
#include "adapter/mpi/pml_mpi_files.h"
#include "adapter/mpi/pml_mpi_traffic.h"
#include "read/job/pml_mpi_reduction.h"

#include <stdio.h>

#define NAME(id, name) name,
static const char *const operation_name[PML__MPI_OPERATIONS] = {PML__LOG_COLLECTIVES(NAME)
                                                                    PML__LOG_NEIGHBOR_COLLECTIVES(NAME)};
#undef NAME

#define NAME_OF(name) "MPI_File_" #name,
static const char *const file_function[] = {PML__MPI_FILE_FUNCTIONS(NAME_OF)};
_Static_assert(sizeof file_function / sizeof *file_function == PML__MPI_FILE_N, "each function has a name");

/* A row under construction. */
struct row {
  struct pml_summary_row of;
  struct pml_summary_value value[PML__MPI_BLOCKS];
  char name[PML__MPI_BLOCKS][12];
};
_Static_assert(PML__MPI_CLASSES <= PML__MPI_BLOCKS, "a row has room for a value of each class");

static void begin_row(struct row *r, const char *name, const char *detail, int rank) {
  r->of = (struct pml_summary_row){
      .kind = PML_SUMMARY_MPI, .name = name, .detail = detail, .processes = 1, .first = rank, .value = r->value};
}

static struct pml_summary_value value_of(const char *name, uint64_t n, int64_t rank) {
  int64_t whole = n > INT64_MAX ? INT64_MAX : (int64_t)n;
  return (struct pml_summary_value){name, false, whole, pml_summary_one((double)whole, rank)};
}

static void put(struct row *r, const char *name, uint64_t n) {
  if (n > 0) r->value[r->of.nvalues++] = value_of(name, n, r->of.first);
}

static void put_numbered(struct row *r, const uint64_t *n, unsigned count) {
  for (unsigned i = 0; i < count; i++) {
    (void)snprintf(r->name[i], sizeof r->name[i], "%u", i);
    put(r, r->name[i], n[i]);
  }
}

static int end_row(struct pml_summary *s, const struct row *r) {
  return r->of.nvalues > 0 ? pml_summary_add(s, &r->of) : 0;
}

int pml__mpi_classes_summary(struct pml_summary *s, const char *name, const uint64_t *value, int rank) {
  struct row r;
  begin_row(&r, name, NULL, rank);
  put_numbered(&r, value, PML__MPI_CLASSES);
  return end_row(s, &r);
}

static int add_sizes(struct pml_summary *s, const char *messages, const char *bytes, const struct pml__mpi_sizes *sum,
                     int rank) {
  int err = pml__mpi_classes_summary(s, messages, sum->messages, rank);
  return err == 0 ? pml__mpi_classes_summary(s, bytes, sum->bytes, rank) : err;
}

static int add_operation(struct pml_summary *s, const struct pml__mpi_lane *sum, unsigned i, int rank) {
  struct row r;
  begin_row(&r, "collective", operation_name[i], rank);
  put(&r, "calls", sum->moved[i].calls);
  put(&r, "sent", sum->moved[i].sent);
  put(&r, "received", sum->moved[i].received);
  return end_row(s, &r);
}

/* Add a row of the matrix. */
static int add_line(struct pml_summary *s, const char *name, const uint64_t to[PML__MPI_BLOCKS], int rank, int size) {
  struct row r;
  char from[16];
  (void)snprintf(from, sizeof from, "%d", rank / pml__mpi_block(size));
  begin_row(&r, name, from, rank);
  put_numbered(&r, to, PML__MPI_BLOCKS);
  return end_row(s, &r);
}

static int add_file(struct pml_summary *s, unsigned i, int rank) {
  struct row r;
  begin_row(&r, "file", file_function[i], rank);
  uint64_t calls, bytes;
  pml__mpi_file_sum((enum pml__mpi_file_function)i, &calls, &bytes);
  put(&r, "calls", calls);
  if (r.of.nvalues > 0) r.value[r.of.nvalues++] = value_of("bytes", bytes, rank); /* even if it is 0 */
  return end_row(s, &r);
}

int pml__mpi_files_summary(struct pml_summary *s, int rank) {
  int err = 0;
  for (unsigned i = 0; i < PML__MPI_FILE_N && err == 0; i++) err = add_file(s, i, rank);
  return err;
}

int pml__mpi_traffic_summary(struct pml_summary *s, int rank, int size) {
  struct pml__mpi_lane sum;
  pml__mpi_traffic_sum(&sum, size);
  int err = add_sizes(s, "messages sent", "bytes sent", &sum.size[PML__MPI_SENT], rank);
  if (err == 0) err = add_sizes(s, "messages received", "bytes received", &sum.size[PML__MPI_RECEIVED], rank);
  for (unsigned i = 0; i < PML__MPI_OPERATIONS && err == 0; i++) err = add_operation(s, &sum, i, rank);
  if (err == 0) err = add_line(s, "messages to", sum.to.messages, rank, size);
  return err == 0 ? add_line(s, "bytes to", sum.to.bytes, rank, size) : err;
}
