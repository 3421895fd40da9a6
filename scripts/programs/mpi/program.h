/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/programs/mpi/program.h - what the MPI programs have in common: named parts, and how they end.
 *
 * Built with -DWITH_PMLUA, the parts are sections of pmlua. Otherwise they are nothing, and MPI is all that a program
 * needs.
 */
#ifndef PROGRAM_H
#define PROGRAM_H

#include <mpi.h>

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum part_kind { PART_COMPUTES, PART_COMMUNICATES };

#ifdef WITH_PMLUA
#include <pml.h>

typedef struct pml_section *part;

static inline part part_named(const char *label, enum part_kind kind) {
  struct pml_section_options options = {
      .type = kind == PART_COMMUNICATES ? PML_SECTION_COMMUNICATION : PML_SECTION_CALCULATION,
  };
  part p = NULL;
  (void)pml_section_define(label, &options, &p);
  return p;
}
static inline void part_begin(part p) {
  (void)pml_section_start(p);
}
/* @work: operations, or bytes sent. */
static inline void part_end(part p, double work) {
  (void)pml_section_stop_work(p, work, 1);
}

#else

typedef int part;

static inline part part_named(const char *label, enum part_kind kind) {
  return label != NULL && kind;
}
static inline void part_begin(part p) {
  (void)p;
}
static inline void part_end(part p, double work) {
  (void)p;
  (void)work;
}

#endif

/* program_options - @n positive numbers, and whether the word "weak" follows; false: the command line is wrong. */
static inline bool program_options(int argc, char **argv, int n, long *value, bool *weak) {
  *weak = argc == n + 2 && strcmp(argv[n + 1], "weak") == 0;
  if (argc != n + 1 + *weak) return false;
  for (int i = 0; i < n; i++) {
    char *end;
    value[i] = strtol(argv[i + 1], &end, 10);
    if (*end != '\0' || value[i] < 1) return false;
  }
  return true;
}

/* program_refuse - end MPI; rank 0 says why. The program's exit status. */
static inline int program_refuse(const char *why) {
  int rank;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) fprintf(stderr, "%s\n", why);
  MPI_Finalize();
  return 2;
}

/* program_memory - zeroed memory; without it all ranks end. */
static inline void *program_memory(size_t n, size_t size) {
  void *memory = calloc(n > 0 ? n : 1, size);
  if (memory == NULL) MPI_Abort(MPI_COMM_WORLD, 1);
  return memory;
}

/*
 * program_end - end MPI; rank 0 says how long the slowest rank took, and how far the result of any rank is from the
 * known one. The program's exit status: 1 if that is more than @allowed.
 */
static inline int program_end(const char *name, double seconds, double error, double allowed) {
  int rank, ranks;
  double most[2] = {seconds, isnan(error) ? INFINITY : error};
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  MPI_Allreduce(MPI_IN_PLACE, most, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  bool wrong = most[1] > allowed;
  if (rank == 0) printf("%s: %.6f s, ranks %d, error %.3g\n", name, most[0], ranks, most[1]);
  if (rank == 0 && wrong)
    fprintf(stderr, "%s: wrong result: error %.3g, at most %.3g allowed\n", name, most[1], allowed);
  MPI_Finalize();
  return wrong;
}

#endif
