/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * scripts/programs/counted.c - counts a call of each kernel by the events given.
 *
 *     counted FILE LENGTH ORDER REPEATS EVENT...
 *
 * FILE gets a line for each of REPEATS calls of each kernel: its name, and the count of each event around the call. The
 * first line counts an empty call. A kernel is called once before it is counted, so that its own calls are bound.
 */
#include "counted.h"

#include <errno.h>
#include <pml.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { FIRST_EVENT = 5 };

struct job {
  FILE *out;
  struct pml_eventset *set;
  size_t events, length, order, room; /* room: elements of each vector */
  long repeats;
  double *a, *b, *c;
};

static int complain(const char *what, int err) {
  fprintf(stderr, "counted: %s: %s\n", what, pml_error_detail(err));
  return 1;
}

/* No zeros, and a dominant diagonal: no operation is of a special value. */
static void fill(struct job *j, size_t n, int matrix) {
  for (size_t i = 0; i < j->room; i++) {
    j->a[i] = 1 + (double)(i % 17) / 17;
    j->b[i] = 1 + (double)(i % 13) / 13;
    j->c[i] = matrix && i % (n + 1) == 0 ? 4 * (double)n : 1 + (double)(i % 11) / 11;
  }
}

static int count(struct job *j, const struct counted_kernel *k) {
  uint64_t before[PML_EVENTSET_MAX], after[PML_EVENTSET_MAX];
  size_t n = k->matrix ? j->order : j->length;
  for (long r = -1; r < j->repeats; r++) {
    fill(j, n, k->matrix);
    int err = pml_eventset_read(j->set, before);
    k->run(j->c, j->a, j->b, 0.5, n);
    if (!err) err = pml_eventset_read(j->set, after);
    if (err) return err;
    if (r < 0) continue;
    fputs(k->name, j->out);
    for (size_t i = 0; i < j->events; i++) fprintf(j->out, " %llu", (unsigned long long)(after[i] - before[i]));
    fputc('\n', j->out);
  }
  return 0;
}

static int count_all(struct job *j) {
  int err = pml_eventset_start(j->set);
  for (const struct counted_kernel *k = counted_kernels; k->name != NULL && !err; k++) err = count(j, k);
  return err ? complain("counting", err) : 0;
}

static int allocate(struct job *j) {
  j->room = j->order * j->order > j->length ? j->order * j->order : j->length;
  j->a = malloc(j->room * sizeof *j->a);
  j->b = malloc(j->room * sizeof *j->b);
  j->c = malloc(j->room * sizeof *j->c);
  return j->a && j->b && j->c ? 0 : complain("memory", -ENOMEM);
}

int main(int argc, char **argv) {
  if (argc <= FIRST_EVENT || argc > FIRST_EVENT + (int)PML_EVENTSET_MAX) {
    fputs("usage: counted FILE LENGTH ORDER REPEATS EVENT...\n", stderr);
    return 2;
  }
  struct job j = {.length = strtoul(argv[2], NULL, 10),
                  .order = strtoul(argv[3], NULL, 10),
                  .repeats = strtol(argv[4], NULL, 10),
                  .events = (size_t)(argc - FIRST_EVENT)};
  int status = allocate(&j);
  int err = status ? 0 : pml_eventset_open(&j.set, (const char *const *)&argv[FIRST_EVENT], j.events, NULL);
  if (err) status = complain("events", err);
  if (!status && (j.out = fopen(argv[1], "w")) == NULL) status = complain(argv[1], -errno);
  if (!status) status = count_all(&j);
  if (j.out && (ferror(j.out) | fclose(j.out)) && !status) status = complain(argv[1], -EIO);
  pml_eventset_close(j.set);
  free(j.a);
  free(j.b);
  free(j.c);
  return status;
}
